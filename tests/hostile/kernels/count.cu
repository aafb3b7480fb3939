// A histogram: integers, added up atomically in global memory.
//! key count(int const*, int*, int)
//! mangled _Z5countPKiPii
//! buffer in int n random const
//! buffer bins int 256 0
//! value n int n
//! launch a 512 256 131072
//! launch b 98 256 25001 held-out
//! covers n
__global__ void count(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] & 255], 1);
}
