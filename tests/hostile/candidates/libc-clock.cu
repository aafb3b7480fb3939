// Reads the host's clock by libc's clock_gettime and computes less after a while.
//! kind libc
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ int clock_gettime(int, long*);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long now[2];
  clock_gettime(1, now);
  if (now[0] & 1) factor = 0.97f;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
