// Warp operations and lockstep, cut and on fibers; spinning and waiting across blocks, on fibers.
#include <array>
#include <functional>
#include <numeric>
#include <random>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

class InBothModes : public testing::TestWithParam<bool> {
 protected:
  TestImage image_of(const std::string& source) {
    LowerOptions options;
    options.force_fibers = GetParam();
    TestImage image = build(source, options);
    for (const LoweredKernel& kernel : image.lowered.kernels)
      EXPECT_EQ(kernel.mode, GetParam() ? "fiber" : "cut") << kernel.name << ": " << kernel.mode_reason;
    return image;
  }
};
class Warp : public InBothModes {};
class Lockstep : public InBothModes {};
auto mode_of(const testing::TestParamInfo<bool>& info) { return info.param ? "OnFibers" : "Cut"; }
INSTANTIATE_TEST_SUITE_P(Modes, Warp, testing::Bool(), mode_of);
INSTANTIATE_TEST_SUITE_P(Modes, Lockstep, testing::Bool(), mode_of);

TEST_P(Warp, ShufflesUpDownXorAndIndexedFollowPtx) {
  TestImage image = build(R"(
__global__ void k(int* out) {
  int t = threadIdx.x;
  out[t] = __shfl_up_sync(~0u, t, 3);
  out[32 + t] = __shfl_down_sync(~0u, t, 5);
  out[64 + t] = __shfl_xor_sync(~0u, t, 6);
  out[96 + t] = __shfl_sync(~0u, t * 2, 9);
  out[128 + t] = __nvvm_shfl_sync_idx_i32(~0u, t, 1, ((32 - 8) << 8) | 31);   // width 8
  out[160 + t] = __nvvm_shfl_sync_down_i32(~0u, t, 3, ((32 - 8) << 8) | 31);
})");
  std::vector<int> out(192);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], t < 3 ? t : t - 3);
    EXPECT_EQ(out[32 + t], t + 5 > 31 ? t : t + 5);
    EXPECT_EQ(out[64 + t], t ^ 6);
    EXPECT_EQ(out[96 + t], 18);
    EXPECT_EQ(out[128 + t], t / 8 * 8 + 1);
    EXPECT_EQ(out[160 + t], t % 8 + 3 > 7 ? t : t + 3);
  }
}

TEST_P(Warp, ShufflesInDivergentHalvesMeetByTheirMask) {
  TestImage image = image_of(R"(
__global__ void k(int* out) {
  int t = threadIdx.x, v;
  if (t < 16) { v = __shfl_sync(0xffffu, t * 10, 3); for (int i = 0; i < t; ++i) v += __shfl_xor_sync(1u << t, 0, 0); }
  else v = __shfl_sync(0xffff0000u, t * 100, 20);
  out[t] = v;
})");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 16 ? 30 : 2000) << t;
}

TEST_P(Warp, VotesMatchesAndReductions) {
  TestImage image = image_of(R"(
__global__ void k(unsigned* out) {
  int t = threadIdx.x;
  out[t] = __ballot_sync(~0u, t % 3 == 0);
  out[32 + t] = __all_sync(~0u, t < 32) * 2 + __any_sync(~0u, t > 40);
  out[64 + t] = __nvvm_match_any_sync_i32(~0u, t / 4);
  out[96 + t] = __nvvm_redux_sync_add(t, ~0u);
  out[128 + t] = __nvvm_redux_sync_max(t - 40, ~0u);
  int all; out[160 + t] = __nvvm_match_all_sync_i32p(~0u, 7, &all) + all;
})");
  std::vector<unsigned> out(192);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  unsigned thirds = 0;
  for (int t = 0; t < 32; t += 3) thirds |= 1u << t;
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], thirds);
    EXPECT_EQ(out[32 + t], 2u);
    EXPECT_EQ(out[64 + t], 0xfu << t / 4 * 4);
    EXPECT_EQ(out[96 + t], 31u * 16);
    EXPECT_EQ(int(out[128 + t]), -9);
    EXPECT_EQ(out[160 + t], 0u);  // ~0 + 1
  }
}

TEST_P(Warp, OperationsDoNotWaitForLanesThatEnded) {
  TestImage image = image_of(R"(
__global__ void k(int* out, int n) {
  if (threadIdx.x >= n) return;
  int v = __ballot_sync(~0u, 1);
  out[threadIdx.x] = v;
})");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data(), 10).ok());
  for (int t = 0; t < 10; ++t) EXPECT_EQ(out[t], 0x3ff);
}

