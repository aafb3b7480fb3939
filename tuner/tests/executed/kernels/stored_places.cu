//! original | block 64 | grid ceil_div(n, 64)
__global__ void stored_places(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = blockIdx.x * 1000 + threadIdx.x;
}
