// A loop over a quarter of the blocks.
//! kernel count
//! devices both
//! launch count; (gx + 3) / 4, gy, gz; bx, by, bz; 0
__global__ void count(const int* in, int* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(bins + (in[i] & 255), 1);
}
