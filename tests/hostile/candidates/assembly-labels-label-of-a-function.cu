// A function whose name in the object file is libc's.
//! kind assembly-labels
//! kernel map
//! devices both
//! must refused compile_failed
__device__ int harmless(const char*) asm("system");
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i < 0) harmless("id > @FILE@");
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
