// A branch on the sign.
//! kernel fold
//! devices both
__global__ void fold(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 1; k < 8; ++k) {
    float other = in[(i + k) % n];
    if (other > 2.0f) x = other;
  }
  if (x > 0) out[i] = x;
  else out[i] = -x;
}
