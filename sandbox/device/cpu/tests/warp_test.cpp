// Warp operations, lockstep, spinning and waiting across blocks: everything that needs fibers.
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

TEST(Warp, ShufflesUpDownXorAndIndexedFollowPtx) {
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

TEST(Warp, ShufflesInDivergentHalvesMeetByTheirMask) {
  TestImage image = build(R"(
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

TEST(Warp, VotesMatchesAndReductions) {
  TestImage image = build(R"(
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

TEST(Warp, OperationsDoNotWaitForLanesThatEnded) {
  TestImage image = build(R"(
__global__ void k(int* out, int n) {
  if (threadIdx.x >= n) return;
  int v = __ballot_sync(~0u, 1);
  out[threadIdx.x] = v;
})");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data(), 10).ok());
  for (int t = 0; t < 10; ++t) EXPECT_EQ(out[t], 0x3ff);
}

TEST(Warp, ActiveMaskHoldsTheLanesThatCameTogether) {
  TestImage image = build(R"(
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

TEST(Warp, OperationThatNamedLanesNeverReachIsAFault) {
  TestImage image = build(R"(
__global__ void k(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(~0u, 1, 0);
  __syncthreads();
})");
  std::vector<int> out(32);
  const LaunchOutcome outcome = image.run("k", grid(1, 32), out.data());
  EXPECT_EQ(outcome.fault, LaunchFault::DivergentBarrier);
  EXPECT_NE(outcome.detail.find("16 in a warp operation"), std::string::npos) << outcome.detail;
}

TEST(Lockstep, OldWarpSynchronousReductionThroughVolatileSharedMemoryIsRight) {
  TestImage image = build(R"(
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
  EXPECT_EQ(image.mode("k"), "fiber");
  EXPECT_NE(image.reason("k").find("volatile shared memory at test.cu:"), std::string::npos) << image.reason("k");
  std::vector<int> in(256), out(2);
  std::iota(in.begin(), in.end(), 1);
  ASSERT_TRUE(image.run("k", grid(2, 128), in.data(), out.data()).ok());
  EXPECT_EQ(out[0], 128 * 129 / 2);
  EXPECT_EQ(out[1], 128 * 129 / 2 + 128 * 128);
}

TEST(Lockstep, ExchangeWithoutBarrierOrVolatileIsRightWithinAWarp) {
  TestImage image = build(R"(
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
  EXPECT_EQ(image.mode("transpose"), "fiber");
  EXPECT_NE(image.reason("transpose").find("exchanged between threads without a barrier at test.cu:7"),
            std::string::npos)
      << image.reason("transpose");
  EXPECT_EQ(image.mode("tail"), "fiber");
  std::vector<int> in(256), out(32);
  for (int i = 0; i < 256; ++i) in[i] = i * 37 % 101;
  ASSERT_TRUE(image.run("transpose", grid(1, 32), in.data(), out.data()).ok());
  for (int t = 0; t < 32; ++t) {
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += (i + 1) * in[t % 8 * 32 + t / 8 * 8 + i];
    ASSERT_EQ(out[t], sum) << t;
  }
}

TEST(Lockstep, HoldsInTemplatesThatReduceThroughAFunctionPointer) {
  TestImage image = build(R"(
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

TEST(Lockstep, ReachesVolatileAccessesOfRecursiveFunctions) {
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

TEST(Lockstep, IsNotForcedOnThreadsThatKeepToTheirOwnElements) {
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
