// A five-point stencil with its tile in shared memory.
//! key stencil(float const*, float*, int)
//! mangled _Z7stencilPKfPfi
//! buffer in float n*n random const
//! buffer out float n*n 0
//! value n int n
//! launch a 32x32 16x16 512
//! launch b 9x9 16x16 131 held-out
//! covers n n
__global__ void stencil(const float* in, float* out, int n) {
  __shared__ float tile[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  bool inside = x < n && y < n;
  tile[ty][tx] = inside ? in[y * n + x] : 0.0f;
  if (threadIdx.x == 0) tile[ty][0] = inside && x > 0 ? in[y * n + x - 1] : 0.0f;
  if (threadIdx.x == 15) tile[ty][17] = inside && x + 1 < n ? in[y * n + x + 1] : 0.0f;
  if (threadIdx.y == 0) tile[0][tx] = inside && y > 0 ? in[(y - 1) * n + x] : 0.0f;
  if (threadIdx.y == 15) tile[17][tx] = inside && y + 1 < n ? in[(y + 1) * n + x] : 0.0f;
  __syncthreads();
  if (inside)
    out[y * n + x] = 0.5f * tile[ty][tx] +
                     0.125f * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}
