// Calls libc's exit.
//! kind libc
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ void _exit(int);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0) _exit(0);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
