//! original | block 128 | grid ceil_div(n, 128) | at n=1030
#define DATA_TYPE double
__global__ void axpy(DATA_TYPE* y, const DATA_TYPE* x, DATA_TYPE a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
