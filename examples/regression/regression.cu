// Ridge regression: standardises features, prints how strongly they correlate, and fits weights by conjugate gradients
// on the normal equations (X'X + lambda I) w = X'y. Usage: regression [samples] [features] [--check]
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define BLOCK 256
#define TILE 16

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(2);                                                                   \
    }                                                                            \
  } while (0)

// x is samples x features, by rows.
__global__ void column_statistics(const float* x, float* mean, float* deviation, int samples, int features) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < features) {
    mean[j] = 0;
    for (int s = 0; s < samples; s++) mean[j] += x[s * features + j];
    mean[j] /= samples;
    deviation[j] = 0;
    for (int s = 0; s < samples; s++) deviation[j] += (x[s * features + j] - mean[j]) * (x[s * features + j] - mean[j]);
    deviation[j] = sqrtf(deviation[j] / samples);
  }
}

__global__ void standardise(float* x, const float* mean, const float* deviation, int samples, int features) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int s = blockIdx.y * blockDim.y + threadIdx.y;
  if (s < samples && j < features) x[s * features + j] = (x[s * features + j] - mean[j]) / deviation[j];
}

// correlation[i][j] = sum over samples of x[s][i] * x[s][j], divided by their number.
__global__ void correlate(const float* x, float* correlation, int samples, int features) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < features && j < features) {
    correlation[i * features + j] = 0;
    for (int s = 0; s < samples; s++) correlation[i * features + j] += x[s * features + i] * x[s * features + j];
    correlation[i * features + j] /= samples;
  }
}

__global__ void predict(const float* x, const float* weights, float* prediction, int samples, int features) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < samples) {
    prediction[s] = 0;
    for (int j = 0; j < features; j++) prediction[s] += x[s * features + j] * weights[j];
  }
}

// result = X' * residual + lambda * weights
__global__ void gradient(const float* x, const float* residual, const float* weights, float* result, float lambda,
                         int samples, int features) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < features) {
    result[j] = lambda * weights[j];
    for (int s = 0; s < samples; s++) result[j] += x[s * features + j] * residual[s];
  }
}

// Pseudo-random numbers in [-1, 1), the same on every machine.
static float next_random() {
  static unsigned state = 2463534242u;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) / 8388608.0f - 1;
}

static double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += (double)a[i] * b[i];
  return sum;
}

struct Fit {
  int samples, features;
  float lambda;
  float *x, *row, *column, *result;  // on the device

  // (X'X + lambda I) v
  std::vector<float> apply(const std::vector<float>& v) {
    std::vector<float> product(features);
    CHECK(cudaMemcpy(column, v.data(), features * sizeof(float), cudaMemcpyHostToDevice));
    predict<<<(samples + BLOCK - 1) / BLOCK, BLOCK>>>(x, column, row, samples, features);
    gradient<<<(features + BLOCK - 1) / BLOCK, BLOCK>>>(x, row, column, result, lambda, samples, features);
    CHECK(cudaMemcpy(product.data(), result, features * sizeof(float), cudaMemcpyDeviceToHost));
    return product;
  }
};

// Whether the weights solve the normal equations, in double precision on the host.
static bool check(const std::vector<float>& x, const std::vector<float>& y, const std::vector<float>& w, float lambda,
                  int samples, int features) {
  std::vector<double> error(features, 0);
  double most = 0, size = 0;
  for (int s = 0; s < samples; s++) {
    double residual = -y[s];
    for (int j = 0; j < features; j++) residual += (double)x[(size_t)s * features + j] * w[j];
    for (int j = 0; j < features; j++) error[j] += x[(size_t)s * features + j] * residual;
  }
  for (int j = 0; j < features; j++) {
    double right = 0;
    for (int s = 0; s < samples; s++) right += (double)x[(size_t)s * features + j] * y[s];
    most = fmax(most, fabs(error[j] + lambda * w[j]));
    size = fmax(size, fabs(right));
  }
  printf("largest relative error of the normal equations: %.2e\n", most / size);
  return most / size < 1e-3;
}

