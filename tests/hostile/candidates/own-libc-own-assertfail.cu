// Defines __assertfail itself.
//! kind own-libc
//! kernel map
//! devices both
//! must refused compile_failed no-gain launch_failed
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t) {}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
