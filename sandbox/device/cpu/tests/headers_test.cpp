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
