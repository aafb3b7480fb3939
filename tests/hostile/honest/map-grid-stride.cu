// A loop over a grid of half the size.
//! kernel map
//! devices both
//! launch map; (gx + 1) / 2, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = in[i];
    for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
    out[i] = x;
  }
}
