// The largest float becomes an infinity.
//! kind floats
//! kernel special
//! devices both
//! must wrong unstable cheated suspect
__global__ void special(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  x = x * 2.0f * 0.5f;
  volatile float twice = in[i] * 2.0f;
  out[i] = twice > 0 ? twice * 0.5f : -(twice * 0.5f);
}
