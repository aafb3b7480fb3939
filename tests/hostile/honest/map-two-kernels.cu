// Two kernels, the first of which leaves its part in scratch memory.
//! kernel map
//! devices both
//! launch eighths; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! scratch gx * bx * 4
__global__ void eighths(const float* in, float* out, int n, float factor, float* scratch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scratch[i] = in[i] * 0.125f;
}
__global__ void map(const float* in, float* out, int n, float factor, float* scratch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = scratch[i];
  for (int k = 0; k < 200; ++k) x = x * factor + y;
  out[i] = x;
}