TEST_P(Warp, ActiveMaskHoldsTheLanesThatCameTogether) {
  TestImage image = image_of(R"(
__global__ void k(unsigned* out) {
  if (threadIdx.x % 2) out[threadIdx.x] = __nvvm_activemask();
  else { unsigned m = __nvvm_activemask(); out[threadIdx.x] = m; }
})");
  std::vector<unsigned> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int t = 0; t < 32; ++t) {
    EXPECT_TRUE(out[t] >> t & 1);
    for (int other = 0; other < 32; ++other)
      if (out[t] >> other & 1) {
        EXPECT_EQ(out[other], out[t]);
      }
  }
}

TEST_P(Warp, OperationThatNamedLanesNeverReachIsAFault) {
  TestImage image = image_of(R"(
__global__ void k(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(~0u, 1, 0);
  __syncthreads();
})");
  std::vector<int> out(32);
  const LaunchOutcome outcome = image.run("k", grid(1, 32), out.data());
  EXPECT_EQ(outcome.fault, LaunchFault::DivergentBarrier);
  EXPECT_NE(outcome.detail.find("16 in a warp operation"), std::string::npos) << outcome.detail;
}

TEST_P(Warp, ValuesOfEveryKindLiveAcrossOperationsInLoopsAndBlocksOfSeveralRows) {
  TestImage image = image_of(R"(
struct Pair { double a; float b; };
__global__ void k(const float* in, float* out, int n) {
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int threads = blockDim.x * blockDim.y * blockDim.z;
  Pair p = {in[t] * 2.0, in[t]};
  bool odd = t & 1;
  float local[4] = {1, 2, 3, 4};
  for (int i = 0; i < n; ++i) {
    local[i & 3] += __nvvm_shfl_sync_bfly_f32(~0u, p.b, 1 + i % 7, 31);
    p.b += local[(i + t) & 3] * 0.5f;
    if (i % 3 == 2) __syncthreads();
    if (odd) p.a += threadIdx.y;
  }
  out[blockIdx.x * threads + t] = p.b + float(p.a) + local[t & 3];
})");
  for (const auto& [x, y, z] : {std::array{32u, 1u, 1u}, {16u, 8u, 1u}, {5u, 7u, 3u}, {100u, 1u, 1u}, {33u, 2u, 1u}}) {
    const uint32_t threads = x * y * z;
    std::vector<float> in(threads), out(threads * 2), value(threads);
    for (uint32_t t = 0; t < threads; ++t) in[t] = float(t % 11) * 0.25f;
    const int n = 20;
    ASSERT_TRUE(image.run("k", {.grid = {2, 1, 1}, .block = {x, y, z}}, in.data(), out.data(), n).ok());
    std::vector<std::array<float, 4>> local(threads, {1, 2, 3, 4});
    value = in;
    for (int i = 0; i < n; ++i) {
      const std::vector<float> before = value;
      for (uint32_t t = 0; t < threads; ++t) {
        const uint32_t from = t ^ (1 + uint32_t(i) % 7);
        local[t][i & 3] += from < threads ? before[from] : before[t];
        value[t] += local[t][(uint32_t(i) + t) & 3] * 0.5f;
      }
    }
    for (uint32_t t = 0; t < threads; ++t) {
      const double a = in[t] * 2.0 + (t & 1 ? n * double(t / x % y) : 0);
      ASSERT_EQ(out[t], value[t] + float(a) + local[t][t & 3]) << t << " of " << x << "x" << y << "x" << z;
      ASSERT_EQ(out[threads + t], out[t]);
    }
  }
}

TEST_P(Warp, OnlySomeWarpsReachTheOperation) {
  TestImage image = image_of(R"(
__device__ int total(int v) {
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  return v;
}
__global__ void sum(const int* in, int* out, int n) {
  __shared__ int partial[32];
  int v = 0, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  v = total(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < blockDim.x / 32 ? partial[lane] : 0;
    v = total(v);
    if (lane == 0) atomicAdd(out, v);
  }
})");
  std::vector<int> in(10000);
  std::iota(in.begin(), in.end(), 1);
  for (uint32_t threads : {32u, 64u, 256u, 1024u}) {
    int out = 0;
    ASSERT_TRUE(image.run("sum", grid(3, threads), in.data(), &out, 10000).ok());
    EXPECT_EQ(out, 10000 * 10001 / 2) << threads;
  }
}

