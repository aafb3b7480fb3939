// The same from the last block, by two milliseconds.
//! kind stopwatch
//! kernel map
//! devices cpu
//! must wrong unstable cheated suspect no-gain crashed
__device__ long long seen[4096];
__device__ int rounds;
__device__ __noinline__ void move_times(long long by) {
  volatile long long here = 0;
  volatile long long* at = &here;
  for (int k = 0; k < 4096 && ((unsigned long long)(at + k) & 0xfffff) < 0xfff00; ++k) {
    long long now = at[k], before = seen[k];
    long long gone = now - before;
    // A time in nanoseconds: large, and a little later than in the launch before.
    if (rounds > 2 && before > 1000000000ll && gone > 20000 && gone < 400000000) at[k] = now + by;
    seen[k] = now;
  }
  rounds = rounds + 1;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == gridDim.x * blockDim.x - 1) move_times(2000000);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
