// Barriers: what a kernel cut at them must keep, and what must be noticed. Each kernel runs cut and on fibers.
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

class Barrier : public testing::TestWithParam<bool> {
 protected:
  TestImage image_of(const std::string& source) {
    LowerOptions options;
    options.force_fibers = GetParam();
    return build(source, options);
  }
  std::string expected_mode() const { return GetParam() ? "fiber" : "cut"; }
};
INSTANTIATE_TEST_SUITE_P(Modes, Barrier, testing::Bool(),
                         [](const auto& info) { return info.param ? "OnFibers" : "Cut"; });

TEST_P(Barrier, KeepsValuesLiveAcrossIt) {
  TestImage image = image_of(R"(
__global__ void k(const int* in, int* out) {
  __shared__ int tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int a = in[i], b = a * a + 7;
  tile[threadIdx.x] = b;
  __syncthreads();
  out[i] = tile[(threadIdx.x + 1) % blockDim.x] + a;
})");
  EXPECT_EQ(image.mode("k"), expected_mode());
  std::vector<int> in(512), out(512);
  std::iota(in.begin(), in.end(), 5);
  ASSERT_TRUE(image.run("k", grid(2, 256), in.data(), out.data()).ok());
  for (int i = 0; i < 512; ++i) {
    const int j = i / 256 * 256 + (i + 1) % 256;
    ASSERT_EQ(out[i], in[j] * in[j] + 7 + in[i]) << i;
  }
}

TEST_P(Barrier, WorksInALoopOfUniformTripCount) {
  TestImage image = image_of(R"(
__global__ void reduce(const float* in, float* out, int n) {
  extern __shared__ float s[];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
})");
  EXPECT_EQ(image.mode("reduce"), expected_mode());
  std::vector<float> in(1000, 1.0f), out(3);
  ASSERT_TRUE(image.run("reduce", grid(3, 128, 128 * 4), in.data(), out.data(), 1000).ok());
  EXPECT_EQ(out, std::vector<float>(3, 1000.0f));
}

TEST_P(Barrier, LetsThreadsEndEarly) {
  TestImage image = image_of(R"(
__global__ void k(int* out, int n) {
  __shared__ int seen[64];
  if (threadIdx.x >= n) return;
  seen[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = seen[n - 1 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x] += 100;
})");
  std::vector<int> out(64, -1);
  ASSERT_TRUE(image.run("k", grid(1, 64), out.data(), 40).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], i < 40 ? 139 - i : -1) << i;
}

TEST_P(Barrier, IsPassedByWarpsThatWaitAtDifferentStatements) {
  TestImage image = image_of(R"(
__global__ void roles(int* out, int rounds) {
  __shared__ int box[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; ++r) {
      box[lane] = lane * 10 + r;
      __syncthreads();
      __syncthreads();
    }
  } else {
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
      __syncthreads();
      sum += box[31 - lane];
      __syncthreads();
    }
    out[threadIdx.x - 32] = sum;
  }
}
__global__ void counts(int* out) {
  int n = threadIdx.x < 64 ? __syncthreads_count(threadIdx.x % 3 == 0) * 2 : 0;
  if (threadIdx.x >= 64) n = __syncthreads_count(threadIdx.x % 2) * 3;
  out[threadIdx.x] = n;
})");
  std::vector<int> out(96);
  LaunchOutcome outcome = image.run("roles", grid(1, 128), out.data(), 3);
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  for (int i = 0; i < 96; ++i) ASSERT_EQ(out[i], (31 - i % 32) * 30 + 3) << i;
  outcome = image.run("counts", grid(1, 96), out.data());
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  for (int i = 0; i < 96; ++i) ASSERT_EQ(out[i], (22 + 16) * (i < 64 ? 2 : 3)) << i;
}

TEST_P(Barrier, OfDifferentKindsAtOnceIsAFault) {
  TestImage image = image_of(
      "__global__ void k(int* out) { if (threadIdx.x < 32) __syncthreads(); else out[0] = __syncthreads_count(1); }");
  int out = 0;
  EXPECT_EQ(image.run("k", grid(1, 64), &out).fault, LaunchFault::DivergentBarrier);
}

TEST_P(Barrier, OfWhichLanesReachDifferentOnesIsAFault) {
  TestImage image = image_of(R"(
__global__ void k(int* out) {
  if (threadIdx.x & 1) { out[0] = 1; __syncthreads(); out[1] = 2; }
  else { out[2] = 3; __syncthreads(); out[3] = 4; }
})");
  std::vector<int> out(4);
  const LaunchOutcome outcome = image.run("k", grid(1, 32), out.data());
  EXPECT_EQ(outcome.fault, LaunchFault::DivergentBarrier) << outcome.detail;
  EXPECT_NE(outcome.detail.find("block (0,0,0)"), std::string::npos) << outcome.detail;
}

TEST_P(Barrier, KeepsLocalArraysAcrossIt) {
  TestImage image = image_of(R"(
__global__ void k(int* out, int which) {
  int local[8];
  __shared__ int offset;
  for (int i = 0; i < 8; ++i) local[i] = threadIdx.x * 10 + i;
  if (threadIdx.x == 3) offset = which;
  __syncthreads();
  local[(offset + 1) % 8] += 1000;
  __syncthreads();
  out[threadIdx.x] = local[offset] + local[(offset + 1) % 8];
})");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data(), 5).ok());
  for (int i = 0; i < 32; ++i) ASSERT_EQ(out[i], i * 10 + 5 + i * 10 + 6 + 1000) << i;
}

