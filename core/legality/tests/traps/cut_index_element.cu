//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: the index in memory, cut to 32 bits | `out[at[i]]` -> `out[(int)at[i]]`
__global__ void put(float* out, const long long* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[at[i]] = 1;
}
