//! original | block 64 | grid ceil_div(n, 64) | at n=128,terms=9
__device__ float horner(const float* c, int terms, float x) {
  float v = 0.0f;
  for (int k = terms - 1; k >= 0; --k) v = v * x + c[k];
  return v;
}
__global__ void helper_loop(const float* c, const float* x, float* out, int n, int terms) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = horner(c, terms, x[i] * 0.5f);
}
