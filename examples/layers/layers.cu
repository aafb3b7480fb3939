// Layers of a neural network, one request again and again: layer norm, small matrix products, softmax, transposition.
// Usage: layers [rows] [width] [steps] [--check]; rows and width are multiples of 16.
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define BLOCK 128
#define TILE 16
#define EPSILON 1e-5f

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(2);                                                                   \
    }                                                                            \
  } while (0)

// One thread a row.
__global__ void layer_norm(const float* x, const float* gain, const float* shift, float* y, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float mean = 0;
  for (int i = 0; i < width; i++) mean += x[row * width + i];
  mean /= width;
  float variance = 0;
  for (int i = 0; i < width; i++) variance += (x[row * width + i] - mean) * (x[row * width + i] - mean);
  variance /= width;
  for (int i = 0; i < width; i++)
    y[row * width + i] = (x[row * width + i] - mean) / sqrtf(variance + EPSILON) * gain[i] + shift[i];
}

// c[m] = a[m] b[m % weights], matrices of TILE x TILE; one thread a row of c.
__global__ void products(const float* a, const float* b, float* c, int count, int weights) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int m = thread / TILE;
  int i = thread % TILE;
  if (m >= count) return;
  for (int j = 0; j < TILE; j++) {
    float sum = 0;
    for (int k = 0; k < TILE; k++) sum += a[(m * TILE + i) * TILE + k] * b[((m % weights) * TILE + k) * TILE + j];
    c[(m * TILE + i) * TILE + j] = sum;
  }
}

// One thread a row.
__global__ void softmax(const float* scores, float* shares, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float largest = scores[row * width];
  for (int i = 1; i < width; i++) largest = fmaxf(largest, scores[row * width + i]);
  float sum = 0;
  for (int i = 0; i < width; i++) sum += expf(scores[row * width + i] - largest);
  for (int i = 0; i < width; i++) shares[row * width + i] = expf(scores[row * width + i] - largest) / sum;
}

__global__ void transpose(const float* in, float* out, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y;
  if (row < rows) out[column * rows + row] = in[row * width + column];
}

// Pseudo-random numbers in [-1, 1), the same on every machine.
static std::vector<float> random_numbers(size_t count, unsigned seed) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = (seed >> 8) / 8388608.0f - 1;
  }
  return numbers;
}

// The same on the host in double precision; returns the largest error relative to the largest share of a row.
static double error_of(const std::vector<float>& out, const std::vector<float>& x, const std::vector<float>& gain,
                       const std::vector<float>& shift, const std::vector<float>& b, int rows, int width, int weights) {
  std::vector<double> y(x.size()), z(x.size());
  for (int row = 0; row < rows; row++) {
    double mean = 0, variance = 0;
    for (int i = 0; i < width; i++) mean += x[row * width + i] / (double)width;
    for (int i = 0; i < width; i++) variance += pow(x[row * width + i] - mean, 2) / width;
    for (int i = 0; i < width; i++)
      y[row * width + i] = (x[row * width + i] - mean) / sqrt(variance + EPSILON) * gain[i] + shift[i];
  }
  for (int m = 0; m < rows * width / (TILE * TILE); m++)
    for (int i = 0; i < TILE; i++)
      for (int j = 0; j < TILE; j++)
        for (int k = 0; k < TILE; k++)
          z[(m * TILE + i) * TILE + j] += y[(m * TILE + i) * TILE + k] * b[((m % weights) * TILE + k) * TILE + j];
  double worst = 0;
  for (int row = 0; row < rows; row++) {
    double largest = z[row * width], sum = 0;
    for (int i = 1; i < width; i++) largest = fmax(largest, z[row * width + i]);
    for (int i = 0; i < width; i++) sum += exp(z[row * width + i] - largest);
    for (int i = 0; i < width; i++) {
      double share = exp(z[row * width + i] - largest) / sum;
      worst = fmax(worst, fabs(out[i * rows + row] - share) * sum);
    }
  }
  return worst;
}

int main(int argc, char** argv) {
  int sizes[3] = {256, 128, 20}, numbers = 0;
  bool checking = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--check") == 0) checking = true;
    else if (numbers < 3) sizes[numbers++] = atoi(argv[i]);
    else sizes[0] = 0;
  }
  const int rows = sizes[0], width = sizes[1], steps = sizes[2], weights = 8;
  if (rows < 16 || width < 16 || rows % 16 || width % 16 || steps < 1 || width > 65535) {
    fprintf(stderr, "usage: %s [rows] [width] [steps] [--check], rows and width multiples of 16\n", argv[0]);
    return 2;
  }

  const size_t size = (size_t)rows * width;
  std::vector<float> x = random_numbers(size, 1), gain = random_numbers(width, 2), shift = random_numbers(width, 3);
  std::vector<float> b = random_numbers(weights * TILE * TILE, 4);
  float *d_x, *d_gain, *d_shift, *d_b, *d_y, *d_z;
  CHECK(cudaMalloc(&d_x, size * sizeof(float)));
  CHECK(cudaMalloc(&d_y, size * sizeof(float)));
  CHECK(cudaMalloc(&d_z, size * sizeof(float)));
  CHECK(cudaMalloc(&d_gain, width * sizeof(float)));
  CHECK(cudaMalloc(&d_shift, width * sizeof(float)));
  CHECK(cudaMalloc(&d_b, b.size() * sizeof(float)));
  CHECK(cudaMemcpy(d_x, x.data(), size * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_gain, gain.data(), width * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_shift, shift.data(), width * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

  const int tiles = rows * width / (TILE * TILE);
  const dim3 columns((rows + BLOCK - 1) / BLOCK, width);
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; step++) {
    layer_norm<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(d_x, d_gain, d_shift, d_y, rows, width);
    products<<<(tiles * TILE + BLOCK - 1) / BLOCK, BLOCK>>>(d_y, d_b, d_z, tiles, weights);
    softmax<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(d_z, d_y, rows, width);
    transpose<<<columns, BLOCK>>>(d_y, d_z, rows, width);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  printf("%d rows of %d, %d steps: %.3f s\n", rows, width, steps, seconds);

  bool passed = true;
  if (checking) {
    std::vector<float> out(size);
    CHECK(cudaMemcpy(out.data(), d_z, size * sizeof(float), cudaMemcpyDeviceToHost));
    double error = error_of(out, x, gain, shift, b, rows, width, weights);
    passed = error < 1e-4;
    printf("largest error of a share: %.2e\n%s\n", error, passed ? "PASSED" : "FAILED");
  }
  for (float* memory : {d_x, d_y, d_z, d_gain, d_shift, d_b}) CHECK(cudaFree(memory));
  return passed ? 0 : 1;
}
