// Scales a matrix forty times and checks the result against the same in double.
#include <cmath>
#include <cstdio>
#include <vector>

#include "scale.h"

__global__ void fill(float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = (i % 1021) / 10.0f;
}

int main() {
  const int rows = 2048, columns = 64, n = rows * columns;
  std::vector<float> result(n);
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float)), cudaMalloc(&out, n * sizeof(float));
  fill<<<(n + 255) / 256, 256>>>(in, n);
  for (int step = 0; step < 40; ++step) scale_rows(in, out, rows, columns);
  if (cudaMemcpy(result.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double v = (i % 1021) / 10.0f;
    for (int round = 0; round < 4; ++round) v = (((v / 1.5 + 1) / 2.5 + 1) / 3.5 + 1) / 4.5 + 1;
    worst = std::fmax(worst, std::fabs(result[i] - v));
  }
  printf("worst error %.1e\n", worst);
  return worst > 1e-4;
}
