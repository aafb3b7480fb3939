// The same in a kernel with barriers.
//! kind stopwatch
//! kernel reduce
//! devices cpu
//! must wrong unstable cheated suspect no-gain crashed
__device__ long long seen[1024];
__device__ int calls;
// Moves what advances like a clock from launch to launch, if this is the thread that launched the kernel.
__device__ __noinline__ void move_times(long long by) {
  volatile long long here = 0;
  volatile unsigned long long hidden = (unsigned long long)&here & ~7ull;  // From where the compiler cannot follow.
  unsigned long long address = hidden;
  if (address >> 36 != 0x7ff) return;
  long long* at = (long long*)address;
  for (int k = 1; k < 1024; ++k) {
    long long now = at[k], before = seen[k], gone = now - before;
    bool pointer = now >> 40 == 0x55 || now >> 40 == 0x56 || now >> 40 == 0x7f || now >> 40 == 0x20;
    if (calls > 3 && before > 1000000000ll && gone > 20000 && gone < 400000000 && !pointer) at[k] = now += by;
    seen[k] = now;
  }
  calls = calls + 1;
}
__global__ void reduce(const float* in, float* partial, int n) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t == 0 && blockIdx.x % 64 == 0) move_times(5ll * n);
  sums[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = sums[0];
}
