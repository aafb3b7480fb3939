// One text under two launches: whether each thread computes the same, and which threads there are.
#include <gtest/gtest.h>

#include "core/legality/tests/compared.h"

namespace kernelift::legality {
namespace {

TEST(CompareValuesOfLaunches, APointwiseKernelIsProven) {
  EXPECT_EQ(values(kGuarded, 128, 256).kind, Kind::Proven);
  EXPECT_EQ(
      values(kernel("if (i < n) { float s = 0; for (int j = 0; j < i % 7; ++j) s += x[i / 3 + j] * i; out[i] = s; }"),
             128, 32)
          .kind,
      Kind::Proven);
}

TEST(CompareValuesOfLaunches, AStoredPlaceInTheBlockIsRefutedWithAThread) {
  const std::string text =
      "__global__ void k(const float* x, int* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
      " if (i < n) out[i] = threadIdx.x; }";
  auto answer = values(text, 128, 256);
  EXPECT_EQ(answer.kind, Kind::Refuted);
  EXPECT_EQ(answer.why, "n = 1000: thread 128 of the grid stores 128 in line 1, in the original 0");
}

TEST(CompareValuesOfLaunches, APlaceInTheBlockThatIsConvertedOrComparedIsNotKnown) {
  EXPECT_EQ(values(kernel("if (i < n) out[i] = threadIdx.x * 0.5f;"), 128, 256).kind, Kind::NotKnown);
  EXPECT_EQ(values(kernel("if (i < n) out[i] = threadIdx.x > 3 ? x[i] : 0;"), 128, 256).kind, Kind::NotKnown);
  EXPECT_EQ(values(kernel("if (i < n) out[i] = x[i] * blockDim.x;"), 128, 256).kind, Kind::NotKnown);
}

TEST(CompareValuesOfLaunches, ATermOfAThreadsPlaceInTheBlockIsNoTermOfItsNumber) {
  for (auto* term : {"(threadIdx.x ^ 1)", "(blockIdx.x ^ 5)", "(threadIdx.x | 64)", "(threadIdx.x % 32 ^ 3)",
                     "((threadIdx.x ^ n) > 5 ? 1 : 2)", "((i ^ 3) ^ (threadIdx.x ^ 3))"}) {
    const std::string text = kernel(std::string("if (i < n) out[i] = x[i] + ") + term + ";");
    EXPECT_NE(values(text, 32, 64).kind, Kind::Proven) << term;
    EXPECT_FALSE(under_launches(compare_launches, text, 32, 64).same_values) << term;
  }
  EXPECT_NE(values(kernel("if (i < n) out[i] = x[(threadIdx.x ^ 1) % n];"), 32, 64).kind, Kind::Proven);
}

TEST(CompareValuesOfLaunches, APartOfAThreadsNumberThatMayOverflowAloneIsNotKnown) {
  const std::string text =
      kernel("unsigned a = threadIdx.x * n, b = i * n - a; if (i < n) out[i] = (float)((unsigned long long)a + b);");
  EXPECT_EQ(values(text, 64, 128).kind, Kind::NotKnown);
  EXPECT_EQ(values(kernel("if (i < n) out[i] = (float)(unsigned)(i * n);"), 64, 128).kind, Kind::Proven) << "whole";
}

TEST(CompareValuesOfLaunches, WhereThreadsExchangeValuesNothingIsKnown) {
  EXPECT_EQ(values(reversed("256", "__syncthreads();"), 128, 256).kind, Kind::NotKnown);
  EXPECT_EQ(
      values(kernel("float v = __shfl_down_sync(~0u, i < n ? x[i] : 0, 1); if (i < n) out[i] = v;"), 128, 256).kind,
      Kind::NotKnown);
  EXPECT_EQ(values(kernel("if (i < n) out[i] = atomicAdd(out + n, 1.0f);"), 128, 256).kind, Kind::NotKnown);
  EXPECT_EQ(values(kernel("if (i < n && i > 0) out[i] = out[i - 1];"), 128, 256).kind, Kind::NotKnown);
}

TEST(CompareLaunches, TheSameThreadsTouchTheSameWhateverTheirIndicesAre) {
  const std::string text = kernel("if (i < n) out[n % (i + 1)] = x[n % (i + 1)];");
  ASSERT_EQ(compare({text, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, {text, {32, 1, 1}, "ceil_div(arg.a2, 32)"}).kind,
            Kind::NotKnown);
  auto answer = under_launches(compare_launches, text, 128, 32);
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
  EXPECT_TRUE(answer.same_values);
  EXPECT_FALSE(answer.assumptions.empty()) << "x and out are different memory";
}

}  // namespace
}  // namespace kernelift::legality
