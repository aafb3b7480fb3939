// Claims about loops whose iterations blocks share, as text before and after. Every text must parse again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

const Bindings k64{{"blocks", 64}};

std::string kernel(const std::string& body, const std::string& parameters = "float *c, const float *a, int n") {
  return "__global__ void k(" + parameters + ") {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "}\n";
}

TEST(LoopToGrid, MakesIndependentIterationsBlocksOfAnIdleAxis) {
  const std::string text = kernel(
      "  int j, l;\n  if (i < n) {\n    c[i * n + i] = 1;\n    for (j = i + 1; j < n; j++) {\n      float sum = 0;\n"
      "      for (l = 0; l < n; l++) sum += a[l * n + i] * a[l * n + j];\n      c[i * n + j] = sum;\n    }\n  }\n");
  const std::string shared = after("loop_to_grid", text, k64);
  EXPECT_THAT(shared, HasSubstr("for (j = (i + 1) + blockIdx.y; j < n; j += gridDim.y) {"));
  EXPECT_THAT(shared, HasSubstr("    if (blockIdx.y == 0) c[i * n + i] = 1;\n")) << "stored once";
  auto found = offers("loop_to_grid", text, k64);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "gy * 64");
  EXPECT_EQ(found[0].place, "the loop over j along y");
}

TEST(LoopToGrid, KeepsAStride) {
  EXPECT_THAT(after("loop_to_grid", kernel("  for (int j = 0; j < n; j += 4) c[j * n + i] = a[i];\n"), k64),
              HasSubstr("for (int j = 4 * blockIdx.y; j < n; j += 4 * gridDim.y)"));
}

TEST(LoopToGrid, SharesALoopOfTheBlocksThreads) {
  EXPECT_THAT(after("loop_to_grid", kernel("  for (int j = threadIdx.x; j < n; j += blockDim.x) c[j] = a[j];\n"), k64),
              HasSubstr("for (int j = threadIdx.x + blockDim.x * blockIdx.y; j < n; j += blockDim.x * gridDim.y)"));
}

TEST(LoopToGrid, TakesAnAxisThatNothingUses) {
  const std::string loop = "  for (int j = 0; j < n; ++j) c[j * n + i] = a[i];\n";
  EXPECT_THAT(after("loop_to_grid", kernel("  int b = blockIdx.y;\n  c += b * n;\n" + loop), k64),
              HasSubstr("j += gridDim.z"));
  EXPECT_EQ(after("loop_to_grid", kernel("  c += blockIdx.y + blockIdx.z;\n" + loop), k64), "");
  RuleContext planes = facts();
  for (auto& geometry : planes.geometries) geometry.grid.y = 2, geometry.block.z = 2;
  EXPECT_EQ(after("loop_to_grid", kernel(loop), k64, 0, planes), "") << "blocks that do the same twice";
}

TEST(LoopToGrid, LeavesLoopsThatCarryValuesOrMeetInOneElement) {
  for (const char* body :
       {"  float s = 0;\n  for (int j = 0; j < n; j++) { s += a[j]; c[j * n + i] = s; }\n",  // A prefix sum.
        "  for (int j = 0; j < n; j++) c[i] += a[j * n + i];\n",
        "  for (int j = 0; j < n; j++) { if (a[j] < 0) break; c[j * n + i] = a[j]; }\n",
        "  int j;\n  for (j = 0; j < n; j++) c[j * n + i] = a[j];\n  c[j] = 0;\n",
        "  int last = 0;\n  for (int j = 0; j < n; j++) { c[j * n + i] = a[j]; last = j; }\n  c[i] = last;\n",
        "  __shared__ float s[64];\n  s[threadIdx.x] = a[i];\n  for (int j = 0; j < n; j++) c[j * n + i] = s[i % "
        "64];\n"})
    EXPECT_EQ(after("loop_to_grid", kernel(body), k64), "") << body;
}

TEST(LoopToGrid, LeavesStoresWhoseElementIsFoundInMemory) {
  const std::string parameters = "float *c, const float *a, int n, const int *to, float** rows";
  for (const char* body : {"  for (int j = 0; j < n; j++) c[to[j] * n + i] += a[j * n + i];\n",
                           "  for (int j = 0; j < n; j++) { int t = to[j]; c[t * n + i] = a[j]; }\n",
                           "  for (int j = 0; j < n; j++) { int t = 2 * j, u = *(to + t); c[u * n + i] = a[j]; }\n",
                           "  for (int j = 0; j < n; j++) rows[j][i] = a[j];\n",
                           "  for (int j = 0; j < n; j++) { float* row = rows[j]; row[i] = a[j]; }\n"})
    EXPECT_EQ(after("loop_to_grid", kernel(body, parameters), k64), "") << "two iterations may find the same: " << body;
  for (const char* body : {"  for (int j = 0; j < n; j++) c[to[i] * n + j] = a[j];\n",
                           "  for (int j = 0; j < n; j++) { float* row = c + j * n; row[i] = a[to[j]]; }\n"})
    EXPECT_NE(after("loop_to_grid", kernel(body, parameters), k64), "") << body;
  const std::string helped = "__device__ int at(int x, int y, int n) { return y * n + x; }\n" +
                             kernel("  for (int j = 0; j < n; j++) c[at(i, j, n)] = a[j];\n");
  EXPECT_NE(after("loop_to_grid", helped, k64), "");
}

TEST(LoopToGrid, LeavesLoopsBesideStoresThatOtherBlocksWouldMiss) {
  EXPECT_EQ(after("loop_to_grid",
                  kernel("  c[i] = a[i] * n;\n  for (int j = 1; j < n; j++) c[j * n + i] = a[j] - c[i];\n"), k64),
            "")
      << "no block waits for the first one's store";
  EXPECT_EQ(after("loop_to_grid",
                  kernel("  float first = 0;\n  for (int j = 0; j < n; j++) { c[j] = a[j]; first += a[j]; }\n"
                         "  for (int j = 0; j < n; j++) c[j * n + i] = first;\n"),
                  k64),
            "");
  EXPECT_EQ(
      after("loop_to_grid",
            kernel("  if (n > 4) { c[0] = 1; return; }\n  for (int j = 0; j < n; j++) c[j * n + i] = a[j];\n"), k64),
      "")
      << "a return that only one block would take";
}

TEST(LoopToGrid, LeavesLoopsWithinLoops) {
  EXPECT_EQ(
      after("loop_to_grid",
            kernel("  for (int t = 0; t < 4; t++)\n    for (int j = 0; j < n; j++) c[j * n + i] += c[i];\n"), k64),
      "")
      << "an iteration over t may need the one before";
}

}  // namespace
}  // namespace kernelift::tuner
