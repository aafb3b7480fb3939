// What lowered kernels compute and how they run: one test per claim.
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

TEST(Loop, RunsABarrierFreeKernelAsALoopOverThreads) {
  TestImage image = build(R"(
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})");
  EXPECT_EQ(image.mode("saxpy"), "loop");
  std::vector<float> x(1000), y(1000, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  ASSERT_TRUE(image.run("saxpy", grid(4, 256), 1000, 2.0f, x.data(), y.data()).ok());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 2.0f * i + 1) << i;
}

TEST(Cut, CarriesValuesAcrossABarrier) {
  TestImage image = build(R"(
__global__ void reverse(int* data) {
  __shared__ int tile[64];
  int mine = data[threadIdx.x] * 3;
  tile[threadIdx.x] = mine;
  __syncthreads();
  data[threadIdx.x] = tile[63 - threadIdx.x] + mine;
})");
  EXPECT_EQ(image.mode("reverse"), "cut");
  std::vector<int> data(64);
  std::iota(data.begin(), data.end(), 0);
  ASSERT_TRUE(image.run("reverse", grid(1, 64), data.data()).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(data[i], 3 * 63) << i;
}

TEST(Fiber, ShufflesWithinAWarp) {
  TestImage image = build(R"(
__global__ void sum(int* out) {
  int v = threadIdx.x;
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;
})");
  EXPECT_EQ(image.mode("sum"), "fiber");
  std::vector<int> out(2);
  ASSERT_TRUE(image.run("sum", grid(1, 64), out.data()).ok());
  EXPECT_EQ(out[0], 31 * 32 / 2);
  EXPECT_EQ(out[1], 31 * 32 / 2 + 32 * 32);
}

}  // namespace
}  // namespace kernelift::cpu
