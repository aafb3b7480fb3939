// A NaN becomes zero.
//! kind floats
//! kernel special
//! devices both
//! must wrong unstable cheated suspect
__global__ void special(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  if (x != x) x = 0;
  out[i] = x > 0 ? x : -x;
}
