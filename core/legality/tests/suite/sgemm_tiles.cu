//! original | block 16, 16 | grid n / (16 * 1), n / 16
//! wrong tail: a tile of two columns a thread | text columns | grid n / 32, n / 16 | at n=48
//! wrong tail: a tile of two rows a thread | text rows | grid n / 16, n / 32 | at n=48
//! right block: half as high | text low | block 16, 8 | grid n / 16, n / 8
//! right merge: two blocks by one | text merged
//! wrong merge: the last block of an odd number is lost | text merged | `} else if (by < gridDim.y) {` -> `} else if (by > gridDim.y) {` | at n=48
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  float sum[1][1];
  for (int y = 0; y < 1; ++y)
    for (int x = 0; x < 1; ++x) sum[y][x] = 0;
  const int row = blockIdx.y * 16, column = blockIdx.x * 16, thread = threadIdx.y * 16 + threadIdx.x;
  for (int k = 0; k < n; k += 16) {
    for (int i = thread; i < 256; i += 256) ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
    for (int i = thread; i < 256; i += 256) tb[i / 16][i % 16] = b[(k + i / 16) * n + column + i % 16];
    __syncthreads();
    for (int step = 0; step < 16; ++step)
      for (int y = 0; y < 1; ++y)
        for (int x = 0; x < 1; ++x) sum[y][x] += ta[threadIdx.y + y * 16][step] * tb[step][threadIdx.x + x * 16];
    __syncthreads();
  }
  for (int y = 0; y < 1; ++y)
    for (int x = 0; x < 1; ++x) c[(row + threadIdx.y + y * 16) * n + column + threadIdx.x + x * 16] = sum[y][x];
}
//! text columns
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][32];
  float sum[1][2];
  for (int y = 0; y < 1; ++y)
    for (int x = 0; x < 2; ++x) sum[y][x] = 0;
  const int row = blockIdx.y * 16, column = blockIdx.x * 32, thread = threadIdx.y * 16 + threadIdx.x;
  for (int k = 0; k < n; k += 16) {
    for (int i = thread; i < 256; i += 256) ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
    for (int i = thread; i < 512; i += 256) tb[i / 32][i % 32] = b[(k + i / 32) * n + column + i % 32];
    __syncthreads();
    for (int step = 0; step < 16; ++step)
      for (int y = 0; y < 1; ++y)
        for (int x = 0; x < 2; ++x) sum[y][x] += ta[threadIdx.y + y * 16][step] * tb[step][threadIdx.x + x * 16];
    __syncthreads();
  }
  for (int y = 0; y < 1; ++y)
    for (int x = 0; x < 2; ++x) c[(row + threadIdx.y + y * 16) * n + column + threadIdx.x + x * 16] = sum[y][x];
}
//! text rows
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[32][16], tb[16][16];
  float sum[2][1];
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 1; ++x) sum[y][x] = 0;
  const int row = blockIdx.y * 32, column = blockIdx.x * 16, thread = threadIdx.y * 16 + threadIdx.x;
  for (int k = 0; k < n; k += 16) {
    for (int i = thread; i < 512; i += 256) ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
    for (int i = thread; i < 256; i += 256) tb[i / 16][i % 16] = b[(k + i / 16) * n + column + i % 16];
    __syncthreads();
    for (int step = 0; step < 16; ++step)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 1; ++x) sum[y][x] += ta[threadIdx.y + y * 16][step] * tb[step][threadIdx.x + x * 16];
    __syncthreads();
  }
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 1; ++x) c[(row + threadIdx.y + y * 16) * n + column + threadIdx.x + x * 16] = sum[y][x];
}
//! text low
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[8][16], tb[16][16];
  float sum[1][1];
  for (int y = 0; y < 1; ++y)
    for (int x = 0; x < 1; ++x) sum[y][x] = 0;
  const int row = blockIdx.y * 8, column = blockIdx.x * 16, thread = threadIdx.y * 16 + threadIdx.x;
  for (int k = 0; k < n; k += 16) {
    for (int i = thread; i < 128; i += 128) ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
    for (int i = thread; i < 256; i += 128) tb[i / 16][i % 16] = b[(k + i / 16) * n + column + i % 16];
    __syncthreads();
    for (int step = 0; step < 16; ++step)
      for (int y = 0; y < 1; ++y)
        for (int x = 0; x < 1; ++x) sum[y][x] += ta[threadIdx.y + y * 8][step] * tb[step][threadIdx.x + x * 16];
    __syncthreads();
  }
  for (int y = 0; y < 1; ++y)
    for (int x = 0; x < 1; ++x) c[(row + threadIdx.y + y * 8) * n + column + threadIdx.x + x * 16] = sum[y][x];
}
//! text merged
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][16], tc[16][16];
  const int by = blockIdx.y * 2, thread = threadIdx.y * 16 + threadIdx.x, column = blockIdx.x * 16;
  const int row = by * 16, below = (by + 1) * 16;
  if (by + 1 < gridDim.y) {
    float sum = 0, more = 0;
    for (int k = 0; k < n; k += 16) {
      for (int i = thread; i < 256; i += 256) {
        ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
        tc[i / 16][i % 16] = a[(below + i / 16) * n + k + i % 16];
      }
      for (int i = thread; i < 256; i += 256) tb[i / 16][i % 16] = b[(k + i / 16) * n + column + i % 16];
      __syncthreads();
      for (int step = 0; step < 16; ++step) {
        sum += ta[threadIdx.y][step] * tb[step][threadIdx.x];
        more += tc[threadIdx.y][step] * tb[step][threadIdx.x];
      }
      __syncthreads();
    }
    c[(row + threadIdx.y) * n + column + threadIdx.x] = sum;
    c[(below + threadIdx.y) * n + column + threadIdx.x] = more;
  } else if (by < gridDim.y) {
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
      for (int i = thread; i < 256; i += 256) ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
      for (int i = thread; i < 256; i += 256) tb[i / 16][i % 16] = b[(k + i / 16) * n + column + i % 16];
      __syncthreads();
      for (int step = 0; step < 16; ++step) sum += ta[threadIdx.y][step] * tb[step][threadIdx.x];
      __syncthreads();
    }
    c[(row + threadIdx.y) * n + column + threadIdx.x] = sum;
  }
}
