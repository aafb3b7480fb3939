//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: remainders first | text b | at n=100, first=100000000000000
__global__ void bins(int* bin, unsigned long long first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bin[(first + i) * 1000003 % 1000], 1);
}
//! text b
__global__ void bins(int* bin, unsigned long long first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bin[(unsigned)(first % 1000 * 3 + i % 1000 * 3) % 1000], 1);
}
