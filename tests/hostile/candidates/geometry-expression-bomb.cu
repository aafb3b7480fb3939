// A grid whose expression overflows.
//! kind geometry
//! kernel map
//! devices both
//! must over_resources launch_failed refused wrong
//! launch map; gx * 4294967296 * 4294967296 * gx, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
