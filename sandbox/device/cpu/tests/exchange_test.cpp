// Values that lanes of a warp hand each other through shared memory with no barrier: found however they are written,
// and not where there are none.
#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

class Exchange : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Modes, Exchange, testing::Bool(),
                         [](const auto& info) { return info.param ? "OnFibers" : "Cut"; });

TEST_P(Exchange, AtRunTimeDistancesBeforeStoresAndThroughSwappedPointersIsRightWithinAWarp) {
  LowerOptions options;
  options.force_fibers = GetParam();
  const TestImage image = build(R"(
__global__ void scan(int n, int* out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = 1;
  for (int d = 1; d < n; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    s[t] += v;
  }
  out[t] = s[t];
}
__global__ void shift(int n, int* out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t + 1;
  __syncthreads();
  int v = t > 0 ? s[t - 1] : 0;
  s[t] += v;
  __syncthreads();
  out[t] = s[t];
}
__global__ void swapped(int n, int* out) {
  __shared__ int a[32], b[32];
  int t = threadIdx.x, *p = a, *q = b;
  p[t] = t + 1;
  for (int d = 1; d < n; d *= 2) {
    q[t] = p[t] + (t >= d ? p[t - d] : 0);
    int* other = p;
    p = q, q = other;
  }
  out[t] = p[t];
}
__global__ void unguarded(int n, int* out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t, s[t + 32] = 0;
  for (int d = n / 2; d > 0; d >>= 1) s[t] += s[t + d];
  out[t] = s[0];
}
__device__ __noinline__ void put(int* to, int t) { to[t] = t; }
__device__ __noinline__ void put_and_more(int* to, int t) { put(to, t); }
__global__ void called(int n, int* out) {
  __shared__ int s[32];
  put_and_more(s, threadIdx.x);
  out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
struct Tile {
  int* data;
  __device__ __noinline__ void put(int i, int v) const { data[i] = v; }
  __device__ __noinline__ int get(int i) const { return data[i]; }
  __device__ __noinline__ int mirrored(int n, int i) const { return get(n - 1 - i); }
};
__global__ void held(int n, int* out) {
  __shared__ int s[32];
  const Tile tile{s};
  tile.put(threadIdx.x, threadIdx.x);
  out[threadIdx.x] = tile.get(n - 1 - threadIdx.x);
}
struct View { const Tile* tile; int n; };
__device__ __noinline__ int seen(View view, int i) { return view.tile->mirrored(view.n, i); }
__global__ void referred(int n, int* out) {
  __shared__ int s[32];
  const Tile tile{s};
  tile.put(threadIdx.x, threadIdx.x);
  out[threadIdx.x] = seen(View{&tile, n}, threadIdx.x);
}
__global__ void global(int n, volatile int* out) {
  int t = threadIdx.x;
  out[t] = t;
  for (int d = 1; d < n; d *= 2) out[t] += t >= d ? out[t - d] : 0;
}
__global__ void collected(int n, int* out) {
  int t = threadIdx.x;
  for (int i = t; i < n; i += 32) out[i] = i;
  if (t == 0)
    for (int i = 1; i < n; ++i) out[i] += out[i - 1];
})",
                                options);
  const std::pair<const char*, int (*)(int)> kAnswers[] = {{"unguarded", [](int) { return 31 * 32 / 2; }},
                                                           {"called", [](int t) { return 31 - t; }},
                                                           {"held", [](int t) { return 31 - t; }},
                                                           {"referred", [](int t) { return 31 - t; }},
                                                           {"global", [](int t) { return t * (t + 1) / 2; }},
                                                           {"collected", [](int t) { return t * (t + 1) / 2; }},
                                                           {"scan", [](int t) { return t + 1; }},
                                                           {"shift", [](int t) { return 2 * t + 1; }},
                                                           {"swapped", [](int t) { return (t + 1) * (t + 2) / 2; }}};
  std::vector<int> out(32);
  for (const auto& [kernel, answer] : kAnswers) {
    ASSERT_TRUE(image.run(kernel, grid(1, 32), 32, out.data()).ok());
    for (int t = 0; t < 32; ++t) ASSERT_EQ(out[t], answer(t)) << kernel << " " << t;
  }
}

TEST(NoExchange, IsSeenInWhatThreadsKeepInMemoryThatTheyWereGiven) {
  const TestImage image = build(R"(
__global__ void parts(int* p, int n, const int* q) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 1; i < n; ++i) p[i * 64 + t] = p[(i - 1) * 64 + t] + q[i];
  for (int i = 1; i < n; ++i) p[t * n + i] += p[t * n + i - 1];
})");
  EXPECT_EQ(image.mode("parts"), "loop") << image.reason("parts");
}

TEST(NoExchange, IsSeenInTreeReductionsWithBarriers) {
  const TestImage image = build(R"(
__global__ void guarded(int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t < 128) s[t] += s[t + 128];
  __syncthreads();
  if (t < 16) s[t] += s[t + 16];
  __syncthreads();
  if (t < 8) s[t] += s[t + 8];
  __syncthreads();
  for (int d = blockDim.x / 64; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  out[t] = s[0];
})");
  EXPECT_EQ(image.reason("guarded").find("barrier at "), 0u) << image.reason("guarded");
}

/// A block's sum, handed to all by one element that the next sum's parts overwrite: no barrier keeps them from it.
TEST_P(Exchange, OfABlocksSumThatTheNextOneOverwritesComesOutAsOnAGpu) {
  LowerOptions options;
  options.force_fibers = GetParam();
  const TestImage image = build(R"(
__device__ int warp_sum(int value) {
  for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(~0u, value, d);
  return value;
}
// One warp adds up what the warps have left, and leaves the sum where its own part was.
__device__ int through_one(int value, int* s) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) s[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = warp_sum(lane < blockDim.x / 32 ? s[lane] : 0);
    if (lane == 0) s[0] = value;
  }
  __syncthreads();
  return s[0];
}
// Every warp adds up the parts for itself.
__device__ int through_all(int value, int* s) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) s[warp] = value;
  __syncthreads();
  value = warp_sum(lane < blockDim.x / 32 ? s[lane] : 0);
  return __shfl_sync(~0u, value, 0);
}
// A tree, with no shuffles.
__device__ int through_tree(int value, int* s) {
  s[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  return s[0];
}
#define TWICE(sum)                                              \
  __global__ void sum##_twice(int* out) {                       \
    __shared__ int s[256];                                      \
    int t = blockIdx.x * blockDim.x + threadIdx.x;              \
    for (int round = 1; round < 4; ++round) {                   \
      int all = sum(round, s), more = sum(threadIdx.x + all, s); \
      out[t] += all * 100000 + more;                            \
    }                                                           \
  }
TWICE(through_one)
TWICE(through_all)
TWICE(through_tree))",
                                options);
  for (const char* kernel : {"through_one_twice", "through_all_twice", "through_tree_twice"}) {
    std::vector<int> out(2 * 256);
    ASSERT_TRUE(image.run(kernel, grid(2, 256), out.data()).ok()) << kernel;
    int expected = 0;
    for (int round = 1; round < 4; ++round) expected += 256 * round * 100000 + 255 * 128 + 256 * 256 * round;
    for (int t = 0; t < 512; ++t) ASSERT_EQ(out[t], expected) << kernel << " " << t << " " << image.mode(kernel);
  }
}

}  // namespace
}  // namespace kernelift::cpu
