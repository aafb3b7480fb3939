// Claims about loops whose iterations get threads of their own, as text before and after. Every text must parse again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string kernel(const std::string& body) {
  return "__global__ void k(float *c, const float *a, int n, int m) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body + "}\n";
}

std::string threads(const std::string& body) { return after("loop_to_threads", kernel(body)); }

TEST(LoopToThreads, GivesEachIterationOfATriangleAThread) {
  const std::string body =
      "  int l, j;\n  if (i < n) {\n    c[i * n + i] = 1;\n    for (j = i + 1; j < n; j++) {\n      float sum = 0;\n"
      "      for (l = 0; l < n; l++) sum += a[l * n + i] * a[l * n + j];\n      c[i * n + j] = sum;\n    }\n  }\n";
  EXPECT_THAT(threads(body), HasSubstr("  int l;\n"
                                       "  if (i < n) {\n"
                                       "    const int j = blockIdx.y * blockDim.y + threadIdx.y;\n"
                                       "    if (i < j && j < n) {\n"
                                       "      if (j == i + 1) c[i * n + i] = 1;\n"
                                       "      float sum = 0;\n"));
  auto found = offers("loop_to_threads", kernel(body), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "gx * bx");
  std::vector<std::string> premises;
  for (auto& premise : found[0].premises) premises.push_back(premise.text());
  EXPECT_THAT(premises, ElementsAre("n <= gridDim.x * blockDim.x", "gridDim.x * blockDim.x <= 65535"));
}

TEST(LoopToThreads, KeepsWhatElseNeedsTheCounter) {
  EXPECT_THAT(
      threads("  for (int j = 0; j <= n; j++) c[j * n + i] = a[i];\n"),
      HasSubstr("  const int j = blockIdx.y * blockDim.y + threadIdx.y;\n  if (j <= n) c[j * n + i] = a[i];\n"));
  const std::string twice = threads(
      "  int j;\n  for (j = m; j < n; ++j) c[j * n + i] = a[i];\n  float s = 0;\n  for (j = 0; j < n; ++j) s += "
      "a[j];\n");
  EXPECT_THAT(twice, HasSubstr("  int j;\n  {\n"));
  EXPECT_THAT(twice, HasSubstr("    if (m <= j && j < n) c[j * n + i] = a[i];\n  }\n"));
  EXPECT_THAT(threads("  int j;\n  for (j = 0; j < n; ++j) c[j * n + i] = a[i];\n"), Not(HasSubstr("int j;")));
  EXPECT_THAT(threads("  int j, l = 3;\n  for (j = 0; j < n; ++j) c[j * n + i] = a[i + l];\n"),
              HasSubstr("  int l = 3;\n"));
}

TEST(LoopToThreads, AParameterFromWhichItCountsMustNotBeNegative) {
  auto found = offers("loop_to_threads", kernel("  for (int j = m; j < n; ++j) c[j * n + i] = a[i];\n"), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].premises.back().text(), "m >= 0");
}

TEST(LoopToThreads, LeavesLoopsWhoseIterationsAreNotAThreadsNumber) {
  for (const char* body :
       {"  for (int j = i - 1; j < n; j++) c[(j + 1) * n + i] = a[i];\n",  // It may begin below zero.
        "  n /= 2;\n  for (int j = 0; j < n; j++) c[j * n + i] = a[i];\n",
        "  int row = i;\n  row -= 5;\n  for (int j = row; j < n; j++) c[(j + 5) * n + i] = a[i];\n",
        "  for (int j = 0; j < n; j += 4) c[j * n + i] = a[i];\n",
        "  for (int j = 0; j < n / m; j++) c[j * n + i] = a[i];\n", "  for (int j = 0; j < n; j++) c[i] += a[j];\n",
        "  for (int j = 0; j < 8; j++) c[i * 8 + j] = a[i];\n",
        "  for (int j = 0; j < 100000; j++) c[j * n + i] = a[i];\n",  // More than the recorded launches have threads.
        "  float x = 1;\n  if (i < n) {\n    c[i] = x;\n    x = 2;\n    for (int j = 1; j < n; j++) c[j * n + i] = "
        "x;\n  }\n",
        "  c[i] = 1;\n  if (i < m) {\n    for (int j = 1; j < n; j++) c[j * n + i] = a[j];\n  }\n",
        "  int row = threadIdx.y;\n  for (int j = row; j < n; j++) c[j * n + i] = a[j];\n"})
    EXPECT_EQ(threads(body), "") << body;
}

}  // namespace
}  // namespace kernelift::tuner
