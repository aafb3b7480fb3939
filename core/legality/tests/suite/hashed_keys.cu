//! original | block 128 | grid ceil_div(n, 128)
//! right block: doubled | block 256 | grid ceil_div(n, 256)
//! right form: its bin later | `if (i < n) atomicAdd(&bins[bin], 1);` -> `if (i >= n) return; atomicAdd(&bins[bin], 1);`
//! right grid: two keys for each thread | text two | grid ceil_div(n, 256)
__global__ void count(int* bins, unsigned long long seed, const unsigned long long* keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned bin = i < n ? (keys[i] % 1000 + (seed + i) * 0x9e3779b97f4a7c15ull % 1000) % 1000 : 0;
  if (i < n) atomicAdd(&bins[bin], 1);
}
//! text two
__global__ void count(int* bins, unsigned long long seed, const unsigned long long* keys, int n) {
  for (int part = 0; part < 2; ++part) {
    int i = blockIdx.x * 256 + part * 128 + threadIdx.x;
    if (i >= n) return;
    const unsigned bin = (keys[i] % 1000 + (seed + i) * 0x9e3779b97f4a7c15ull % 1000) % 1000;
    atomicAdd(&bins[bin], 1);
  }
}
