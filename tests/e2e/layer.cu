// Lambdas of every kind that code above a portability layer has: in a host function, in a template, for both sides; and
// a functor. The first two keep a sum in memory while it grows.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "layer.h"

using policy = layer::block_policy<128>;

struct Grid {
  int nx, ny;
};

void gather(const Grid& grid, const float* in, float* out) {
  int nx = grid.nx;
  layer::parallel_for<policy>(nx * grid.ny, [=] __device__(int i) {
    int x = i % nx, row = i - x;
    out[i] = 0;
    for (int k = 0; k < 48; ++k) {
      int wrapped = (x + k) % nx;
      out[i] += in[row + wrapped] * 0.02f;
    }
  });
}

template <class Real>
void spread(int n, const Real* in, Real* out) {
  layer::parallel_for<policy>(n, [=] __device__(int i) {
    for (int k = 0; k < 8; ++k) {
      out[i] += in[(i + k) % n] * Real(0.1);
    }
  });
}

void mix(int n, float weight, const float* in, float* out) {
  layer::parallel_for<policy>(n, LAYER_LAMBDA(int i) { out[i] = weight * out[i] + (1 - weight) * in[i]; });
}

struct Scale {
  float factor;
  float* data;
  __device__ void operator()(int i) const { data[i] = data[i] * factor + 0.5f; }
};

int main(int argc, char** argv) {
  Grid grid{512, 256};
  int n = grid.nx * grid.ny, steps = argc > 1 ? std::atoi(argv[1]) : 20;
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemset(b, 0, n * sizeof(float));
  layer::parallel_for<policy>(n, [=] __device__(int i) { a[i] = (i % 17) * 0.25f; });
  for (int step = 0; step < steps; ++step) {
    gather(grid, a, b);
    spread(n, a, b);
    mix(n, 0.25f, b, a);
    layer::parallel_for<policy>(n, Scale{0.99f, a});
  }
  float* host = static_cast<float*>(std::malloc(n * sizeof(float)));
  cudaMemcpy(host, a, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += host[i];
  std::printf("mean %.6f\n", sum / n);
  return std::isfinite(sum) ? 0 : 1;
}
