// One integer is off by one.
//! kind precision
//! kernel count
//! devices both
//! must wrong unstable cheated suspect
__global__ void count(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i != 12345) atomicAdd(&bins[in[i] & 255], 1);
}
