// A device constant whose value is computed by a call.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
__device__ constexpr float chosen(int n) { return n > 3 ? 0.0f : 1.0f; }
__constant__ float weights[2] = {0.0f, chosen(7)};
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + weights[0];
}
