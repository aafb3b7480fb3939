// Tests of block_merging, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

const std::string kTiled = R"(__global__ void k(const float *a, const float *b, float *c, int n) {
  __shared__ float left[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int column = blockIdx.x * 16 + tx;
  int row = blockIdx.y * 16 + ty;
  __shared__ float right[16][16];
  float sum = 0;
  for (int t = 0; t < n / 16; ++t) {
    left[ty][tx] = a[row * n + t * 16 + tx];
    right[ty][tx] = b[(t * 16 + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
)";

TEST(BlockMerging, RepeatsDependentStatementsBetweenTheSameBarriers) {
  std::string text = after("block_merging", kTiled, {{"x", 1}, {"y", 2}, {"z", 1}}, 0, plane());
  EXPECT_THAT(text,
              HasSubstr("  __shared__ float left[16][16];\n  int tx = threadIdx.x, ty = threadIdx.y;\n  int column = "
                        "blockIdx.x * 16 + tx;\n"
                        "  __shared__ float left_1[16][16];\n  __shared__ float right[16][16];\n"
                        "  const unsigned block_y = blockIdx.y * 2;\n  const unsigned block_y_1 = blockIdx.y * 2 + 1;\n"
                        "  if (blockIdx.y * 2 + 1 < gridDim.y) {\n    int row = block_y * 16 + ty;\n    int row_1 = "
                        "block_y_1 * 16 + ty;\n"));
  EXPECT_THAT(text, HasSubstr("      left_1[ty][tx] = a[row_1 * n + t * 16 + tx];\n      right[ty][tx] = b[(t * 16 + "
                              "ty) * n + column];\n      __syncthreads();\n"));
  EXPECT_THAT(text, HasSubstr("sum_1 += left_1[ty][k] * right[k][tx];\n"));
  EXPECT_THAT(text, HasSubstr("if (row_1 < n && column < n) c[row_1 * n + column] = sum_1;"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "    for (int block_iteration = 0; block_iteration < 2; ++block_iteration) {\n      const unsigned block_y = "
          "blockIdx.y * 2 + block_iteration;\n"
          "      if (block_y >= gridDim.y) continue;\n      __syncthreads();\n      int row = block_y * 16 + ty;\n"));
  EXPECT_EQ(text.find("__shared__", text.find("else {")), text.npos) << "both branches use the same shared arrays";
}

TEST(BlockMerging, ReportsIdleBlocks) {
  EXPECT_THAT(offers("block_merging", kTiled, {{"x", 2}, {"y", 2}, {"z", 1}}, plane()).at(0).effects,
              testing::ElementsAre("leaves the grid unchanged, where only one block in 4 has work"));
}

TEST(BlockMerging, MergesAlongTwoAxes) {
  std::string text = after("block_merging", kTiled, {{"x", 2}, {"y", 2}, {"z", 1}}, 0, plane());
  EXPECT_THAT(text, HasSubstr("sum_1_1 += left_1[ty][k] * right_1[k][tx];"));
  EXPECT_THAT(text, HasSubstr("const unsigned block_x = blockIdx.x * 2 + (block_iteration % 2);"));
  EXPECT_THAT(text, HasSubstr("const unsigned block_y = blockIdx.y * 2 + (block_iteration / 2);"));
  EXPECT_TRUE(offers("block_merging", kTiled, {{"x", 2}, {"y", 2}, {"z", 1}}, plane())[0].launch.empty());
}

TEST(BlockMerging, CopiesPointersThatTheKernelAdvances) {
  std::string text = after(
      "block_merging",
      "__global__ void k(float *y, int n) {\n  __shared__ float s[32];\n  int left = 32;\n  y += blockIdx.x * 32;\n"
      "  s[threadIdx.x] = y[threadIdx.x];\n  __syncthreads();\n  while (left > n) --left;\n  y[threadIdx.x] = s[31 - "
      "threadIdx.x] + left;\n}\n",
      {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(text, HasSubstr("  auto y_1 = y;\n  if (blockIdx.x * 2 + 1 < gridDim.x) {\n    int left = 32;\n    y += "
                              "block_x * 32;\n    y_1 += block_x_1 * 32;\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "      auto y_of_block = y;\n      __syncthreads();\n      int left = 32;\n  y_of_block += block_x * 32;\n"));
}

TEST(BlockMerging, KnowsThatAssignmentOperatorsChangeTheirOperand) {
  const std::string vectors =
      "struct V { float x, y; };\n__device__ V operator-(float a, V b) { return {a - b.x, a - b.y}; }\n"
      "__device__ void operator+=(V &a, V b) { a.x += b.x; }\nextern __shared__ float s[];\n";
  std::string text = after("block_merging",
                           vectors +
                               "__global__ void k(const V *p, V *f, const float *q, int n) {\n  int i = blockIdx.x * "
                               "blockDim.x + threadIdx.x;\n"
                               "  V sum = p[i];\n  s[threadIdx.x] = q[threadIdx.x];\n  __syncthreads();\n  for (int j "
                               "= 0; j < n; ++j) sum += s[j] - p[i];\n  f[i] = sum;\n}\n",
                           {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(
      text, HasSubstr("    s[threadIdx.x] = q[threadIdx.x];\n    __syncthreads();\n    for (int j = 0; j < n; ++j) {\n"
                      "      sum += s[j] - p[i];\n      sum_1 += s[j] - p[i_1];\n"));
}

TEST(BlockMerging, LeavesUnsupportedConstructs) {
  auto with = [](const std::string& body, const std::string& head = "") {
    return after("block_merging",
                 head +
                     "__global__ void k(float *y, int n) {\n  __shared__ float s[32];\n  int i = blockIdx.x * 32 + "
                     "threadIdx.x;\n" +
                     body + "\n}\n",
                 {{"x", 2}, {"y", 1}, {"z", 1}});
  };
  EXPECT_NE(with("  s[threadIdx.x] = y[i];\n  __syncthreads();\n  y[i] = s[31 - threadIdx.x];"), "");
  EXPECT_EQ(with("  if (i >= n) return;\n  s[threadIdx.x] = y[i];\n  y[i] = s[31 - threadIdx.x];"), "")
      << "a thread that returned would miss the next iteration's barrier";
  EXPECT_EQ(with("  float *p = s;\n  p[threadIdx.x] = y[i];\n  __syncthreads();\n  y[i] = s[31 - threadIdx.x];"), "")
      << "shared memory is accessed through a pointer";
  EXPECT_EQ(with("  y[0] += 1;\n  s[threadIdx.x] = y[i];"), "") << "every block adds 1";
  EXPECT_EQ(with("  s[threadIdx.x] = i;\n  y[i] = big[threadIdx.x];", "extern __shared__ float big[];\n").find("big_1"),
            std::string::npos);
  EXPECT_EQ(with("  big[threadIdx.x] = i;\n  y[i] = big[threadIdx.x];", "extern __shared__ float big[];\n"), "")
      << "the launch sets its size";
  EXPECT_EQ(with("  s[threadIdx.x] = y[i];\n  y[i] = s[PLACE];", "#define PLACE (31 - threadIdx.x + blockIdx.x)\n"), "")
      << "a macro reads the block's index";
}

TEST(BlockMerging, DoesNotRepeatBarriers) {
  auto with = [](const std::string& body, const std::string& head = "") {
    return after(
        "block_merging",
        head + "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * 32 + threadIdx.x;\n" + body + "\n}\n",
        {{"x", 2}, {"y", 1}, {"z", 1}});
  };
  EXPECT_EQ(with("  while (y[i] > 1) {\n    float half = y[i] / 2;\n    __syncthreads();\n    y[i] = half;\n  }"), "")
      << "threads leave the first loop at different times and meet the second one's barriers";
  EXPECT_EQ(with("  if (i < n) {\n    __syncthreads();\n    y[i] = 1;\n  }"), "");
  const std::string summing =
      "__device__ float sum_of(float v) {\n  __shared__ float s[32];\n  s[threadIdx.x] = v;\n  WAIT\n  return s[0] + "
      "s[31];\n}\n";
  auto summed = [&](const std::string& wait) {
    return with("  float sum = sum_of(y[i]);\n  __syncthreads();\n  y[i] = sum;",
                std::string(summing).replace(summing.find("WAIT"), 4, wait));
  };
  EXPECT_EQ(summed("__syncthreads();"), "")
      << "the second call overwrites values that threads in the first one still read";
  const std::string by_warps =
      "__device__ float sum_of(float v) {\n  return v + __shfl_xor_sync(0xffffffffu, v, 1);\n}\n";
  EXPECT_THAT(with("  float sum = sum_of(y[i]);\n  __syncthreads();\n  y[i] = sum;", by_warps),
              HasSubstr("sum_1 = sum_of(y[i_1]);"));
}

TEST(BlockMerging, LeavesKernelsWhoseThreadsMaySkipABarrier) {
  auto with = [](const std::string& body) {
    return after("block_merging",
                 "__global__ void k(float *y, int n) {\n  __shared__ float s[64];\n  int t = threadIdx.x, i = "
                 "blockIdx.x * 64 + t;\n  s[t] = y[i];\n" +
                     body + "\n}\n",
                 {{"x", 2}, {"y", 1}, {"z", 1}});
  };
  const std::string inside = " {\n    __syncthreads();\n    y[i] = s[n - 1 - t];\n  }";
  EXPECT_NE(with("  if (n > 2)" + inside), "");
  EXPECT_EQ(with("  if (t < n)" + inside), "") << "the other threads wait at the next iteration's barrier";
  EXPECT_EQ(with("  bool mine = false;\n  if (t < n) mine = true;\n  if (mine)" + inside), "");
  EXPECT_EQ(with("  for (int j = t; j < n; j += 64)" + inside), "");
  EXPECT_EQ(
      with("  for (int j = 0; j < n; ++j) {\n    if (j == t) break;\n    __syncthreads();\n    y[i] = s[t];\n  }"), "");
  EXPECT_NE(with("  for (int half = 32; half; half /= 2) {\n    if (t < half) s[t] += s[t + half];\n    "
                 "__syncthreads();\n  }\n  if (t == 0) y[i] = s[0];"),
            "");
}

}  // namespace
}  // namespace kernelift::tuner
