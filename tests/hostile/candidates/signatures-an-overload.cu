// Two kernels of one name: the right one, and one that does nothing.
//! kind signatures
//! kernel map
//! devices both
//! must wrong unstable cheated suspect launch_failed no-gain refused compile_failed
__global__ void map(const float* in, float* out, long n, float factor) {}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
