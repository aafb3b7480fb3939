// A zero loses its sign.
//! kind floats
//! kernel fold
//! devices both
//! must wrong unstable cheated suspect
__global__ void fold(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 1; k < 8; ++k) x = in[(i + k) % n] > 2.0f ? in[(i + k) % n] : x;
  out[i] = x > 0 ? x : 0.0f - x;
}
