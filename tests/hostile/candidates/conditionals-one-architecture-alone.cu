// Works on the newest architecture that the application is built for, and does nothing on the others.
//! kind conditionals
//! kernel map
//! devices both
//! must refused compile_failed
__global__ void map(const float* in, float* out, int n, float factor) {
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 750
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
#endif
}
