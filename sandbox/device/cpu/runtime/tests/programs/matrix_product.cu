// The tiled matrix product of every course, in double and float, on a grid that does not divide evenly; also arguments
// by value of several sizes and alignments.
#include <cuda_runtime.h>
#include <vector>
#include "check.h"

struct Shape {
  char tag;
  short rows;
  double scale;
  int columns;
};
template <class T, int kTile>
__global__ void product(Shape shape, const T* a, const T* b, T* c, char bias, int inner) {
  __shared__ T as[kTile][kTile], bs[kTile][kTile + 1];
  int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  T sum = bias;
  for (int t = 0; t < (inner + kTile - 1) / kTile; ++t) {
    int i = t * kTile + threadIdx.x, j = t * kTile + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < shape.rows && i < inner ? a[row * inner + i] : T(0);
    bs[threadIdx.y][threadIdx.x] = column < shape.columns && j < inner ? b[j * shape.columns + column] : T(0);
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < shape.rows && column < shape.columns) c[row * shape.columns + column] = sum * T(shape.scale);
}

template <class T, int kTile>
void run(int m, int n, int inner) {
  std::vector<T> a(m * inner), b(inner * n), c(m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = T(int(i * 7 % 11) - 5);
  for (size_t i = 0; i < b.size(); ++i) b[i] = T(int(i * 5 % 13) - 6);
  T *da = on_device(a.data(), int(a.size())), *db = on_device(b.data(), int(b.size())),
    *dc = on_device<T>(nullptr, m * n);
  product<T, kTile><<<dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), dim3(kTile, kTile)>>>(
      {'x', short(m), 0.5, n}, da, db, dc, 3, inner);
  CUDA(cudaGetLastError());
  to_host(c.data(), dc, m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      T sum = 3;
      for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * n + j];
      CHECK(c[i * n + j] == sum * T(0.5));
    }
}

int main() {
  run<float, 16>(50, 70, 33);
  run<double, 8>(9, 100, 64);
  run<float, 32>(64, 64, 64);
  return PASS();
}
