//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a shuffle orders no memory | text shuffle
//! wrong trap: a vote orders no memory | text vote
//! wrong trap: a match orders no memory | text match
//! wrong trap: a sum of the warp orders no memory | text sum
__global__ void turn(const float* x, float* out, int n) {
  __shared__ float part[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0.0f;
  __syncwarp();
  if (i < n) out[i] = part[warp][31 - lane];
}
//! text shuffle
__global__ void turn(const float* x, float* out, int n) {
  __shared__ float part[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0.0f;
  const float other = __shfl_sync(0xffffffffu, part[warp][lane], 0);
  if (i < n) out[i] = part[warp][31 - lane] + 0 * other;
}
//! text vote
__global__ void turn(const float* x, float* out, int n) {
  __shared__ float part[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0.0f;
  if (!__any_sync(0xffffffffu, i < n)) return;
  if (i < n) out[i] = part[warp][31 - lane];
}
//! text match
__global__ void turn(const float* x, float* out, int n) {
  __shared__ float part[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0.0f;
  if (__match_any_sync(0xffffffffu, i) == 0) return;
  if (i < n) out[i] = part[warp][31 - lane];
}
//! text sum
__global__ void turn(const float* x, float* out, int n) {
  __shared__ float part[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0.0f;
  if (__reduce_add_sync(0xffffffffu, 1) == 0) return;
  if (i < n) out[i] = part[warp][31 - lane];
}
