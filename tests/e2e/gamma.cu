// An application for tests that need a gain: every block computes a table of its own, so larger blocks gain so much that
// no machine's noise hides it. It checks its own results.
#include <cmath>
#include <cstdio>
#include <vector>

#define BLOCK 16
#define LEVELS 256

__global__ void correct(const float* in, float* out, float gamma, int n) {
  __shared__ float curve[LEVELS + 1];
  for (int level = threadIdx.x; level <= LEVELS; level += BLOCK) curve[level] = powf(level / (float)LEVELS, gamma);
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float at = in[i] * LEVELS;
  int level = min((int)at, LEVELS - 1);
  out[i] = curve[level] + (at - level) * (curve[level + 1] - curve[level]);
}

int main() {
  const int n = 1 << 16;
  std::vector<float> image(n), corrected(n);
  for (int i = 0; i < n; ++i) image[i] = (i % 1021) / 1020.0f;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float)), cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, image.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int frame = 0; frame < 40; ++frame) correct<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, 0.45f, n);
  if (cudaMemcpy(corrected.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  float worst = 0;
  for (int i = 0; i < n; ++i)
    if (image[i] > 0.05f) worst = std::fmax(worst, std::fabs(corrected[i] - std::pow(image[i], 0.45f)));
  printf("worst error %.1e\n", worst);
  return worst > 1e-3f;
}
