// The project's own CUDA headers on the CPU device: what they spell must arrive as something this device runs.
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

TEST(Headers, CooperativeGroupsReduceATileAndABlock) {
  TestImage image = build_with_headers(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = in[block.thread_rank()];
  for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  __shared__ int sums[8];
  if (tile.thread_rank() == 0) sums[block.thread_rank() / 8] = v;
  block.sync();
  out[block.thread_rank()] = sums[block.thread_rank() / 8];
}
__global__ void all(int* a, int* b, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  a[i] = i;
  grid.sync();
  b[i] = a[n - 1 - i];
})");
  std::vector<int> in(64), out(64);
  std::iota(in.begin(), in.end(), 0);
  ASSERT_TRUE(image.run("1k", grid(1, 64), in.data(), out.data()).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], 28 + 64 * (i / 8));
  Geometry geometry = grid(4, 64);
  geometry.cooperative = true;
  std::vector<int> a(256), b(256);
  const LaunchOutcome outcome = image.run("3all", geometry, a.data(), b.data(), 256);
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  for (int i = 0; i < 256; ++i) ASSERT_EQ(b[i], 255 - i);
}

TEST(Headers, AveragesOfSignedLanesRoundAwayFromZero) {
  TestImage image = build_with_headers("__global__ void k(const unsigned* a, const unsigned* b, unsigned* out) {"
                                       "  int i = threadIdx.x; out[2 * i] = __vavgs2(a[i], b[i]); out[2 * i + 1] = __vavgs4(a[i], b[i]); }");
  std::vector<unsigned> a(4096), b(4096), out(8192);
  for (unsigned i = 0; i < 4096; ++i) a[i] = i * 2654435761u, b[i] = (i ^ 0x5a5) * 40503u * 65537u;
  a[0] = 0xffffffff, b[0] = 0;
  for (unsigned i = 0; i < 4096; i += 1024) ASSERT_TRUE(image.run("1k", grid(1, 1024), a.data() + i, b.data() + i, out.data() + 2 * i).ok());
  const auto average = [](auto x, auto y) {
    const int sum = x + y;
    return (sum + (sum > 0) - (sum < 0)) / 2;
  };
  for (unsigned i = 0; i < 4096; ++i) {
    unsigned halves = 0, bytes = 0;
    for (int lane = 0; lane < 32; lane += 16) halves |= unsigned(uint16_t(average(int16_t(a[i] >> lane), int16_t(b[i] >> lane)))) << lane;
    for (int lane = 0; lane < 32; lane += 8) bytes |= unsigned(uint8_t(average(int8_t(a[i] >> lane), int8_t(b[i] >> lane)))) << lane;
    ASSERT_EQ(out[2 * i], halves) << a[i] << ' ' << b[i];
    ASSERT_EQ(out[2 * i + 1], bytes) << a[i] << ' ' << b[i];
  }
}

TEST(Headers, NvccsAtomicBuiltins) {
  TestImage image = build_with_headers(R"(
__global__ void k(int* counts, unsigned* bits, long long* extremes, float* sum, int* lock, int* guarded) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __nv_atomic_fetch_add(&counts[0], 1, __NV_ATOMIC_RELAXED);
  __nv_atomic_fetch_sub(&counts[1], 2, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_or(&bits[0], 1u << (i & 31), __NV_ATOMIC_RELAXED);
  __nv_atomic_fetch_xor(&bits[1], 1u << (i & 31), __NV_ATOMIC_ACQ_REL);
  __nv_atomic_and(&bits[2], ~(1u << (i & 7)), __NV_ATOMIC_RELAXED);
  __nv_atomic_fetch_max(&extremes[0], i * 1000000000ll, __NV_ATOMIC_RELAXED);
  __nv_atomic_fetch_min(&extremes[1], -i * 1000000000ll, __NV_ATOMIC_RELAXED);
  __nv_atomic_add(sum, 0.5f, __NV_ATOMIC_RELAXED);
  // The compare-and-swap loop that every hand-made atomic is, and a lock between two fences.
  int seen = __nv_atomic_load_n(&counts[2], __NV_ATOMIC_RELAXED);
  while (!__nv_atomic_compare_exchange_n(&counts[2], &seen, seen + i, true, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED)) {
  }
  if (threadIdx.x == 0) {
    while (__nv_atomic_exchange_n(lock, 1, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE)) {
    }
    *guarded = *guarded + 1;
    __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_store_n(lock, 0, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  }
})");
  constexpr int kThreads = 16 * 64;
  std::vector<int> counts{5, 0, 0};
  std::vector<unsigned> bits{0, 0, ~0u};
  std::vector<long long> extremes{-1, 1};
  float sum = 0;
  int lock = 0, guarded = 0;
  const LaunchOutcome outcome = image.run("1k", grid(16, 64), counts.data(), bits.data(), extremes.data(), &sum, &lock, &guarded);
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(counts, (std::vector<int>{5 + kThreads, -2 * kThreads, kThreads * (kThreads - 1) / 2}));
  EXPECT_EQ(bits, (std::vector<unsigned>{~0u, 0, ~0xffu}));
  EXPECT_EQ(extremes, (std::vector<long long>{(kThreads - 1) * 1000000000ll, -(kThreads - 1) * 1000000000ll}));
  EXPECT_EQ(sum, kThreads * 0.5f);
  EXPECT_EQ(guarded, 16);
}

TEST(Headers, AtomicsVectorsMathAndHalf) {
  TestImage image = build_with_headers(R"(
#include <cuda_fp16.h>
__global__ void k(double* sum, float* lowest, const float4* in, float* out, __half* halves) {
  int i = threadIdx.x;
  float4 v = __ldg(&in[i]);
  atomicAdd(sum, (double)v.x);
  out[i] = fmaxf(v.y, 2.0f) + sqrtf(v.z) + __expf(0.0f) + rsqrtf(4.0f) + __fdividef(v.w, 2.0f) + max(i, 3) + __popc(i);
  halves[i] = __hadd(__float2half(v.x), __float2half(0.5f));
})");
  struct alignas(16) Float4 {
    float x, y, z, w;
  };
  std::vector<Float4> in(32);
  for (int i = 0; i < 32; ++i) in[i] = {float(i), float(i), float(i * i), 4};
  double sum = 0;
  float lowest = 0;
  std::vector<float> out(32);
  std::vector<_Float16> halves(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), &sum, &lowest, in.data(), out.data(), halves.data()).ok());
  EXPECT_EQ(sum, 496.0);
  for (int i = 0; i < 32; ++i) {
    ASSERT_FLOAT_EQ(out[i],
                    std::max(float(i), 2.0f) + i + 1 + 0.5f + 2 + std::max(i, 3) + __builtin_popcount(unsigned(i)));
    ASSERT_EQ(float(halves[i]), i + 0.5f);
  }
}

TEST(Headers, SyncFormsShufflesAndVotes) {
  TestImage image = build_with_headers(R"(
__global__ void k(double* out) {
  int t = threadIdx.x;
  double v = t * 0.5;
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  out[t] = v + __syncthreads_count(t < 5) * 1000 + __any_sync(__activemask(), t == 3) * 10000.0;
  __syncwarp();
})");
  std::vector<double> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int i = 0; i < 32; ++i) ASSERT_EQ(out[i], 248.0 + 5000 + 10000);
}

}  // namespace
}  // namespace kernelift::cpu
