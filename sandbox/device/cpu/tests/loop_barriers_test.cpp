// Loops through which threads are led step by step: that it changes no result, and that it is left alone where threads
// take different numbers of steps. Each kernel runs beside itself on fibers, where every thread goes its own way.
#include <cmath>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

constexpr const char* kExp = "extern \"C\" __device__ float __nv_expf(float);\n";

/// Runs kernel k(in, out, n) on several shapes of block, as it is lowered and on fibers.
void expect_same(const std::string& text, const std::string& mode) {
  SCOPED_TRACE(text);
  TestImage image = build(kExp + text);
  LowerOptions fibers;
  fibers.force_fibers = true, fibers.host_level = 1;
  TestImage reference = build(kExp + text, fibers);
  EXPECT_EQ(image.mode("k"), mode) << image.reason("k");
  EXPECT_EQ(reference.mode("k"), "fiber");
  for (const Geometry& geometry :
       {grid(3, 64), grid(5, 33), grid(1, 1), Geometry{.grid = {2, 2, 1}, .block = {7, 5, 2}}}) {
    const int count = int(geometry.grid.count() * geometry.block.count()), n = count - 3 > 0 ? count - 3 : 1;
    std::vector<float> in(count + 64), got(count, -1.0f), want(count, -1.0f);
    for (size_t i = 0; i < in.size(); ++i) in[i] = std::sin(float(i)) * 3;
    ASSERT_TRUE(image.run("k", geometry, in.data(), got.data(), n).ok());
    ASSERT_TRUE(reference.run("k", geometry, in.data(), want.data(), n).ok());
    for (int i = 0; i < count; ++i)
      ASSERT_NEAR(got[i], want[i], 2e-5f * (1 + std::fabs(want[i]))) << i << " of " << count;
  }
}

/// The thread's place in the whole grid.
const std::string kIndex =
    "  int i = ((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.z + threadIdx.z) * blockDim.y * blockDim.x + "
    "threadIdx.y * blockDim.x + "
    "threadIdx.x;\n";
std::string kernel(const std::string& body) {
  return "__global__ void k(const float* in, float* out, int n) {\n" + kIndex + body + "}\n";
}

TEST(SharedSteps, LeadThroughANestWithAnEarlyEnd) {
  expect_same(kernel(R"(
  if (i >= n) return;
  float sum = 0, weight = 0;
  for (int a = -2; a <= 2; ++a)
    for (int b = -3; b <= 3; ++b) {
      int at = i + a * 4 + b;
      if (at < 0) at = -at;
      float w = __nv_expf(-in[at] * in[i]);
      weight += w, sum += w * in[at];
    }
  out[i] = sum / weight;
)"),
              "cut");
}

TEST(SharedSteps, AreWorthAPolynomialToo) {
  expect_same("extern \"C\" __device__ float __nv_fast_sinf(float);\n" + kernel(R"(
  if (i >= n) return;
  float sum = 0;
  for (int a = 0; a < n; ++a) sum += __nv_fast_sinf(in[i] * a);
  out[i] = sum;
)"),
              "cut");
  expect_same(kernel(R"(
  if (i >= n) return;
  float sum = 0;
  for (int a = 0; a < n; ++a) sum = __builtin_fmaf(__builtin_fmaf(sum, 0.25f, in[i]), in[a], 0.5f);
  out[i] = sum;
)"),
              "loop");
}

TEST(SharedSteps, TakeTheirNumberFromTheLaunch) {
  expect_same(kernel(R"(
  float sum = in[i];
  for (int a = 0; a < n + gridDim.x; ++a) sum += __nv_expf(-sum - a);
  for (int a = blockIdx.x; a < 9; ++a) sum -= __nv_expf(-sum * sum - a);
  out[i] = sum;
)"),
              "cut");
}

TEST(SharedSteps, MayConcernSomeThreadsOnly) {
  expect_same(kernel(R"(
  float sum = 0;
  if (in[i] > 0) for (int a = 0; a < n % 40; ++a) sum += __nv_expf(-in[a] - in[i]);
  else sum = 5;
  out[i] = sum;
)"),
              "cut");
}

TEST(SharedSteps, MayComeToAnEndEarlierForSomeThreads) {
  expect_same(kernel(R"(
  float sum = 0;
  for (int r = 0; r < 1 + i % 4; ++r)
    for (int a = 0; a < n; ++a) sum += __nv_expf(-sum - a);
  out[i] = sum;
)"),
              "cut");
}

TEST(SharedSteps, PartInsideOneStepAndMeetAgain) {
  expect_same(kernel(R"(
  float sum = 0;
  for (int a = 0; a < 17; ++a) {
    float x = in[i] + a;
    if (x > 8) out[i] = x; else x = x * 0.5f;
    sum += __nv_expf(-x);
  }
  out[i] = sum + 0 * out[i];
)"),
              "cut");
}

TEST(SharedSteps, AreNotForThreadsThatTakeDifferentNumbersOfThem) {
  expect_same(kernel(R"(
  float sum = 0;
  for (int a = 0; a < i % 11; ++a) sum += __nv_expf(-sum - a);
  out[i] = sum;
)"),
              "loop");
  expect_same(kernel(R"(
  float sum = 0;
  for (int a = 0; a < 30 && sum < in[i]; ++a) sum += __nv_expf(-sum - a);
  out[i] = sum;
)"),
              "loop");
}

TEST(SharedSteps, AreNotForThreadsThatComeBackAtDifferentTimes) {
  expect_same(kernel(R"(
  float sum = 0;
  for (int r = 0; r < n % 7; ++r)
    if ((i + r) % 3) for (int a = 0; a < n; ++a) sum += __nv_expf(-sum - a);
  out[i] = sum;
)"),
              "loop");
  expect_same(kernel(R"(
  float sum = 0;
  for (int r = 0; r < 1 + i % 4; ++r) {
    for (int a = 0; a < n; ++a) sum += __nv_expf(-sum - a);
    if (in[i] > 2) {
      for (int a = 0; a < n; ++a) sum -= __nv_expf(-sum * sum - a);
      sum += in[r];
    }
  }
  for (int a = 0; a < i % 5; ++a) sum += in[a];
  out[i] = sum;
)"),
              "cut");  // The first inner loop alone.
  // The first loop's end is different for each thread: the second's beginning is.
  expect_same(kernel(R"(
  float sum = 0;
  int a = 0;
  while (sum < in[i] && a < 9) sum += 0.5f, ++a;
  for (; a < 12; ++a) sum += __nv_expf(-sum - a);
  out[i] = sum;
)"),
              "loop");
}

}  // namespace
}  // namespace kernelift::cpu