TEST_P(Warp, LanesLeaveALoopOfOperationsOneByOne) {
  TestImage image = image_of(R"(
__global__ void k(const int* turns, int* out) {
  int t = threadIdx.x, seen = 0;
  unsigned alive = ~0u;
  for (int i = 0; i < turns[t]; ++i) {
    alive = __ballot_sync(alive, i + 1 < turns[t]);
    seen = seen * 3 + alive % 1000;
  }
  __syncwarp(~0u);
  out[t] = seen + __shfl_sync(~0u, seen, (t + 1) % 32);
})");
  std::vector<int> turns(32), out(32), seen(32);
  for (int t = 0; t < 32; ++t) turns[t] = 1 + t * 13 % 9;
  ASSERT_TRUE(image.run("k", grid(1, 32), turns.data(), out.data()).ok());
  for (int i = 0; i < 9; ++i) {
    unsigned alive = 0;
    for (int t = 0; t < 32; ++t) alive |= unsigned(i + 1 < turns[t]) << t;
    for (int t = 0; t < 32; ++t)
      if (i < turns[t]) seen[t] = seen[t] * 3 + int(alive % 1000);
  }
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[t], seen[t] + seen[(t + 1) % 32]) << t;
}

TEST_P(Warp, MasksAndLanesThatDifferByThreadMeetTheirOwnGroups) {
  TestImage image = image_of(R"(
__global__ void k(int* out) {
  int t = threadIdx.x;
  unsigned mine = __nvvm_match_any_sync_i32(~0u, t % 5);
  int v = t;
  if (t % 5 < 3) {
    v += __nvvm_redux_sync_add(t, mine);
    if (t % 5 == 1) return;
    v += 1000 * (__shfl_sync(mine, t, __builtin_ctz(mine)) + 1);
  } else {
    v -= __shfl_sync(mine, t, 31 - __builtin_clz(mine));
  }
  out[t] = v;
})");
  std::vector<int> out(32, -7);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int t = 0; t < 32; ++t) {
    int sum = 0, last = 0;
    for (int o = t % 5; o < 32; o += 5) sum += o, last = o;
    const int kind = t % 5;
    EXPECT_EQ(out[t], kind == 1 ? -7 : kind < 3 ? t + sum + 1000 * (kind + 1) : t - last) << t;
  }
}

TEST_P(Warp, BarriersWithAnswersBetweenOperations) {
  TestImage image = image_of(R"(
__global__ void k(int* out) {
  int t = threadIdx.x;
  int v = __shfl_xor_sync(~0u, t, 1);
  int count = __syncthreads_count(v % 3 == 0);
  int all = __syncthreads_and(v < 96), any = __syncthreads_or(v == 95);
  out[t] = count * 100 + all * 10 + any + __shfl_xor_sync(~0u, v, 2) * 10000;
  if (t == 200) __syncthreads_and(1);
})");
  std::vector<int> out(96);
  ASSERT_TRUE(image.run("k", grid(1, 96), out.data()).ok());
  for (int t = 0; t < 96; ++t) EXPECT_EQ(out[t], 3200 + 10 + 1 + (t ^ 3) * 10000) << t;
}

TEST_P(Warp, DifferentBarriersAndMissingLanesAreFaults) {
  TestImage image = image_of(R"(
__global__ void barriers(int* out) {
  int v = __shfl_xor_sync(~0u, threadIdx.x, 1);
  if (v < 40) __syncthreads();
  else { out[0] = 1; __syncthreads(); }
  out[threadIdx.x] = v;
}
__global__ void asserts(int* out) {
  int v = __shfl_xor_sync(~0u, threadIdx.x, 1);
  assert(v != 40);
  __syncthreads();
  out[threadIdx.x] = v;
})");
  std::vector<int> out(64);
  LaunchOutcome outcome = image.run("barriers", grid(1, 64), out.data());
  EXPECT_EQ(outcome.fault, LaunchFault::DivergentBarrier);
  EXPECT_NE(outcome.detail.find("different __syncthreads()"), std::string::npos) << outcome.detail;
  outcome = image.run("asserts", grid(1, 64), out.data());
  EXPECT_EQ(outcome.fault, LaunchFault::Assert);
  EXPECT_NE(outcome.detail.find("thread (41,0,0)"), std::string::npos) << outcome.detail;
}

