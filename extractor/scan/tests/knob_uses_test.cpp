// Which constants a scan lists as knobs, and which are part of the answer.
#include <gtest/gtest.h>

#include <algorithm>

#include "extractor/scan/scan.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::knob;
using kernelift::extractor::apps::TestApp;

TEST(KnobUses, ConstantsThatOnlyEnterValuesAreNoKnobs) {
  TestApp app;
  app.unit("a.cu", R"(
#define MULTIPLIER 1664525u
#define INCREMENT 1013904223u
#define SHIFT_A 13
#define SHIFT_B 17
#define MASK 0x7fffffff
#define SEED 12345
#define BIN_STEP 4
constexpr unsigned kOffset = 2166136261u;
__device__ unsigned mixed(unsigned x) {
  const int down = 15;
  x ^= x << SHIFT_A;
  x ^= x >> SHIFT_B;
  return (x ^ x >> down) & MASK;
}
template <class T> struct Generator {
  unsigned state;
  __device__ T next() { state = state * MULTIPLIER + INCREMENT; return static_cast<T>(state) / 65536; }
};
__global__ void k(float* x, unsigned* hash, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Generator<float> random{SEED};
  for (int iteration = 0; iteration < n; ++iteration)
    if (random.next() < x[i]) x[i] += random.next();
  hash[i] = mixed(kOffset + hash[i]);
  atomicAdd(count, BIN_STEP);
}
void run(int n, float* x, unsigned* hash, int* count) { k<<<n, 64>>>(x, hash, count, n); }
)");
  for (auto& knob : app.scan().knobs) ADD_FAILURE() << knob.name;
}

TEST(KnobUses, ConstantsThatFlowIntoAnAmountOrAnIndexAreKnobs) {
  TestApp app;
  app.unit("a.cu", R"(
#define COARSEN 8
#define CHUNK 64
#define STRIDE 3
#define WIDTH 16
#define SPAN 5
#define PITCH 33
#define LANES 32
#define TILE_BYTES 40
#define MEMBER 6
#define DOUBLED (2 * DEPTH)
#define DEPTH 7
struct Place { int at; __device__ Place(int n) : at(n * MEMBER) {} };
template <class T> __device__ int offset(T column) { return column * PITCH; }
__device__ void bounds(int* first, int& last, int n) { *first = n / SPAN; last = n; }
__global__ void k(float* x, int n) {
  int base = blockIdx.x * COARSEN + threadIdx.x, first, last, chunk = CHUNK, at = base;
  bounds(&first, last, n);
  if (base >= n) return;
  for (int i = first; i < last; i += chunk) at = at + STRIDE, x[at] += 1;
  for (int p = 0; p < n; ++p) x[offset(p)] += x[Place(p).at];
  float* row = x + n * WIDTH;
  row[0] = __shfl_down_sync(0xffffffff, x[base], LANES / 2);
  int iterations = (n + DOUBLED - 1) / DOUBLED;
  while (iterations--) x[0] += __popc(TILE_BYTES * iterations);
}
void run(int n, float* x) { k<<<n, 64>>>(x, n); }
)");
  auto index = app.scan();
  for (auto* name : {"COARSEN", "CHUNK", "STRIDE", "WIDTH", "SPAN", "PITCH", "LANES", "TILE_BYTES", "MEMBER", "DEPTH"})
    EXPECT_TRUE(knob(index, name)) << name;
}

TEST(KnobUses, ConstantsThatOnlyLimitIterationsAreNoKnobs) {
  TestApp app;
  app.unit("a.cu", R"(
#define MAX_ITERATIONS 200
#define NEWTON 20
#define TERMS 12
#define ROWS 4
#define HALO 2
#define DIGITS 9
#define DEEP 5
#define CHUNK 64
#define PARTS 8
#define PER_THREAD 4
#define RESTART 16
#define SUMMED 30
constexpr int kPairs = ROWS * 2;
__device__ float root(float a, int iterations) {
  float r = a;
  for (int i = 0; i < iterations; ++i) r = 0.5f * (r + a / r);
  return r;
}
template <int N> __device__ float series(float a) {
  float sum = 0;
  for (int i = 0; i < N; ++i) sum = sum * a + 1.0f / N;
  return sum;
}
template <int N> struct Steps {
  __device__ float take(float a) { for (int i = 0; i < N; ++i) a *= a; return a; }
};
__global__ void k(float* x, int n) {
  int base = (blockIdx.x * 64 + threadIdx.x) * PER_THREAD;
  float error = 1;
  for (int iteration = 0; iteration < MAX_ITERATIONS && error > 1e-6f; ++iteration) error *= x[iteration];
  for (int p = 0; p < kPairs; ++p) x[p] += root(x[p], NEWTON) + series<TERMS>(x[p]);
  for (int j = -HALO; j <= HALO; ++j) x[base] += x[base + 1];
  int digits = DIGITS;
  while (digits-- > 0) x[base] *= 10;
  int total = 0;
  for (int iteration = 0; iteration < n; ++iteration) {
    if (iteration % RESTART == 0) error = 0;
    total += (int)root(x[iteration], SUMMED);
  }
  x[0] += error + total;
  Steps<DEEP> steps;
  x[base] = steps.take(x[base]);
  for (int first = 0; first < n; first += CHUNK)
    for (int i = 0; i < CHUNK; ++i) {
      if (first + i >= n) break;
      x[first + i] += 1;
    }
  const int part = (n + PARTS - 1) / PARTS;
  for (int i = 0; i < PARTS; ++i) x[i * part] = 0;
  for (int i = 0; i < PER_THREAD && base + i < n; ++i) x[base + i] += 1;
}
void run(int n, float* x) { k<<<n, 64>>>(x, n); }
)");
  auto index = app.scan();
  for (auto* name : {"MAX_ITERATIONS", "NEWTON", "TERMS", "ROWS", "HALO", "DIGITS", "DEEP", "SUMMED", "RESTART"})
    EXPECT_FALSE(knob(index, name)) << name;
  for (auto* name : {"CHUNK", "PARTS", "PER_THREAD"}) EXPECT_TRUE(knob(index, name)) << name << " also partitions work";
}

