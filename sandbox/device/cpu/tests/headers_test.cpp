// The project's own CUDA headers on the CPU device: what they spell must arrive as something this device runs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

// What the headers' host side converts with.
#define __host__
#define __device__
#include "core/compiler/headers/kernelift/half/bits.h"
#undef __host__
#undef __device__

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
  TestImage image = build_with_headers(
      "__global__ void k(const unsigned* a, const unsigned* b, unsigned* out) {"
      "  int i = threadIdx.x; out[2 * i] = __vavgs2(a[i], b[i]); out[2 * i + 1] = __vavgs4(a[i], b[i]); }");
  std::vector<unsigned> a(4096), b(4096), out(8192);
  for (unsigned i = 0; i < 4096; ++i) a[i] = i * 2654435761u, b[i] = (i ^ 0x5a5) * 40503u * 65537u;
  a[0] = 0xffffffff, b[0] = 0;
  for (unsigned i = 0; i < 4096; i += 1024)
    ASSERT_TRUE(image.run("1k", grid(1, 1024), a.data() + i, b.data() + i, out.data() + 2 * i).ok());
  const auto average = [](auto x, auto y) {
    const int sum = x + y;
    return (sum + (sum > 0) - (sum < 0)) / 2;
  };
  for (unsigned i = 0; i < 4096; ++i) {
    unsigned halves = 0, bytes = 0;
    for (int lane = 0; lane < 32; lane += 16)
      halves |= unsigned(uint16_t(average(int16_t(a[i] >> lane), int16_t(b[i] >> lane)))) << lane;
    for (int lane = 0; lane < 32; lane += 8)
      bytes |= unsigned(uint8_t(average(int8_t(a[i] >> lane), int8_t(b[i] >> lane)))) << lane;
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
  const LaunchOutcome outcome =
      image.run("1k", grid(16, 64), counts.data(), bits.data(), extremes.data(), &sum, &lock, &guarded);
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

/// Hosts call a library for these, which has nothing of bfloat16.
TEST(Headers, FunctionsOfBrainFloatsRun) {
  TestImage image = build_with_headers(R"(
#include <cuda_bf16.h>
__global__ void all(const float* in, float* out) {
  __nv_bfloat16 x = __float2bfloat16(in[threadIdx.x]), y[] = {hfloor(x), hceil(x), htrunc(x), hrint(x), __habs(x), __hneg(x), __hmax(x, __habs(x)), __hmin(__hneg(x), x)};
  for (int i = 0; i < 8; ++i) out[8 * threadIdx.x + i] = __bfloat162float(y[i]);
  out[16 + threadIdx.x] = __bfloat162float(hexp(x));
})");
  const std::vector<float> in = {-1.25f, 2.5f};
  std::vector<float> out(18);
  ASSERT_TRUE(image.run("all", grid(1, 2), in.data(), out.data()).ok());
  out[16] = std::round(1000 * out[16]), out[17] = std::round(out[17]);
  EXPECT_EQ(out, (std::vector<float>{-2, -1, -1, -1, 1.25f, 1.25f, 1.25f, -1.25f,  //
                                     2, 3, 2, 2, 2.5f, -2.5f, 2.5f, -2.5f, 287, 12}));
}

/// On both sides: integers out of range saturate, a double is rounded once, and the _rn operations are never fused.
TEST(Headers, HalfPrecisionConvertsAsCudaDoes) {
  TestImage image = build_with_headers(R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void integers(const float* in, int* out, long long* wide) {
  int i = threadIdx.x;
  __half h = __float2half(in[i]);
  __nv_bfloat16 b = __float2bfloat16(in[i]);
  int* o = out + 8 * i;
  o[0] = __half2short_rz(h); o[1] = __half2short_rn(h); o[2] = (short)h; o[3] = __half2ushort_ru(h);
  o[4] = __bfloat162short_rz(b); o[5] = __bfloat162short_rn(b); o[6] = __bfloat162ushort_rd(b); o[7] = __half2int_rd(h);
  wide[i] = __half2ll_rz(h);
}
__global__ void doubles(const double* in, __half* halves, __nv_bfloat16* brains) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  halves[2 * i] = __double2half(in[i]); halves[2 * i + 1] = __half(in[i]);
  brains[i] = __double2bfloat16(in[i]);
}
__global__ void from_integers(const long long* in, __nv_bfloat16* out) {
  out[0] = __int2bfloat16_rn((int)in[0]); out[1] = __uint2bfloat16_rn((unsigned)in[0]); out[2] = __ll2bfloat16_rn(in[1]);
  out[3] = __ll2bfloat16_rn(in[2]); out[4] = __nv_bfloat16((unsigned long long)in[2]); out[5] = __ll2bfloat16_rn(-3);
}
__global__ void separate(const float* in, float* out) {
  int i = threadIdx.x;
  __half a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  out[i] = __hadd_rn(__hmul_rn(a, b), c);
})");
  const std::vector<float> values = {60000, -60000, 2.5f, -2.5f, NAN};
  std::vector<int> integers(8 * 5);
  std::vector<long long> wide(5);
  ASSERT_TRUE(image.run("integers", grid(1, 5), values.data(), integers.data(), wide.data()).ok());
  EXPECT_EQ(integers, (std::vector<int>{32767,  32767,  32767,  60000, 32767,  32767,  59904, 60000,   //
                                        -32768, -32768, -32768, 0,     -32768, -32768, 0,     -60000,  //
                                        2,      2,      2,      3,     2,      2,      2,     2,       //
                                        -2,     -2,     -2,     0,     -2,     -2,     0,     -3,      //
                                        0,      0,      0,      0,     0,      0,      0,     0}));
  EXPECT_EQ(wide, (std::vector<long long>{60000, -60000, 2, -2, std::numeric_limits<long long>::min()}));
  EXPECT_EQ(kernelift_saturated<short>(60000), 32767);
  EXPECT_EQ(kernelift_saturated<unsigned short>(-3), 0);
  EXPECT_EQ(kernelift_saturated<int>(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(kernelift_saturated<long long>(NAN), std::numeric_limits<long long>::min());

  // A hair beside the middle of two neighbours, where going through float would end in the middle.
  const std::vector<double> exact = {1.00048828125 + 1e-12,
                                     1.00048828125 - 1e-12,
                                     -1.00048828125 - 1e-12,
                                     65519.999999,
                                     1e300,
                                     0x1.8p-25,
                                     1.00390625 + 1e-12,
                                     1.00390625 - 1e-12,
                                     -1.00390625 - 1e-12,
                                     0x1.01p-130 + 0x1p-160,
                                     0x1p-24 - 0x1p-60,
                                     0x1.000001p-25,
                                     -0.0,
                                     INFINITY,
                                     0x1.fffffep127 + 0x1p100,
                                     0.1};
  std::vector<uint16_t> halves(32), brains(16);
  for (uint32_t threads : {1u, 16u}) {
    ASSERT_TRUE(image.run("doubles", grid(16 / threads, threads), exact.data(), halves.data(), brains.data()).ok());
    for (int i = 0; i < 16; ++i) {
      const float odd = kernelift_double_to_odd_float(exact[i]);
      EXPECT_EQ(halves[2 * i], halves[2 * i + 1]) << exact[i];
      EXPECT_EQ(halves[2 * i], kernelift_float_to_half_bits(odd)) << exact[i];
      EXPECT_EQ(brains[i], kernelift_float_to_bf16_bits(odd)) << exact[i];
    }
    EXPECT_EQ(halves[0], 0x3c01u);
    EXPECT_EQ(halves[2], 0x3c00u);
    EXPECT_EQ(halves[4], 0xbc01u);
    EXPECT_EQ(halves[6], 0x7bffu);
    EXPECT_EQ(halves[8], 0x7c00u);
    EXPECT_EQ(halves[10], 1u);
    EXPECT_EQ(brains[6], 0x3f81u);
    EXPECT_EQ(brains[7], 0x3f80u);
    EXPECT_EQ(brains[8], 0xbf81u);
    EXPECT_EQ(brains[12], 0x8000u);
  }

  const std::vector<long long> whole = {(1 << 24) + (1 << 16) + 1, (1ll << 40) + (1ll << 32) + 1,
                                        -(1ll << 62) - (1ll << 54) - 1};
  const std::vector<uint16_t> rounded = {0x4b81, 0x4b81, 0x5381, 0xde81, 0x5f40, 0xc040};
  ASSERT_TRUE(image.run("from_integers", grid(1, 1), whole.data(), brains.data()).ok());
  EXPECT_EQ(std::vector<uint16_t>(brains.begin(), brains.begin() + 6), rounded);
  const auto on_host = [](auto v) {
    return kernelift_float_to_bf16_bits(kernelift_double_to_odd_float(kernelift_integer_to_odd_double(v)));
  };
  EXPECT_EQ(on_host(int(whole[0])), rounded[0]);
  EXPECT_EQ(on_host(whole[1]), rounded[2]);
  EXPECT_EQ(on_host(whole[2]), rounded[3]);
  EXPECT_EQ(on_host((unsigned long long)whole[2]), rounded[4]);

  std::vector<float> terms, out(32);
  for (int i = 0; i < 32; ++i)
    terms.insert(terms.end(), {1.0009765625f, 1.0009765625f, -1.001953125f});  // Fused: 2^-20.
  ASSERT_TRUE(image.run("separate", grid(1, 32), terms.data(), out.data()).ok());
  EXPECT_EQ(out, std::vector<float>(32, 0));
}

/// Hosts without bfloat16's instructions have nothing else that rounds to it.
TEST(Headers, BfloatArithmeticNeedsNothingOfTheHost) {
  LowerOptions options;
  options.cpu = "x86-64-v3";
  TestImage image = build(R"(
__global__ void k(const float* in, float* out) {
  __bf16 a = (__bf16)in[0], b = (__bf16)in[1], c = (__bf16)in[2];
  out[0] = a + b; out[1] = a * b - c; out[2] = a / b; out[3] = __builtin_elementwise_fma(a, a, c); out[4] = (__bf16)(int)in[0];
})",
                          options);
  const std::vector<float> in = {1.0078125f, 0x1p-8f, 0x1p-130f};
  std::vector<float> out(5);
  ASSERT_TRUE(image.run("k", grid(1, 1), in.data(), out.data()).ok());
  EXPECT_EQ(out, (std::vector<float>{1.015625f, 1.0078125f * 0x1p-8f, 258, 1.015625f, 1}));
}

TEST(Headers, FunnelShiftsWrapOrClampAndAddressesTellTheirSpace) {
  TestImage image = build_with_headers(R"(
__constant__ int table[4] = {1, 2, 3, 4};
__global__ void k(const unsigned* amounts, unsigned* out, unsigned* spaces) {
  __shared__ int box[4];
  unsigned n = amounts[threadIdx.x], low = 0x55667788, high = 0x11223344, *o = out + 4 * threadIdx.x;
  o[0] = __funnelshift_l(low, high, n); o[1] = __funnelshift_r(low, high, n);
  o[2] = __funnelshift_lc(low, high, n); o[3] = __funnelshift_rc(low, high, n);
  const void* places[] = {out, &table[3], &box[2]};
  for (int i = 0; i < 3; ++i) spaces[i] = __isGlobal(places[i]) | __isConstant(places[i]) << 1 | __isShared(places[i]) << 2;
})");
  const std::vector<unsigned> amounts = {0, 8, 31, 32, 40};
  std::vector<unsigned> out(20), spaces(3);
  ASSERT_TRUE(image.run("k", grid(1, 5), amounts.data(), out.data(), spaces.data()).ok());
  EXPECT_EQ(spaces, (std::vector<unsigned>{1, 2, 4}));
  const uint64_t whole = 0x1122334455667788;
  for (size_t i = 0; i < amounts.size(); ++i) {
    const unsigned wrapped = amounts[i] % 32, clamped = std::min(amounts[i], 32u);
    EXPECT_EQ(out[4 * i], unsigned(whole << wrapped >> 32)) << amounts[i];
    EXPECT_EQ(out[4 * i + 1], unsigned(whole >> wrapped)) << amounts[i];
    EXPECT_EQ(out[4 * i + 2], unsigned(whole << clamped >> 32)) << amounts[i];
    EXPECT_EQ(out[4 * i + 3], unsigned(whole >> clamped)) << amounts[i];
  }
  // Nothing here knows a thread's own memory by its address.
  auto local = lower_text("__global__ void k(int* p) { *p = __nvvm_isspacep_local(p); }");
  ASSERT_FALSE(local.ok());
  EXPECT_NE(local.error().message.find("isspacep.local"), std::string::npos) << local.error().message;
}

TEST(Headers, BuiltinVariablesCanBeCopiedAndGivenWhole) {
  TestImage image = build_with_headers(R"(
__device__ unsigned flat(uint3 thread, dim3 block) { return thread.y * block.x + thread.x; }
__global__ void k(unsigned* out) {
  const uint3 id = threadIdx;
  const dim3 size = blockDim, blocks(gridDim);
  out[blockIdx.x * size.x * size.y + id.y * size.x + id.x] = flat(threadIdx, blockDim) + 100 * uint3(blockIdx).x + 1000 * blocks.x;
})");
  std::vector<unsigned> out(64);
  Geometry two = grid(2, 8);
  two.block.y = 4;
  ASSERT_TRUE(image.run("k", two, out.data()).ok());
  for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], i % 32 + i / 32 * 100 + 2000);
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
