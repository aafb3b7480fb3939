// Threads that cannot differ: one of them runs for all, unless something could tell them apart or count them.
#include <algorithm>
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

constexpr Geometry kTall{.grid = {2, 1, 1}, .block = {32, 8, 2}};

TEST(IdenticalThreads, RacingThreadsThatNeverReadTheirRowMoveTogether) {
  TestImage image = build(R"(
__global__ void mvt(const float* a, const float* y, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) for (int j = 0; j < n; ++j) x[i] += a[i * n + j] * y[j];
})");
  const int n = 60;
  std::vector<float> a(n * n), y(n), x(n, 1.0f), want(n, 1.0f);
  for (int i = 0; i < n * n; ++i) a[i] = float(i % 13);
  for (int i = 0; i < n; ++i) y[i] = float(i % 7);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) want[i] += a[i * n + j] * y[j];
  ASSERT_TRUE(image.run("mvt", kTall, a.data(), y.data(), x.data(), n).ok());
  EXPECT_EQ(x, want);
}

TEST(IdenticalThreads, MoveTogetherAcrossBarriersAndSeeTheTrueBlockSize) {
  TestImage image = build(R"(
__global__ void k(int* sums, int* size) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  sums[blockIdx.x * 32 + threadIdx.x] += s[31 - threadIdx.x];
  __syncthreads();
  s[threadIdx.x] += 1;
  __syncthreads();
  sums[blockIdx.x * 32 + threadIdx.x] += 100 * s[threadIdx.x];
  *size = blockDim.x * 10000 + blockDim.y * 100 + blockDim.z;
})");
  EXPECT_EQ(image.mode("k"), "cut");
  std::vector<int> sums(64);
  int size = 0;
  ASSERT_TRUE(image.run("k", kTall, sums.data(), &size).ok());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(sums[i], 31 - i % 32 + 100 * (i % 32 + 1)) << i;
  EXPECT_EQ(size, 320802);
}

TEST(IdenticalThreads, OnlyAlongTheAxesThatAreNeverRead) {
  TestImage image = build(R"(
__global__ void rows(int* sums) { sums[threadIdx.y] += blockDim.x; }
__global__ void layers(int* sums) { sums[threadIdx.z * 8 + threadIdx.y] += 1; }
__device__ __noinline__ void add(int* sums) { sums[threadIdx.y] += 1; }
__global__ void below(int* sums) { add(sums); }
)");
  std::vector<int> sums(16);
  const Geometry one{.grid = {1, 1, 1}, .block = {32, 8, 2}};
  ASSERT_TRUE(image.run("rows", one, sums.data()).ok());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(sums[i], i < 8 ? 32 : 0);
  std::fill(sums.begin(), sums.end(), 0);
  ASSERT_TRUE(image.run("layers", one, sums.data()).ok());
  EXPECT_EQ(sums, std::vector<int>(16, 1));
  std::fill(sums.begin(), sums.end(), 0);
  ASSERT_TRUE(image.run("below", one, sums.data()).ok());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(sums[i], i < 8 ? 1 : 0);
}

TEST(IdenticalThreads, EveryThreadRunsWhereTheyCanBeCountedOrToldApart) {
  TestImage image = build(R"(
__global__ void atomics(int* out) { atomicAdd(out, 1); }
__global__ void counts(int* out) { int n = __syncthreads_count(1); if (blockIdx.x == 0) *out = n; }
__global__ void prints(int*) { printf("%d\n", threadIdx.x); }
__global__ void lanes(int* out) { int lane = __nvvm_read_ptx_sreg_laneid(); if (lane > 16) out[0] = lane; }
__global__ void warps(int* out) { out[__nvvm_read_ptx_sreg_warpid()] = 1; }
__global__ void votes(int* out) { int v = __ballot_sync(~0u, 1); if (threadIdx.x == 31) atomicAdd(out, v == -1); }
__device__ int unsure(int v) { return v + 1; }
__device__ int (*volatile chosen)(int) = unsure;
__global__ void pointers(int* out) { if (threadIdx.x == 0) *out = chosen(threadIdx.x); }
__global__ void heap(void** out) { void* p = malloc(8); if (p) atomicAdd((int*)out, 1); free(p); }
)");
  std::vector<int> out(64);
  auto answer = [&](const char* kernel) {
    std::fill(out.begin(), out.end(), 0);
    EXPECT_TRUE(image.run(kernel, {.grid = {1, 1, 1}, .block = {32, 8, 2}}, out.data()).ok()) << kernel;
    return out[0];
  };
  EXPECT_EQ(answer("atomics"), 512);
  EXPECT_EQ(answer("counts"), 512);
  EXPECT_EQ(answer("lanes"), 31);
  EXPECT_EQ(answer("votes"), 16);
  EXPECT_EQ(answer("pointers"), 1);
  EXPECT_EQ(answer("heap"), 512);
  answer("warps");
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 16);
  std::string printed;
  LaunchOptions options;
  options.print = [&](std::string_view text) { printed += text; };
  EXPECT_TRUE(image.run_with(options, "prints", {.grid = {1, 1, 1}, .block = {2, 3, 1}}, out.data()).ok());
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 6);
}

}  // namespace
}  // namespace kernelift::cpu
