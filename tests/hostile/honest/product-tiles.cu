// Tiles in shared memory.
//! kernel product
//! devices both
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16], right[16][17];
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[threadIdx.y][threadIdx.x] = i < n && k + threadIdx.x < n ? a[i * n + k + threadIdx.x] : 0;
    right[threadIdx.y][threadIdx.x] = j < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + j] : 0;
    __syncthreads();
    for (int e = 0; e < 16; ++e) sum += left[threadIdx.y][e] * right[e][threadIdx.x];
    __syncthreads();
  }
  if (i < n && j < n) c[i * n + j] = sum;
}
