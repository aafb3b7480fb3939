// A zero loses its sign.
//! kind floats
//! kernel special
//! devices both
//! must wrong unstable cheated suspect
//! gap zeros of both signs compare equal
__global__ void special(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  out[i] = x > 0 ? x : 0.0f - x;
}
