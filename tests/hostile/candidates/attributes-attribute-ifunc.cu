// Gives something beside the kernel the attribute ifunc.
//! kind attributes
//! kernel map
//! devices both
//! must refused compile_failed
extern "C" __device__ int hook(const char*) __attribute__((ifunc("pick")));
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
