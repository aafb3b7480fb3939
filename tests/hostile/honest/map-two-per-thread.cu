// Two elements per thread in half of the blocks.
//! kernel map
//! devices both
//! launch map; (gx + 1) / 2, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  for (int e = i; e < i + 2 && e < n; ++e) {
    float x = in[e];
    for (int k = 0; k < 200; ++k) x = x * factor + in[e] * 0.125f;
    out[e] = x;
  }
}