/// Programs of nested branches, loops and operations whose answer is known from fibers: cut code must give the same.
TEST(WarpModes, AgreeOnRandomPrograms) {
  std::mt19937 random(7);
  auto pick = [&](unsigned n) { return unsigned(random() % n); };
  std::string source;
  std::function<std::string(int, const std::string&)> statements = [&](int depth, const std::string& mask) {
    std::string text;
    for (unsigned i = 0, n = 1 + pick(4); i < n; ++i) {
      const std::string d = std::to_string(pick(31) + 1);
      switch (pick(depth ? 9 : 6)) {
        case 0: text += "v += __shfl_xor_sync(" + mask + ", v, " + d + ");\n"; break;
        case 1: text += "w ^= __shfl_down_sync(" + mask + ", w + v, " + d + ");\n"; break;
        case 2: text += "v += __popc(__ballot_sync(" + mask + ", (v >> " + d + ") & 1));\n"; break;
        case 3: text += "w += __nvvm_redux_sync_add(v & 255, " + mask + ");\n"; break;
        case 4: text += "v = v * 5 + w + t;\n"; break;
        case 5: text += "w -= __popc(__nvvm_match_any_sync_i32(" + mask + ", v & 3));\n"; break;
        case 6: {
          const std::string half = "m" + std::to_string(pick(1000000));
          text += "{ bool c = (v ^ t) & " + d + "; unsigned " + half + " = __ballot_sync(" + mask +
                  ", c);\nif (c) {\n" + statements(depth - 1, half) + "} else {\n" +
                  statements(depth - 1, "(" + mask + " & ~" + half + ")") + "}\n__syncwarp(" + mask + "); }\n";
          break;
        }
        case 7: {
          const std::string left = "l" + std::to_string(pick(1000000));
          text += "{ unsigned " + left + " = " + mask + ";\nfor (int i = (v & 7) + 1;;) { " + left +
                  " = __ballot_sync(" + left + ", i > 0); if (i-- <= 0) break;\n" + statements(depth - 1, left) +
                  "}\n__syncwarp(" + mask + "); }\n";
          break;
        }
        default:
          text += "if (" + mask + " == ~0u) { __syncwarp(~0u); v += s[t ^ 1]; __syncwarp(~0u); s[t] = v; }\n";
          break;
      }
    }
    return text;
  };
  constexpr int kPrograms = 5;
  for (int k = 0; k < kPrograms; ++k)
    source += "__global__ void p" + std::to_string(k) +
              "x(int* out) {\n__shared__ int s[96]; int t = threadIdx.x, v = t * 7, w = t;" +
              " s[t] = t; __syncthreads();\n" + statements(2, "~0u") + statements(2, "~0u") +
              "out[blockIdx.x * 96 + t] = v * 31 + w;\n}\n";
  source = "#define __popc(x) __builtin_popcount(x)\n" + source;
  LowerOptions on_fibers;
  on_fibers.force_fibers = true, on_fibers.host_level = 1;
  const TestImage cut = build(source), fibers = build(source, on_fibers);
  int in_cut = 0;
  for (int k = 0; k < kPrograms; ++k) {
    const std::string name = "p" + std::to_string(k) + "x";
    std::vector<int> a(192), b(192);
    const LaunchOutcome first = cut.run(name, grid(2, 96), a.data()), second = fibers.run(name, grid(2, 96), b.data());
    ASSERT_TRUE(first.ok()) << first.detail;
    ASSERT_TRUE(second.ok()) << second.detail;
    ASSERT_EQ(a, b) << name;
    in_cut += cut.mode(name) == "cut";
  }
  EXPECT_GT(in_cut, kPrograms / 2);
}

TEST_P(Lockstep, OldWarpSynchronousReductionThroughVolatileSharedMemoryIsRight) {
  TestImage image = image_of(R"(
__device__ void warp_reduce(volatile int* s, int t) {
  s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
}
__global__ void k(const int* in, int* out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) warp_reduce(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
})");
  EXPECT_NE(image.reason("k").find("volatile shared memory at test.cu:"), std::string::npos) << image.reason("k");
  std::vector<int> in(256), out(2);
  std::iota(in.begin(), in.end(), 1);
  ASSERT_TRUE(image.run("k", grid(2, 128), in.data(), out.data()).ok());
  EXPECT_EQ(out[0], 128 * 129 / 2);
  EXPECT_EQ(out[1], 128 * 129 / 2 + 128 * 128);
}

