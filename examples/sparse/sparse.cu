// Work with a sparse matrix in CSR form: product with a vector, histogram of its columns, offsets within its groups.
// Usage: sparse [rows] [steps] [--check]
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define BLOCK 128
#define BINS 256
#define GROUP 512

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(2);                                                                   \
    }                                                                            \
  } while (0)

// y = A x, one thread a row.
__global__ void spmv(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  y[row] = 0;
  for (int k = starts[row]; k < starts[row + 1]; k++) y[row] += values[k] * x[columns[k]];
}

// How often each bin of columns occurs; bin = column >> shift. The caller clears counts.
__global__ void histogram(const int* columns, int* counts, int count, int shift) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) atomicAdd(&counts[columns[k] >> shift], 1);
}

// Exclusive sums of each group of `length` numbers, one thread a group.
__global__ void group_offsets(const int* numbers, int* offsets, int groups, int length) {
  int group = blockIdx.x * blockDim.x + threadIdx.x;
  if (group >= groups) return;
  int sum = 0;
  for (int i = 0; i < length; i++) {
    offsets[group * length + i] = sum;
    sum += numbers[group * length + i];
  }
}

// Pseudo-random numbers in [0, 1), the same on every machine.
static double next_random() {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) / 16777216.0;
}

struct Matrix {
  int rows;
  std::vector<int> starts, columns;
  std::vector<float> values;
};

// Most rows are short, few are long; columns with small numbers are frequent.
static Matrix random_matrix(int rows) {
  Matrix matrix{rows, {0}, {}, {}};
  for (int row = 0; row < rows; row++) {
    int length = 8 + (int)(24 * next_random());
    if (next_random() < 0.02) length *= 8;
    for (int k = 0; k < length; k++) {
      double at = next_random();
      matrix.columns.push_back((int)(at * at * rows));
      matrix.values.push_back((float)(next_random() - 0.5));
    }
    matrix.starts.push_back((int)matrix.columns.size());
  }
  return matrix;
}

static bool right(const Matrix& matrix, const std::vector<float>& x, int shift, const std::vector<float>& y,
                  const std::vector<int>& counts, const std::vector<int>& offsets, int groups) {
  double worst = 0;
  for (int row = 0; row < matrix.rows; row++) {
    double sum = 0, size = 1e-3;
    for (int k = matrix.starts[row]; k < matrix.starts[row + 1]; k++) {
      sum += (double)matrix.values[k] * x[matrix.columns[k]];
      size += fabs((double)matrix.values[k] * x[matrix.columns[k]]);
    }
    worst = fmax(worst, fabs(y[row] - sum) / size);
  }
  std::vector<int> wanted(BINS);
  for (int column : matrix.columns) wanted[column >> shift]++;
  int wrong = 0;
  for (int group = 0; group < groups; group++)
    for (int i = 0, sum = 0; i < GROUP; sum += matrix.columns[group * GROUP + i], i++)
      wrong += offsets[group * GROUP + i] != sum;
  printf("largest relative error of a product: %.2e, counts %s, %d wrong offsets\n", worst,
         counts == wanted ? "right" : "wrong", wrong);
  return worst < 1e-5 && counts == wanted && wrong == 0;
}

int main(int argc, char** argv) {
  int sizes[2] = {4096, 20}, given = 0;
  bool checking = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--check") == 0) checking = true;
    else if (given < 2) sizes[given++] = atoi(argv[i]);
    else sizes[0] = 0;
  }
  const int rows = sizes[0], steps = sizes[1];
  if (rows < GROUP || steps < 1) {
    fprintf(stderr, "usage: %s [rows] [steps] [--check], at least %d rows\n", argv[0], GROUP);
    return 2;
  }

  const Matrix matrix = random_matrix(rows);
  const int count = (int)matrix.columns.size(), groups = count / GROUP;
  int shift = 0;
  while (((rows - 1) >> shift) >= BINS) shift++;
  std::vector<float> x(rows), y(rows);
  for (float& one : x) one = (float)next_random();
  int *d_starts, *d_columns, *d_counts, *d_offsets;
  float *d_values, *d_x, *d_y;
  CHECK(cudaMalloc(&d_starts, (rows + 1) * sizeof(int)));
  CHECK(cudaMalloc(&d_columns, count * sizeof(int)));
  CHECK(cudaMalloc(&d_values, count * sizeof(float)));
  CHECK(cudaMalloc(&d_x, rows * sizeof(float)));
  CHECK(cudaMalloc(&d_y, rows * sizeof(float)));
  CHECK(cudaMalloc(&d_counts, BINS * sizeof(int)));
  CHECK(cudaMalloc(&d_offsets, (size_t)groups * GROUP * sizeof(int)));
  CHECK(cudaMemcpy(d_starts, matrix.starts.data(), (rows + 1) * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_columns, matrix.columns.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_values, matrix.values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_x, x.data(), rows * sizeof(float), cudaMemcpyHostToDevice));

  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; step++) {
    spmv<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(d_starts, d_columns, d_values, d_x, d_y, rows);
    CHECK(cudaMemset(d_counts, 0, BINS * sizeof(int)));
    histogram<<<(count + BLOCK - 1) / BLOCK, BLOCK>>>(d_columns, d_counts, count, shift);
    group_offsets<<<(groups + BLOCK - 1) / BLOCK, BLOCK>>>(d_columns, d_offsets, groups, GROUP);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  printf("%d rows, %d values, %d steps: %.3f s\n", rows, count, steps, seconds);

  bool passed = true;
  if (checking) {
    std::vector<int> counts(BINS), offsets((size_t)groups * GROUP);
    CHECK(cudaMemcpy(y.data(), d_y, rows * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(counts.data(), d_counts, BINS * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(offsets.data(), d_offsets, offsets.size() * sizeof(int), cudaMemcpyDeviceToHost));
    passed = right(matrix, x, shift, y, counts, offsets, groups);
    printf("%s\n", passed ? "PASSED" : "FAILED");
  }
  for (int* memory : {d_starts, d_columns, d_counts, d_offsets}) CHECK(cudaFree(memory));
  for (float* memory : {d_values, d_x, d_y}) CHECK(cudaFree(memory));
  return passed ? 0 : 1;
}
