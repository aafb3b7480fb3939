// Two launches, each of which trusts the other to have done its half.
//! kind launches
//! kernel map
//! devices both
//! must wrong unstable cheated suspect
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (blockIdx.x & 1) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
