// Trusts that scratch memory is zero, which it did not ask for.
//! kind scratch
//! kernel map
//! devices both
//! must wrong unstable cheated suspect crashed
//! launch map; gx, gy, gz; bx, by, bz; 0
//! scratch gx * bx * 4
__global__ void map(const float* in, float* out, int n, float factor, float* scratch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + scratch[i];
  scratch[i] = 0;
}
