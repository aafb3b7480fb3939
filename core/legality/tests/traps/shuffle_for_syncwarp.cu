//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: a shuffle orders no memory | `__syncwarp();` -> `const float other = __shfl_sync(0xffffffffu,
//! part[warp][lane], 0);` | `[31 - lane];` -> `[31 - lane] + 0 * other;` wrong trap: a vote orders no memory |
//! `__syncwarp();` -> `if (!__any_sync(0xffffffffu, i < n)) return;` wrong trap: a match orders no memory |
//! `__syncwarp();` -> `if (__match_any_sync(0xffffffffu, i) == 0) return;` wrong trap: a sum of the warp orders no
//! memory | `__syncwarp();` -> `if (__reduce_add_sync(0xffffffffu, 1) == 0) return;`
__global__ void turn(const float* x, float* out, int n) {
  __shared__ float part[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0.0f;
  __syncwarp();
  if (i < n) out[i] = part[warp][31 - lane];
}
