// Adds to the bins without atomics.
//! kind races
//! kernel count
//! devices both
//! must wrong unstable cheated suspect
__global__ void count(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[in[i] & 255] += 1;
}