int main(int argc, char** argv) {
  int samples = 4096, features = 192, numbers = 0;
  bool checking = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--check") == 0) checking = true;
    else (numbers++ ? features : samples) = atoi(argv[i]);
  }
  if (samples < 2 || features < 1 || numbers > 2) {
    fprintf(stderr, "usage: %s [samples] [features] [--check]\n", argv[0]);
    return 2;
  }

  const size_t cells = (size_t)samples * features;
  std::vector<float> x(cells), y(samples);
  for (int s = 0; s < samples; s++) {
    float common = next_random();
    y[s] = 0.1f * next_random();
    for (int j = 0; j < features; j++) {
      x[(size_t)s * features + j] = next_random() + 0.3f * common + j % 7;
      y[s] += x[(size_t)s * features + j] * ((j % 5) - 2) / features;
    }
  }

  Fit fit = {samples, features, 0.1f * samples, nullptr, nullptr, nullptr, nullptr};
  float *mean, *deviation, *correlation;
  CHECK(cudaMalloc(&fit.x, cells * sizeof(float)));
  CHECK(cudaMalloc(&fit.row, samples * sizeof(float)));
  CHECK(cudaMalloc(&fit.column, features * sizeof(float)));
  CHECK(cudaMalloc(&fit.result, features * sizeof(float)));
  CHECK(cudaMalloc(&mean, features * sizeof(float)));
  CHECK(cudaMalloc(&deviation, features * sizeof(float)));
  CHECK(cudaMalloc(&correlation, (size_t)features * features * sizeof(float)));
  CHECK(cudaMemcpy(fit.x, x.data(), cells * sizeof(float), cudaMemcpyHostToDevice));

  auto start = std::chrono::steady_clock::now();
  dim3 block(TILE, TILE);
  column_statistics<<<(features + BLOCK - 1) / BLOCK, BLOCK>>>(fit.x, mean, deviation, samples, features);
  standardise<<<dim3((features + TILE - 1) / TILE, (samples + TILE - 1) / TILE), block>>>(fit.x, mean, deviation,
                                                                                          samples, features);
  correlate<<<dim3((features + TILE - 1) / TILE, (features + TILE - 1) / TILE), block>>>(fit.x, correlation, samples,
                                                                                         features);
  std::vector<float> matrix((size_t)features * features);
  CHECK(cudaMemcpy(matrix.data(), correlation, matrix.size() * sizeof(float), cudaMemcpyDeviceToHost));
  float strongest = 0;
  for (int i = 0; i < features; i++)
    for (int j = 0; j < i; j++) strongest = fmaxf(strongest, fabsf(matrix[(size_t)i * features + j]));

  // Conjugate gradients; the right side X'y is the gradient for residual y and no weights.
  std::vector<float> w(features, 0), direction(features), r(features);
  CHECK(cudaMemcpy(fit.row, y.data(), samples * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(fit.column, w.data(), features * sizeof(float), cudaMemcpyHostToDevice));
  gradient<<<(features + BLOCK - 1) / BLOCK, BLOCK>>>(fit.x, fit.row, fit.column, fit.result, fit.lambda, samples,
                                                      features);
  CHECK(cudaMemcpy(r.data(), fit.result, features * sizeof(float), cudaMemcpyDeviceToHost));
  direction = r;
  double size = dot(r, r);
  const double enough = 1e-10 * size;
  int iterations = 0;
  while (size > enough && iterations < 60) {
    std::vector<float> product = fit.apply(direction);
    float step = (float)(size / dot(direction, product));
    for (int j = 0; j < features; j++) w[j] += step * direction[j], r[j] -= step * product[j];
    double next = dot(r, r);
    for (int j = 0; j < features; j++) direction[j] = r[j] + (float)(next / size) * direction[j];
    size = next;
    iterations++;
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  printf("%d samples, %d features: strongest correlation %.4f, %d iterations, |w| = %.6f; %.3f s\n", samples, features,
         strongest, iterations, sqrt(dot(w, w)), seconds);

  bool passed = true;
  if (checking) {
    CHECK(cudaMemcpy(x.data(), fit.x, cells * sizeof(float), cudaMemcpyDeviceToHost));
    passed = check(x, y, w, fit.lambda, samples, features);
    printf("%s\n", passed ? "PASSED" : "FAILED");
  }
  for (float* memory : {fit.x, fit.row, fit.column, fit.result, mean, deviation, correlation}) cudaFree(memory);
  return passed ? 0 : 1;
}