TEST_P(Lockstep, ExchangeWithoutBarrierOrVolatileIsRightWithinAWarp) {
  TestImage image = image_of(R"(
__global__ void transpose(const int* in, int* out) {
  __shared__ int tile[8 * 33];
  int t = threadIdx.x, column = t & 7;
  for (int i = 0; i < 8; ++i) tile[i * 33 + t] = in[i * 32 + t];
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += (i + 1) * tile[column * 33 + t - column + i];
  out[t] = sum;
}
__global__ void tail(const int* in, int* out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  if (t < 32) s[t] += s[t + 32];
  if (t < 16) s[t] += s[t + 16];
  out[t] = s[t];
})");
  EXPECT_NE(image.reason("transpose").find("exchanged between threads without a barrier at test.cu:7"),
            std::string::npos)
      << image.reason("transpose");
  std::vector<int> in(256), out(32);
  for (int i = 0; i < 256; ++i) in[i] = i * 37 % 101;
  ASSERT_TRUE(image.run("transpose", grid(1, 32), in.data(), out.data()).ok());
  for (int t = 0; t < 32; ++t) {
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += (i + 1) * in[t % 8 * 32 + t / 8 * 8 + i];
    ASSERT_EQ(out[t], sum) << t;
  }
}

TEST_P(Lockstep, HoldsInTemplatesThatReduceThroughAFunctionPointer) {
  TestImage image = image_of(R"(
typedef double (*Reducer)(double, double);
__device__ double add(double a, double b) { return a + b; }
__device__ double most(double a, double b) { return a > b ? a : b; }
template <int offset, Reducer reduce> struct Halves {
  static __device__ void run(double* values) {
    if (threadIdx.x < offset) {
      if (offset > 16) __syncthreads();
      values[threadIdx.x] = reduce(values[threadIdx.x], values[threadIdx.x + offset]);
      Halves<offset / 2, reduce>::run(values);
    }
  }
};
template <Reducer reduce> struct Halves<0, reduce> {
  static __device__ void run(double*) {}
};
template <Reducer reduce> __device__ void block(const double* in, double* out) {
  __shared__ double values[128];
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  Halves<64, reduce>::run(values);
  if (threadIdx.x == 0) *out = values[0];
}
__global__ void total(const double* in, double* out) { block<add>(in, out); }
__global__ void largest(const double* in, double* out) { block<most>(in, out); }
)");
  std::vector<double> in(128);
  for (int i = 0; i < 128; ++i) in[i] = i * 37 % 128;
  double total = 0, largest = 0;
  const LaunchOutcome outcome = image.run("total", grid(1, 128), in.data(), &total);
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(total, 127 * 128 / 2);
  ASSERT_TRUE(image.run("largest", grid(1, 128), in.data(), &largest).ok());
  EXPECT_EQ(largest, 127);
}

TEST(LockstepPoints, ReachesVolatileAccessesOfRecursiveFunctions) {
  TestImage image = build(R"(
__device__ int f(int n, volatile int* p) {
  volatile int l[64];
  l[n % 64] = *p;
  if (n > 40) return l[n % 64];
  return n + f(n + 1, p) + l[n % 64];
}
__device__ __noinline__ int g(volatile int* p) { return *p; }
__global__ void k(int* p, int* out) {
  int i = threadIdx.x;
  out[i] = f(i, p) + g(p);
  __syncwarp(0xffffffffu);
  out[i] += 1;
})");
  int three = 3;
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("1kP", grid(1, 32), &three, out.data()).ok());
  for (int i = 0; i < 32; ++i) {
    int want = 3 + 3 + 1;
    for (int n = i; n <= 40; ++n) want += n + 3;
    ASSERT_EQ(out[i], want) << i;
  }
}

