// C = A * B in single precision, tiled through shared memory: the application that the throughput benchmark records and
// tunes. BX x BY threads, each computing TX x TY outputs, in steps of TK along k.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define BX 16
#define BY 16
#define TX 1
#define TY 1
#define TK 16

__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[BY * TY][TK];
  __shared__ float tile_b[TK][BX * TX];
  float sum[TY][TX];
  for (int y = 0; y < TY; ++y)
    for (int x = 0; x < TX; ++x) sum[y][x] = 0.0f;
  const int row = blockIdx.y * BY * TY, column = blockIdx.x * BX * TX;
  const int thread = threadIdx.y * BX + threadIdx.x;
  for (int k = 0; k < n; k += TK) {
    for (int i = thread; i < BY * TY * TK; i += BX * BY) tile_a[i / TK][i % TK] = a[(row + i / TK) * n + k + i % TK];
    for (int i = thread; i < TK * BX * TX; i += BX * BY)
      tile_b[i / (BX * TX)][i % (BX * TX)] = b[(k + i / (BX * TX)) * n + column + i % (BX * TX)];
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < TK; ++step)
      for (int y = 0; y < TY; ++y)
        for (int x = 0; x < TX; ++x)
          sum[y][x] += tile_a[threadIdx.y + y * BY][step] * tile_b[step][threadIdx.x + x * BX];
    __syncthreads();
  }
  for (int y = 0; y < TY; ++y)
    for (int x = 0; x < TX; ++x) c[(row + threadIdx.y + y * BY) * n + column + threadIdx.x + x * BX] = sum[y][x];
}

// Compares a sample of the outputs with the host's results in double precision.
static bool is_product(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c, int n) {
  for (size_t at = 0; at < c.size(); at += 1 + c.size() / 997) {
    double sum = 0, size = 0;
    for (size_t k = 0; k < size_t(n); ++k) {
      double term = double(a[at / n * n + k]) * b[k * n + at % n];
      sum += term, size += std::fabs(term);
    }
    if (!(std::fabs(c[at] - sum) <= 1e-5 * size)) return false;
  }
  return true;
}

int main(int count, char** words) {
  const int n = count > 1 ? std::atoi(words[1]) : 1024, times = count > 2 ? std::atoi(words[2]) : 1;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i)
    a[i] = float((i * 7 + 3) % 29) / 29.0f - 0.4f, b[i] = float((i * 11 + 5) % 31) / 31.0f - 0.4f;
  float *da, *db, *dc;
  const size_t bytes = sizeof(float) * n * n;
  cudaMalloc(&da, bytes), cudaMalloc(&db, bytes), cudaMalloc(&dc, bytes);
  cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice), cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
  for (int i = 0; i < times; ++i) sgemm<<<dim3(n / (BX * TX), n / (BY * TY)), dim3(BX, BY)>>>(da, db, dc, n);
  cudaError_t trouble = cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float value : c) sum += value;
  bool right = trouble == cudaSuccess && is_product(a, b, c, n);
  std::printf("n %d, sum of C %.3f: %s\n", n, sum,
              right                    ? "PASSED"
              : trouble == cudaSuccess ? "FAILED"
                                       : cudaGetErrorString(trouble));
  return right ? 0 : 1;
}
