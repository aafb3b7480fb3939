// Loads a library by dlopen.
//! kind libc
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ void* dlopen(const char*, int);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0) dlopen("libc.so.6", 1);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
