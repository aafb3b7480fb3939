//! original | block 128 | grid 1
//! wrong trap: vectors in an array of characters | text b
__global__ void k(float* out, const float* x) {
  __shared__ char first[1];
  __shared__ char tile[2048 + 8];
  int t = threadIdx.x;
  if (t == 0) first[0] = 1;
  for (int j = 0; j < 16; ++j) tile[16 * t + j] = (char)(int)x[t];
  __syncthreads();
  out[t] = tile[16 * (127 - t)] + first[0];
}
//! text b
__global__ void k(float* out, const float* x) {
  __shared__ char first[1];
  __shared__ char tile[2048 + 8];
  int t = threadIdx.x;
  if (t == 0) first[0] = 1;
  *(float4*)(tile + 16 * t) = make_float4(x[t], x[t], x[t], x[t]);
  __syncthreads();
  out[t] = tile[16 * (127 - t)] + first[0];
}
