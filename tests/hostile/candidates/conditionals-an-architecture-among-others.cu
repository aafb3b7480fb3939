// Asks for one architecture behind a question that it may ask.
//! kind conditionals
//! kernel map
//! devices both
//! must refused compile_failed
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 100
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
#endif
