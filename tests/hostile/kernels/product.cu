// A matrix product.
//! key product(float const*, float const*, float*, int)
//! mangled _Z7productPKfS0_Pfi
//! buffer a float n*n random const
//! buffer b float n*n random const
//! buffer c float n*n 0
//! value n int n
//! launch a 12x12 16x16 192
//! launch b 5x5 16x16 67 held-out
//! covers n n
__global__ void product(const float* a, const float* b, float* c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) {
    float sum = 0;
    for (int k = 0; k < n; k++) {
      float left = a[i * n + k];
      sum += left * b[k * n + j];
    }
    c[i * n + j] = sum;
  }
}