TEST_P(Barrier, CountsAndCombinesPredicates) {
  TestImage image = image_of(R"(
__global__ void k(int* out, int limit) {
  int n = __syncthreads_count(threadIdx.x < limit);
  int all = __syncthreads_and(threadIdx.x < limit);
  int any = __syncthreads_or(threadIdx.x == limit);
  out[threadIdx.x] = n * 100 + (all != 0) * 10 + (any != 0);
})");
  std::vector<int> out(64);
  ASSERT_TRUE(image.run("k", grid(1, 64), out.data(), 20).ok());
  EXPECT_EQ(out, std::vector<int>(64, 2001));
  ASSERT_TRUE(image.run("k", grid(1, 64), out.data(), 64).ok());
  EXPECT_EQ(out, std::vector<int>(64, 6410));
}

TEST_P(Barrier, CarriesALoopVariableChangedOnBothSidesOfIt) {
  TestImage image = image_of(R"(
__global__ void k(int* out, int rounds) {
  __shared__ int s[32];
  int x = threadIdx.x, carry = 1;
  for (int r = 0; r < rounds; ++r) {
    s[threadIdx.x] = x;
    if (x % 3 == 0) carry += r;
    __syncthreads();
    int y = s[(threadIdx.x + r) % 32];
    __syncthreads();
    x = x + y + carry;
    while (x > 1000) x -= 77;
  }
  out[threadIdx.x] = x * 31 + carry;
})");
  std::vector<int> out(32), x(32), carry(32, 1);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data(), 9).ok());
  std::iota(x.begin(), x.end(), 0);
  for (int r = 0; r < 9; ++r) {
    const std::vector<int> s = x;
    for (int t = 0; t < 32; ++t) {
      if (x[t] % 3 == 0) carry[t] += r;
      x[t] = x[t] + s[(t + r) % 32] + carry[t];
      while (x[t] > 1000) x[t] -= 77;
    }
  }
  for (int t = 0; t < 32; ++t) ASSERT_EQ(out[t], x[t] * 31 + carry[t]) << t;
}

TEST_P(Barrier, WorksInTwoAndThreeDimensions) {
  TestImage image = image_of(R"(
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void ids(int* out) {
  __shared__ int s[24];
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  s[23 - t] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z;
  __syncthreads();
  out[t] = s[t];
})");
  std::vector<float> in(64 * 64), out(64 * 64);
  std::iota(in.begin(), in.end(), 0.0f);
  ASSERT_TRUE(image.run("transpose", {.grid = {4, 4, 1}, .block = {16, 16, 1}}, in.data(), out.data(), 64).ok());
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x) ASSERT_EQ(out[x * 64 + y], in[y * 64 + x]);
  std::vector<int> ids(24);
  ASSERT_TRUE(image.run("ids", {.grid = {1, 1, 1}, .block = {4, 3, 2}}, ids.data()).ok());
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x) ASSERT_EQ(ids[23 - (x + 4 * (y + 3 * z))], x + 10 * y + 100 * z);
}

TEST_P(Barrier, InAConditionThatAllThreadsShareIsFine) {
  TestImage image = image_of(R"(
__global__ void k(int* out, int go) {
  __shared__ int s[64];
  int v = threadIdx.x;
  if (go) { s[threadIdx.x] = v * 2; __syncthreads(); v = s[63 - threadIdx.x]; }
  out[threadIdx.x] = v;
})");
  std::vector<int> out(64);
  ASSERT_TRUE(image.run("k", grid(1, 64), out.data(), 1).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], (63 - i) * 2);
  ASSERT_TRUE(image.run("k", grid(1, 64), out.data(), 0).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], i);
}

TEST(BarrierModes, BarrierInARecursiveFunctionRunsOnFibers) {
  TestImage image = build(R"(
__device__ __noinline__ int walk(int* s, int depth) {
  if (depth == 0) return s[threadIdx.x];
  s[threadIdx.x] += depth;
  __syncthreads();
  return walk(s, depth - 1) + s[(threadIdx.x + 1) % blockDim.x];
}
__global__ void k(int* out, int depth) {
  __shared__ int s[32];
  s[threadIdx.x] = 0;
  out[threadIdx.x] = walk(s, depth);
})");
  EXPECT_EQ(image.mode("k"), "fiber");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data(), 3).ok());
  EXPECT_EQ(out[5], 6 + 3 * 6);
}

TEST(BarrierModes, NamedBarriersSplitABlockIntoProducersAndConsumers) {
  TestImage image = build(R"(
__global__ void k(int* out) {
  __shared__ int box[32];
  if (threadIdx.x < 32) {
    box[threadIdx.x] = threadIdx.x * 5;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x - 32] = box[63 - threadIdx.x];
  }
})");
  EXPECT_EQ(image.mode("k"), "fiber");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 64), out.data()).ok());
  for (int i = 0; i < 32; ++i) ASSERT_EQ(out[i], (31 - i) * 5);
}

}  // namespace
}  // namespace kernelift::cpu
