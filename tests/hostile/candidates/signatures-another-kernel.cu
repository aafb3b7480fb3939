// Has no kernel of that name.
//! kind signatures
//! kernel map
//! devices both
//! must wrong unstable cheated suspect launch_failed refused compile_failed
__global__ void other(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
