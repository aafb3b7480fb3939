// Tests of thread_coarsening, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

const std::string kLine = R"(__global__ void k(const float *x, float *out, int n) {
  __shared__ float line[262];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = threadIdx.x + 3;
  line[at] = x[i];
  // The halo.
  if (threadIdx.x < 3) {
    line[at - 3] = i < 3 ? 0.0f : x[i - 3];
    line[at + 256] = x[i + 256];
  }
  __syncthreads();
  float sum = 0.0f;
  for (int d = -3; d <= 3; d++) sum += line[at + d];
  if (i < n) out[i] = sum;
}
)";

TEST(ThreadCoarsening, RepeatsWhatThreadsDoBetweenTheSameBarriers) {
  EXPECT_EQ(after("thread_coarsening", kLine, {{"x", 4}, {"y", 1}}, 0, plane()),
            R"(__global__ void k(const float *x, float *out, int n) {
  __shared__ float line[262];
  int i[4];
  int at[4];
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    i[u] = blockIdx.x * (blockDim.x * 4) + (threadIdx.x * 4 + u);
    at[u] = (threadIdx.x * 4 + u) + 3;
    line[at[u]] = x[i[u]];
  }
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    // The halo.
    if ((threadIdx.x * 4 + u) < 3) {
      line[at[u] - 3] = i[u] < 3 ? 0.0f : x[i[u] - 3];
      line[at[u] + 256] = x[i[u] + 256];
    }
  }
  __syncthreads();
  float sum[4];
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    sum[u] = 0.0f;
  }
  for (int d = -3; d <= 3; d++) {
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      sum[u] += line[at[u] + d];
    }
  }
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    if (i[u] < n) out[i[u]] = sum[u];
  }
}
)");
}

TEST(ThreadCoarsening, KeepsAWarpsLoadsTogetherWhereThreadsAreABlocksWidthApart) {
  const std::string text = after("thread_coarsening", kLine, {{"x", 4}, {"y", 1}}, 1, plane());
  EXPECT_THAT(text, HasSubstr("i[u] = blockIdx.x * (blockDim.x * 4) + (threadIdx.x + u * blockDim.x);\n"));
}

TEST(ThreadCoarsening, MakesTheBlockSmallerAndSaysWhatItAssumes) {
  const auto all = offers("thread_coarsening", kLine, {{"x", 4}, {"y", 1}}, plane());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].place, "neighbouring threads along x");
  EXPECT_EQ(all[1].place, "distant threads along x");
  ASSERT_EQ(all[0].launch.size(), 1U);
  EXPECT_EQ(all[0].launch.at("bx").text(), "bx / 4");
  ASSERT_EQ(all[0].premises.size(), 1U);
  EXPECT_EQ(all[0].premises[0].condition.text(), "blockDim.x % 4 == 0");
}

TEST(ThreadCoarsening, ReadsASharedElementOnceForAllThreadsOfARow) {
  const std::string text = after("thread_coarsening",
                                 "__global__ void k(const float *a, const float *b, float *c, int n) {\n"
                                 "  __shared__ float left[16][16], right[16][16];\n"
                                 "  int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
                                 "  int column = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                 "  float sum = 0;\n"
                                 "  for (int t = 0; t < n; t += 16) {\n"
                                 "    left[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];\n"
                                 "    right[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];\n"
                                 "    __syncthreads();\n"
                                 "    for (int p = 0; p < 16; ++p) {\n"
                                 "      float by = right[p][threadIdx.x];\n"
                                 "      sum += left[threadIdx.y][p] * by;\n"
                                 "    }\n"
                                 "    __syncthreads();\n"
                                 "  }\n"
                                 "  c[row * n + column] = sum;\n}\n",
                                 {{"x", 1}, {"y", 4}}, 0, plane());
  EXPECT_THAT(text, HasSubstr("    for (int p = 0; p < 16; ++p) {\n"
                              "      float by = right[p][threadIdx.x];\n"
                              "      #pragma unroll\n"
                              "      for (int u = 0; u < 4; ++u) {\n"
                              "        sum[u] += left[(threadIdx.y * 4 + u)][p] * by;\n"));
  EXPECT_THAT(text, HasSubstr("row[u] = blockIdx.y * (blockDim.y * 4) + (threadIdx.y * 4 + u);"));
}

TEST(ThreadCoarsening, LeavesWhatItCannotInterleave) {
  auto offered = [](const std::string& from, const std::string& to, int64_t x = 4) {
    std::string text = kLine;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    return !after("thread_coarsening", text, {{"x", x}, {"y", 1}}, 0, plane()).empty();
  };
  EXPECT_TRUE(offered("// The halo.", "// The edges."));
  EXPECT_FALSE(offered("  __syncthreads();\n", "")) << "unroll_and_jam's";
  EXPECT_FALSE(offered("  float sum = 0.0f;", "  float sum = __shfl_xor_sync(~0u, 0.0f, 1);")) << "lanes change";
  EXPECT_FALSE(offered("  __syncthreads();\n", "  __syncthreads();\n  __syncwarp(~0u);\n"));
  EXPECT_FALSE(offered("  __syncthreads();\n", "  if (threadIdx.x < 64) __syncthreads();\n"));
  EXPECT_FALSE(offered("  // The halo.", "  if (i >= n) return;")) << "a thread's work ends";
  EXPECT_FALSE(offered("  int at = threadIdx.x + 3;", "  uint3 t = threadIdx;\n  int at = t.x + 3;"));
  EXPECT_FALSE(offered("int at =", "volatile int at ="));
  EXPECT_FALSE(offered("  float sum = 0.0f;", "  x += threadIdx.x;\n  float sum = 0.0f;")) << "a parameter";
  EXPECT_FALSE(offered("  // The halo.", "  atomicAdd(&out[0], 1.0f);")) << "once for each thread";
  EXPECT_FALSE(offered("// The halo.", "", 3)) << "a block of 32 threads along x";
}

}  // namespace
}  // namespace kernelift::tuner
