// An infinity becomes the largest float.
//! kind floats
//! kernel special
//! devices both
//! must wrong unstable cheated suspect
__global__ void special(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  x = fminf(fmaxf(x, -3.402823466e38f), 3.402823466e38f);
  if (in[i] != in[i]) x = in[i];
  out[i] = x > 0 ? x : -x;
}
