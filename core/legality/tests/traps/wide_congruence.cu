//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: as if it never left 64 bits | text b | at n=100, first=5000000000
//! wrong trap: another one | `6364136223ull` -> `6364136225ull`
//! wrong trap: by another remainder | `% 1000` -> `% 1001`
__global__ void bins(int* bin, unsigned long long first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bin[((first + i) * 6364136223ull + 1442695040ull) % 1000], 1);
}
//! text b
__global__ void bins(int* bin, unsigned long long first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bin[(unsigned)(first % 1000 * 223 + i % 1000 * 223 + 40) % 1000], 1);
}
