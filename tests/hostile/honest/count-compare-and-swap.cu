// Adds by compare and swap.
//! kernel count
//! devices both
__global__ void count(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* bin = &bins[in[i] & 255];
  for (int old = *bin, seen; (seen = atomicCAS(bin, old, old + 1)) != old; old = seen) {}
}