TEST(KnobUses, ExtentsOfTheDataAreNoKnobs) {
  TestApp app;
  app.unit("a.cu", R"(
#define ROWS 4096
#define COLUMNS 2048
#define BLOCK 256
#define TILE 16
#define LOOP_BOUND(constant, argument) constant
__global__ void rows(const float* a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < LOOP_BOUND(ROWS, n))
    for (int j = 0; j < LOOP_BOUND(COLUMNS, n); ++j) y[i] += a[i * COLUMNS + j] * x[j];
}
__global__ void columns(const float* a, const float* x, float* y) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < COLUMNS)
    for (int i = 0; i < ROWS; ++i) y[j] += a[i * COLUMNS + j] * x[i];
}
__global__ void tiles(float* a, int n) {
  int i = blockIdx.x * TILE + threadIdx.x;
  if (threadIdx.x < TILE) a[i] += i < n;
}
void run(int n, const float* a, const float* x, float* y) {
  rows<<<(ROWS + BLOCK - 1) / BLOCK, BLOCK>>>(a, x, y, ROWS);
  columns<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(a, x, y);
  tiles<<<n / TILE, 32>>>(y, n);
}
)");
  auto index = app.scan();
  EXPECT_FALSE(knob(index, "COLUMNS"));
  for (auto* name : {"BLOCK", "TILE", "ROWS"}) EXPECT_TRUE(knob(index, name)) << "a launch uses " << name;
}

TEST(KnobUses, ABlockSizeThatDataAreComparedWithIsNoKnob) {
  auto is_knob = [](const std::string& body) {
    TestApp app;
    app.unit("a.cu",
             "#define BLOCK 128\n__device__ int length(const int* first, int i) { return first[i + 1] - first[i]; }\n"
             "__global__ void rows(float* y, int* left, const int* first, int n) {\n  __shared__ int count;\n  int i = "
             "blockIdx.x * BLOCK + threadIdx.x;\n  if (i >= n) return;\n  " +
                 body +
                 "\n}\nvoid run(float* y, int* left, const int* first, int n) { rows<<<(n + BLOCK - 1) / BLOCK, "
                 "BLOCK>>>(y, left, first, n); }\n");
    auto index = app.scan();
    return std::any_of(index.knobs.begin(), index.knobs.end(), [](auto& knob) { return knob.name == "BLOCK"; });
  };
  for (auto* data :
       {"int many = first[i + 1] - first[i];\n if (many > BLOCK) { left[i] = 1; return; }\n y[i] = many;",
        "if (length(first, i) <= BLOCK) y[i] = 1;", "left[i] = BLOCK < *first ? 1 : 0;",
        "if (threadIdx.x == 0) count = n;\n __syncthreads();\n if (count < BLOCK) y[i] = 1;",
        "const int limit = BLOCK;\n if (first[i] > limit) y[i] = 1;", "if (atomicAdd(left, 1) < BLOCK) y[i] = 1;"})
    EXPECT_FALSE(is_knob(data)) << data;
  for (auto* place : {"if (threadIdx.x == BLOCK - 1) y[i] = 1;", "for (int k = 0; k < BLOCK; ++k) y[i] += first[k];",
                      "for (int k = 0; k < n; ++k) if (k % BLOCK == 0) y[i] += first[k];",
                      "if (n > BLOCK) y[i] = first[i];", "y[i] = first[i];"})
    EXPECT_TRUE(is_knob(place)) << place;
}

}  // namespace
}  // namespace kernelift::extractor