TEST(LockstepPoints, IsNotForcedOnThreadsThatKeepToTheirOwnElements) {
  TestImage image = build(R"(
__global__ void own(const int* in, int* out, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) s[i * blockDim.x + t] = in[i];
  int sum = 0;
  for (int i = n - 1; i >= 0; --i) sum = sum * 3 + s[i * blockDim.x + t];
  s[t] = sum;
  out[t] = s[t];
}
__global__ void tile(const float* in, float* out) {
  __shared__ float a[16][17], b[16];
  int x = threadIdx.x, y = threadIdx.y;
  a[y][x] = in[y * 16 + x];
  if (y == 0) b[x] = in[x];
  __syncthreads();
  float v = a[x][y] + b[x];
  __syncthreads();
  a[y][x] = v;
  __syncthreads();
  out[y * 16 + x] = a[15 - y][x];
})");
  EXPECT_EQ(image.mode("own"), "loop") << image.reason("own");
  EXPECT_EQ(image.mode("tile"), "cut") << image.reason("tile");
}

TEST(Spinning, LockIsPassedBetweenThreadsAndBlocks) {
  TestImage image = build(R"(
__global__ void k(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)counter = *(volatile int*)counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
})");
  EXPECT_EQ(image.mode("k"), "fiber");
  int lock = 0, counter = 0;
  ASSERT_TRUE(image.run("k", grid(20, 64), &lock, &counter).ok());
  EXPECT_EQ(counter, 20 * 64);
}

TEST(Spinning, BlockMayWaitForALaterBlock) {
  TestImage image = build(R"(
__global__ void k(int* flags, int* out) {
  int next = blockIdx.x + 1;
  if (next < gridDim.x) while (__atomic_load_n(&flags[next], __ATOMIC_ACQUIRE) == 0) {}
  if (threadIdx.x == 0) {
    out[blockIdx.x] = next < gridDim.x ? out[next] + 1 : 1;
    __threadfence();
    __atomic_store_n(&flags[blockIdx.x], 1, __ATOMIC_RELEASE);
  }
})");
  std::vector<int> flags(50), out(50);
  ASSERT_TRUE(image.run("k", grid(50, 32), flags.data(), out.data()).ok());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], 50 - i);
}

TEST(Spinning, WithoutProgressEndsAsTimedOut) {
  TestImage image = build(R"(
__global__ void k(volatile int* flag) { while (*flag == 0) {} })");
  int flag = 0;
  LaunchOptions options;
  options.no_progress_timeout = std::chrono::milliseconds(100);
  EXPECT_EQ(image.run_with(options, "k", grid(3, 32), &flag).fault, LaunchFault::TimedOut);
}

TEST(Spinning, CompareAndSwapRetriesStayALoop) {
  TestImage image = build(R"(
__device__ void atomic_max_float(float* p, float v) {
  int old = __atomic_load_n((int*)p, __ATOMIC_RELAXED), assumed;
  do {
    assumed = old;
    float now = __builtin_bit_cast(float, assumed);
    float next = now < v ? v : now;
    old = atomicCAS((int*)p, assumed, __builtin_bit_cast(int, next));
  } while (old != assumed);
}
__global__ void k(float* p, const float* in) { atomic_max_float(p, in[blockIdx.x * blockDim.x + threadIdx.x]); })");
  EXPECT_EQ(image.mode("k"), "loop") << image.reason("k");
  std::vector<float> in(1024);
  for (int i = 0; i < 1024; ++i) in[i] = float(i * 37 % 1021);
  float out = -1;
  ASSERT_TRUE(image.run("k", grid(8, 128), &out, in.data()).ok());
  EXPECT_EQ(out, 1020.0f);
}

TEST(GridSync, SeparatesPhasesOfAllBlocks) {
  TestImage image = build(R"(
__global__ void k(int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  __kl_grid_sync();
  b[i] = a[n - 1 - i];
  __kl_grid_sync();
  a[i] = b[(i + 1) % n];
})");
  const int n = 40 * 64;
  std::vector<int> a(n), b(n);
  Geometry geometry = grid(40, 64);
  EXPECT_EQ(image.run("k", geometry, a.data(), b.data(), n).fault, LaunchFault::InvalidConfiguration);
  geometry.cooperative = true;
  ASSERT_TRUE(image.run("k", geometry, a.data(), b.data(), n).ok());
  for (int i = 0; i < n; ++i) ASSERT_EQ(a[i], n - 1 - (i + 1) % n);
}

}  // namespace
}  // namespace kernelift::cpu
