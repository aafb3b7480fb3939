// Calls cudaFree in the kernel.
//! kind child-launches
//! kernel map
//! devices both
//! must refused compile_failed no-gain launch_failed
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) cudaFree(out);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
