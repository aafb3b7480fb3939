// Claims about rows that the lanes of a warp walk along together, as inline before and after. Every text must parse
// again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/rule_proposer.h"
#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kRows = R"(__global__ void k(const float *a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0;
    for (int j = 0; j < n; j++) {
      sum += a[i * n + j] * x[j];
    }
    y[i] = sum;
  }
}
)";

TEST(WarpReduction, LeavesLoopsThatCountInTheirCondition) {
  std::string text =
      "__global__ void k(float *y, const float *x, unsigned n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
      "float sum = 0;\n"
      "  for (unsigned j = n; j-- > 0;) sum += x[i + j];\n  y[i] = sum;\n}\n";
  EXPECT_EQ(after("warp_reduction", text, {{"lanes", 32}, {"interleaved", 0}}), "");
}

TEST(WarpReduction, DistributesASumOverLanes) {
  std::string text = after("warp_reduction", kRows, {{"lanes", 32}, {"interleaved", 0}});
  EXPECT_THAT(
      text,
      HasSubstr(
          "int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;\n  // 32 lanes of a warp do the work of one "
          "thread: each takes one of 32 iterations.\n  const int lane = threadIdx.x % 32;\n"));
  EXPECT_THAT(text, HasSubstr("    float sum = 0;\n    for (int j = lane; j < n; j += 32) {"));
  EXPECT_THAT(
      text, HasSubstr("for (int offset = 16; offset > 0; offset /= 2)\n      sum += __shfl_xor_sync(0xffffffffu, sum, "
                      "offset);\n    __syncwarp"));
  EXPECT_THAT(
      text,
      HasSubstr("    __syncwarp(0xffffffffu);\n    if (lane == 0) y[i] = sum;\n    __syncwarp(0xffffffffu);\n  }\n"));
}

TEST(WarpReduction, MasksTheLanesOfASmallerGroup) {
  EXPECT_THAT(after("warp_reduction", kRows, {{"lanes", 8}, {"interleaved", 0}}),
              testing::AllOf(HasSubstr("const unsigned group = 0xffu << (threadIdx.x & 24);\n"),
                             HasSubstr("__shfl_xor_sync(group, sum, offset)")));
}

TEST(WarpReduction, InterleavesRows) {
  std::string text = after("warp_reduction", kRows, {{"lanes", 8}, {"interleaved", 1}});
  EXPECT_THAT(text, HasSubstr("int i = blockIdx.x * (blockDim.x / 8) + (threadIdx.x / 32 * 4 + threadIdx.x % 4);\n"
                              "  // 8 lanes of a warp do the work of one thread: each takes one of 8 iterations.\n"
                              "  const int lane = threadIdx.x % 32 / 4;\n"
                              "  const unsigned group = 0x11111111u << (threadIdx.x & 3);\n"));
  EXPECT_THAT(text,
              HasSubstr("for (int offset = 16; offset >= 4; offset /= 2)\n      sum += __shfl_xor_sync(group, sum, "
                        "offset);\n"));
  EXPECT_EQ(after("warp_reduction", kRows, {{"lanes", 32}, {"interleaved", 1}}), "");
}

TEST(WarpReduction, SharesLoopsWhoseTemporariesAreDeclaredOutside) {
  std::string text = after("warp_reduction", R"(struct P { float x; };
__device__ float blend(int k, float u) { return k * u; }
__global__ void k(const P *in, P *out, int n, int m) {
  int i, j, ki;
  float u, b;
  i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i > n) return;
  u = i / (float)n;
  for (j = 0; j < m; j++) {
    P sum = {0};
    for (ki = 0; ki <= 3; ki++) {
      b = blend(ki, u);
      sum.x += in[ki].x * b;
    }
    out[i * m + j] = sum;
  }
}
)",
                           {{"lanes", 32}, {"interleaved", 0}});
  EXPECT_THAT(text,
              HasSubstr("i = (blockDim.x / 32) * blockIdx.x + threadIdx.x / 32;\n  // 32 lanes of a warp do the work "
                        "of one thread: each takes one of 32 iterations.\n  const int lane = threadIdx.x % 32;"));
  EXPECT_THAT(text, HasSubstr("for (j = lane; j < m; j += 32) {"));
  EXPECT_THAT(text, Not(HasSubstr("shfl")));
}

TEST(WarpReduction, GrowsTheGrid) {
  auto found = offers("warp_reduction", kRows, {{"lanes", 32}, {"interleaved", 0}});
  ASSERT_EQ(found.size(), 1u);
  Candidate original;
  original.source = kRows, original.tier = "baseline";
  EXPECT_EQ(
      apply(original, kWarpReduction, found[0], "k")->launches.at(0).evaluate({{7, 1, 1}, {256, 1, 1}}, {})->grid.x,
      7u * 32);
}

TEST(WarpReduction, SharesExtremaSumsAndElementwiseLoops) {
  std::string text = after("warp_reduction", R"(__global__ void k(const float *src, float *dst, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float most = src[i * m];
  for (int j = 0; j < m; j++) {
    most = fmaxf(most, src[i * m + j]);
  }
  float sum = 0;
  int j;
  for (j = 0; j < m; j += 2) sum = sum + expf(src[i * m + j] - most);
  for (int j = 0; j < m; j++) {
    dst[i * m + j] = expf(src[i * m + j] - most) / sum;
  }
}
)",
                           {{"lanes", 32}, {"interleaved", 0}});
  EXPECT_THAT(text, HasSubstr("offset /= 2)\n    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));"));
  EXPECT_THAT(text, HasSubstr("for (j = 2 * lane; j < m; j += 2 * 32) sum = sum + expf("));
  EXPECT_THAT(text, HasSubstr("__syncwarp(0xffffffffu);\n  for (int j = lane; j < m; j += 32) {\n    dst[i * m + j]"));
  EXPECT_THAT(text, HasSubstr("if (i >= n) return;"));
}

TEST(WarpReduction, ReducesIntoMembersInsideBranches) {
  std::string text = after("warp_reduction", R"(struct Force { float x, y; };
__global__ void k(const float *p, Force *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Force f = {0, 0};
  for (int j = 0; j < n; j++) {
    float d = p[j] - p[i];
    if (d > 0) {
      f.x += d;
      f.y -= d * d;
    }
  }
  out[i] = f;
}
)",
                           {{"lanes", 32}, {"interleaved", 0}});
  EXPECT_THAT(text, HasSubstr("Force f = {0, 0};\n  for (int j = lane; j < n; j += 32) {"));
  EXPECT_THAT(text, Not(HasSubstr("_before")));
  EXPECT_THAT(text, HasSubstr("if (lane == 0) out[i] = f;"));
}

TEST(WarpReduction, LeavesLoopsThatDependOnTheirOrder) {
  auto with = [](const std::string& body) {
    return after("warp_reduction",
                 "__global__ void k(const float *a, float *y, int n) {\n  int i = blockIdx.x * blockDim.x + "
                 "threadIdx.x;\n  if (i < n) {\n"
                 "    float s = 0;\n    for (int j = 0; j < n; j++) {\n      " +
                     body + "\n    }\n    y[i] = s;\n  }\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  EXPECT_NE(with("s += a[j];"), "");
  EXPECT_EQ(with("s = s * a[j] + 1;"), "") << "a recurrence";
  EXPECT_EQ(with("s += a[j]; y[j] = s;"), "") << "a running sum";
  EXPECT_EQ(with("s += a[j]; if (s > 3) break;"), "") << "an early exit";
  EXPECT_EQ(with("y[i * n + j] = y[i * n + j - 1];"), "") << "each iteration reads the previous one's element";
  EXPECT_EQ(with("y[i] += a[j];"), "") << "a sum in memory, which scalar_promotion has to rewrite first";
}

TEST(WarpReduction, LeavesLoopsWhoseIterationsMayWriteTheSameElement) {
  auto is_shared = [](const std::string& body) {
    return after("warp_reduction",
                 "__global__ void k(float *out, const float *v, const int *col, int n, int m, int inc) {\n  int i = "
                 "blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {\n"
                 "    for (int j = 0; j < m; ++j) {\n      " +
                     body + "\n    }\n  }\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}})
               .find("int j = lane") != std::string::npos;
  };
  for (auto* own : {"out[j * blockDim.x + i] = v[j];", "if (i < inc) out[j * inc + i] = v[j];",
                    "out[i * m + j] = v[j];", "out[j * n + i] += v[j];", "out[(size_t)(m - j) * 2] = 1;",
                    "for (int k = 0; k < n; ++k) out[j * n + k] = v[k];"})
    EXPECT_TRUE(is_shared(own)) << own;
  for (auto* shared :
       {"out[i * m + j * inc] = v[j];", "if (i >= inc) out[j * inc + i] = v[j];", "out[i * m + col[j]] += v[j];",
        "out[(i * m + j) / 2] = v[j];", "out[j % 4] = v[j];", "out[j & 3] = v[j];", "out[j * 0] = v[j];",
        "out[(char)j] = v[j];", "for (int k = 0; k < m; ++k) out[j * n + k] = v[k];",
        "for (int k = -1; k < n; ++k) out[j * n + k] = v[k];"})
    EXPECT_FALSE(is_shared(shared)) << shared;
}

TEST(WarpReduction, FindsTheRowInEverySpellingOfTheGlobalIndex) {
  auto row = [](const std::string& spelled) {
    return after("warp_reduction",
                 "#define WIDTH 64\n__global__ void k(const float *a, float *y, int n) {\n  int i = " + spelled +
                     ";\n  if (i >= n) return;\n  float s = 0;\n"
                     "  for (int j = 0; j < n; ++j) s += a[i * n + j];\n  y[i] = s;\n}\n",
                 {{"lanes", 8}, {"interleaved", 0}}, 0, facts(100, 64));
  };
  EXPECT_THAT(row("(int)blockIdx.x * (int)blockDim.x + (int)threadIdx.x"),
              HasSubstr("int i = (int)blockIdx.x * (int)(blockDim.x / 8) + (int)threadIdx.x / 8;"));
  EXPECT_THAT(row("threadIdx.x + WIDTH * blockIdx.x"),
              HasSubstr("int i = threadIdx.x / 8 + (WIDTH / 8) * blockIdx.x;"));
  EXPECT_THAT(
      row("static_cast<int>(blockIdx.x * static_cast<unsigned int>(blockDim.x) + threadIdx.x)"),
      HasSubstr("static_cast<int>(blockIdx.x * static_cast<unsigned int>((blockDim.x / 8)) + threadIdx.x / 8);"));
}

TEST(WarpReduction, LeavesLoopsWhoseCounterIsReadLater) {
  auto with = [](const std::string& later) {
    return after("warp_reduction",
                 "__global__ void k(const float *a, float *y, int n) {\n  int i = blockIdx.x * blockDim.x + "
                 "threadIdx.x;\n  int j;\n  if (i < n) {\n"
                 "    float s = 0;\n    for (j = 0; j < n; j++) s += a[j];\n    " +
                     later + "\n  }\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  EXPECT_NE(with("for (j = 0; j < n; j++) s += a[j];\n    y[i] = s;"), "");
  EXPECT_EQ(with("y[i] = s / j;"), "") << "the counter differs between lanes after the loop";
  EXPECT_EQ(with("for (j = j - 1; j < n; j++) s += a[j];\n    y[i] = s;"), "");
}

TEST(WarpReduction, LeavesStoresThatChangeLocalVariables) {
  EXPECT_EQ(
      after("warp_reduction",
            "__global__ void k(const float *a, float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
            "if (i < n) {\n    int at = i;\n"
            "    float s = 0;\n    y[at++] = 1;\n    for (int j = 0; j < at; j++) s += a[j];\n    y[at] = s;\n  }\n}\n",
            {{"lanes", 32}, {"interleaved", 0}}),
      "");
}

TEST(WarpReduction, SharesSeveralLoopsWithTheSameSum) {
  std::string text = after("warp_reduction",
                           "__global__ void k(const float *a, const float *b, float *y, int n) {\n  int i = blockIdx.x "
                           "* blockDim.x + threadIdx.x;\n  if (i < n) {\n"
                           "    float s = 0;\n    for (int j = 0; j < n; j++) s += a[j];\n    for (int j = 0; j < n; "
                           "j++) s += b[j];\n    y[i] = s;\n  }\n}\n",
                           {{"lanes", 32}, {"interleaved", 0}});
  EXPECT_THAT(text, HasSubstr("float s = 0;\n    for (int j = lane;"));
  EXPECT_THAT(text, HasSubstr("auto s_before = s;\n    s = 0;\n    for (int j = lane;"));
  EXPECT_THAT(text, HasSubstr("s = s_before + s;"));
}

TEST(WarpReduction, KeepsWhatASumHoldsBeforeItsLoopUnlessThatIsZero) {
  auto with = [](const std::string& declared, const std::string& between = "") {
    return after("warp_reduction",
                 "struct Pair { float x, y; };\n__global__ void k(const float *a, float *y, int n) {\n  int i = "
                 "blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {\n    " +
                     declared + "\n    " + between +
                     "\n    for (int j = 0; j < n; j++) {\n      s += a[j];\n    }\n    y[i] = s;\n  }\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  for (auto* zero : {"float s = 0;", "float s(0.0f);", "float s{};", "float s; s = 0;", "float s = 3; s = 0.f;"})
    EXPECT_THAT(with(zero), testing::AllOf(Not(HasSubstr("_before")), HasSubstr("s += __shfl"))) << zero;
  for (auto* other :
       {"float s = a[i];", "float s = -0.0f;", "float s = 0; s += a[0];", "float s = 0, *p = &s; *p = 1;"})
    EXPECT_THAT(with(other), testing::AnyOf(std::string(), HasSubstr("s = s_before + s;"))) << other;
  EXPECT_THAT(with("float s = 0;", "if (n > 3) s = 2;"), HasSubstr("s = s_before + s;"));
}

TEST(WarpReduction, GuardsStoresThatEndInABrace) {
  EXPECT_THAT(after("warp_reduction",
                    "struct P { float x; };\n__global__ void k(const float *a, P *y, int n) {\n  int i = blockIdx.x * "
                    "blockDim.x + threadIdx.x;\n  if (i < n) {\n"
                    "    float s = 0;\n    for (int j = 0; j < n; j++) s += a[j];\n    y[i] = P{s};\n  }\n}\n",
                    {{"lanes", 32}, {"interleaved", 0}}),
              HasSubstr("if (lane == 0) y[i] = P{s};\n    __syncwarp(0xffffffffu);\n  }\n"));
}

TEST(WarpReduction, MakesBlocksWholeWarpsWhereRowsAreInBounds) {
  const Bindings lanes{{"lanes", 32}, {"interleaved", 0}};
  auto launched = [&](const RuleContext& facts) {
    auto found = offers("warp_reduction", kRows, lanes, facts);
    EXPECT_EQ(found.size(), 1u);
    Candidate original;
    original.source = kRows, original.tier = "baseline";
    return *apply(original, kWarpReduction, found.at(0), "k")->launches.at(0).evaluate(facts.geometries[0], {});
  };
  // 1000 rows are the same 1000 rows, and 24 that the guard leaves out.
  EXPECT_EQ(launched(facts(10, 100)), (Geometry{{8 * 32, 1, 1}, {128, 1, 1}}));
  RuleContext repeating = facts(4, 32);
  repeating.geometries[0].block.y = 8;
  EXPECT_EQ(launched(repeating), (Geometry{{4 * 32, 1, 1}, {32, 1, 1}})) << "threads along y repeat each other's work";
  RuleContext known = facts();
  known.whole_warps = false;  // Another launch has blocks of 48.
  EXPECT_EQ(launched(known).block, (Dim3{128, 1, 1}));
}

TEST(WarpReduction, LeavesBlocksThatAreNoWholeWarpsWhereFurtherRowsWouldBeRead) {
  auto with = [](const std::string& head, const std::string& width = "blockDim.x") {
    return after("warp_reduction",
                 "#define W 48\n__global__ void k(const float *a, float *y, int n, int m) {\n  int i = blockIdx.x * " +
                     width + " + threadIdx.x;\n" + head +
                     "  float s = 0;\n  for (int j = 0; j < m; ++j) s += a[i * m + j];\n  y[i] = s;\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}}, 0, facts(7, 48));
  };
  EXPECT_NE(with("  if (i >= n) return;\n"), "");
  EXPECT_NE(with("  int q = i + 1;\n  if (m < 2 || i >= n) return;\n"), "");
  EXPECT_EQ(with(""), "");
  EXPECT_EQ(with("  float q = y[i];\n  if (i >= n) return;\n"), "");
  EXPECT_EQ(with("  if (i == n) return;\n"), "");
  EXPECT_EQ(with("  if (i >= n) return;\n", "W"), "") << "the text counts blocks of 48";
}

TEST(WarpReduction, RefusesAnIndexWithAnotherStrideThanTheBlock) {
  auto with = [](const std::string& width) {
    return after("warp_reduction",
                 "#define W 256\nconstexpr int kHalf = 128;\n__global__ void k(const float *a, float *y, int n, int "
                 "step) {\n  int i = blockIdx.x * " +
                     width +
                     " + threadIdx.x;\n  if (i >= n) return;\n"
                     "  float s = 0;\n  for (int j = 0; j < n; ++j) s += a[i * n + j];\n  y[i] = s;\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  EXPECT_NE(with("blockDim.x"), "");
  EXPECT_NE(with("W"), "");
  EXPECT_EQ(with("kHalf"), "") << "blocks of 256 overlap";
  EXPECT_EQ(with("step"), "");
  EXPECT_EQ(with("gridDim.x"), "");
}

TEST(WarpReduction, LeavesReductionsThatDependOnTheirTypes) {
  auto with = [](const std::string& type, const std::string& loop, const std::string& before = "") {
    return after("warp_reduction",
                 before +
                     "__global__ void k(const float *a, const unsigned *u, float *y, int n) {\n  int i = blockIdx.x * "
                     "blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  " +
                     type + " s = 0;\n  " + loop + "\n  y[i] = s;\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  EXPECT_NE(with("float", "for (int j = 0; j < n; ++j) s += a[j];"), "");
  EXPECT_NE(with("int", "for (int j = 0; j < n; ++j) s += (int)a[j];"), "");
  EXPECT_EQ(with("int", "for (int j = 0; j < n; ++j) s += a[j];"), "") << "every addition drops the fraction";
  EXPECT_EQ(with("int", "for (int j = 0; j < n; ++j) s = s + a[j];"), "");
  EXPECT_EQ(with("bool", "for (int j = 0; j < n; ++j) s += u[j];"), "");
  EXPECT_EQ(with("float", "for (unsigned char j = 0; j < n; ++j) s += a[j];"), "") << "a counter of 8 bits overflows";
  EXPECT_EQ(with("float", "for (short j = 0; j < n; ++j) s += a[j];"), "");
  EXPECT_NE(with("int", "for (int j = 0; j < n; ++j) s = max(s, (int)u[j]);"), "");
  EXPECT_EQ(
      with("int", "for (int j = 0; j < n; ++j) s = umax(s, u[j]);", "__device__ unsigned umax(unsigned, unsigned);\n"),
      "");
  EXPECT_EQ(with("int", "for (int j = 0; j < n; ++j) s = max(s, u[j]);"), "") << "the operands have different types";
  EXPECT_EQ(with("long", "for (int j = 0; j < n; ++j) s = fmax(s, (long)u[j]);",
                 "__device__ long fmax(long a, long b) { return b > a + 4 ? b : a; }\n"),
            "")
      << "the program's own function";
}

TEST(WarpReduction, LetsOneLaneExecuteSideEffects) {
  auto with = [](const std::string& helper, const std::string& after_loop) {
    return after("warp_reduction",
                 "__device__ int overflows;\n" + helper +
                     "__global__ void k(const float *a, float *y, int *count, int n) {\n  int i = blockIdx.x * "
                     "blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  float s = 0;\n"
                     "  for (int j = 0; j < n; ++j) s += a[i * n + j];\n  " +
                     after_loop + "\n  y[i] = s;\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  const std::string once = "if (lane == 0) note(s)";
  for (auto* acts :
       {"__device__ void note(float s) { atomicAdd(&overflows, 1); }\n",
        "__device__ void note(float s) { if (s > 3) overflows = 1; }\n",
        "__device__ void count() { ++overflows; }\n__device__ void note(float s) { count(); }\n",
        "__device__ int note(float s) { return printf(\"%f\", s); }\n", "__device__ void note(float s);\n"})
    EXPECT_THAT(with(std::string("__device__ int printf(const char*, ...);\n") + acts, "if (s > 1e6f) note(s);"),
                HasSubstr(once))
        << acts;
  for (auto* computes : {"__device__ float note(float s) { float t = s; t *= 2; return t; }\n",
                         "__device__ float note(float s) { return expf(s); }\n"})
    EXPECT_THAT(with(computes, "if (s > 1e6f) s = note(s);"),
                testing::AllOf(HasSubstr("s = note(s);"), Not(HasSubstr(once))))
        << computes;
  EXPECT_THAT(
      with("struct Stats {\n  int *count;\n  __device__ void note(float s) const { atomicAdd(count, 1); }\n};\n",
           "Stats stats = {count};\n  if (s > 1e6f) stats.note(s);"),
      HasSubstr("if (lane == 0) stats.note(s)"));
}

TEST(WarpReduction, AcceptsAGridStrideLoop) {
  std::string body =
      " i += blockDim.x * gridDim.x) {\n    float s = 0;\n    for (int j = 0; j < m; j++)\n      s += a[i * m + j];\n  "
      "  y[i] = s;\n  }\n}\n";
  std::string head = "__global__ void k(const float *a, float *y, int n, int m) {\n";
  std::string text =
      after("warp_reduction", head + "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;" + body,
            {{"lanes", 8}, {"interleaved", 0}});
  EXPECT_THAT(text, HasSubstr("  const int lane = threadIdx.x % 8;\n  const unsigned group = 0xffu << (threadIdx.x & "
                              "24);\n  for (int i = blockIdx.x * (blockDim.x / 8) + "
                              "threadIdx.x / 8; i < n; i += blockDim.x * (gridDim.x / 8)) {\n"));
  EXPECT_THAT(text, HasSubstr("if (lane == 0) y[i] = s;"));
  text = after("warp_reduction",
               head + "  const int first = blockIdx.x * blockDim.x + threadIdx.x;\n  for (int i = first; i < n;" + body,
               {{"lanes", 32}, {"interleaved", 0}});
  EXPECT_THAT(text, HasSubstr("const int first = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;\n"));
  EXPECT_THAT(text, HasSubstr("  const int lane = threadIdx.x % 32;\n  for (int i = first;"));
  EXPECT_THAT(text, HasSubstr("i += blockDim.x * (gridDim.x / 32)) {"));
}

TEST(WarpReduction, KnowsThatACallSetsVariablesByAddress) {
  auto with = [](const std::string& loop) {
    return after("warp_reduction",
                 "__global__ void k(const float *x, float *y, int n, int m) {\n  int i = blockIdx.x * blockDim.x + "
                 "threadIdx.x;\n  if (i >= n) return;\n"
                 "  float s, c, both = 0;\n  for (int j = 0; j < m; j++) {\n    " +
                     loop + "\n  }\n  y[i] = both;\n}\n",
                 {{"lanes", 32}, {"interleaved", 0}});
  };
  EXPECT_THAT(with("sincosf(x[j], &s, &c); both += s * c;"), HasSubstr("both_before"));
  EXPECT_EQ(with("both += s * c; sincosf(x[j], &s, &c);"), "") << "read before it is set";
}

TEST(WarpReduction, ReadsThroughViewsThatAreCalled) {
  auto with = [](const std::string& body) {
    return after(
        "warp_reduction",
        "struct View {\n  float *data;\n  int pitch, reads;\n"
        "  __device__ float &operator()(int i, int j) " +
            body +
            "\n"
            "  __device__ float &operator()(int i) const { return data[i]; }\n};\n"
            "__global__ void k(View a, View x, View y, int n) {\n"
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {\n    float sum = 0;\n"
            "    for (int j = 0; j < n; j++) {\n      sum += a(i, j) * x(j);\n    }\n    y(i) = sum;\n  }\n}\n",
        {{"lanes", 32}, {"interleaved", 0}});
  };
  EXPECT_THAT(with("const { return data[i * pitch + j]; }"), HasSubstr("if (lane == 0) y(i) = sum;"));
  EXPECT_NE(with("{ return data[i * pitch + j]; }"), "");
  EXPECT_EQ(with("{ ++reads; return data[i * pitch + j]; }"), "");
}

TEST(WarpReduction, ReadsThroughAccessorsThatAreNotDeclaredConst) {
  // As PyTorch's: the accessor of a row points at the sizes that the tensor's has.
  auto offers = [](const std::string& of_matrix, const std::string& of_vector = "return data[i * strides[0]];") {
    const std::string text =
        after("warp_reduction",
              "struct Row {\n  __device__ Row(float *d, const long *s) : data(d), strides(s) {}\n  __device__ float "
              "&operator[](long i) { return "
              "data[i * strides[0]]; }\n  float *data;\n  const long *strides;\n};\n"
              "struct Matrix {\n  __device__ Row operator[](long i) {\n    " +
                  of_matrix +
                  "\n  }\n"
                  "  __device__ void use(long *);\n  __device__ long size(int i) const { return sizes[i]; }\n"
                  "  float *data;\n  long sizes[2], strides[2], used;\n};\n"
                  "struct Vector {\n  __device__ float &operator[](long i) { " +
                  of_vector +
                  " }\n"
                  "  float *data;\n  long sizes[1], strides[1];\n  float own[4];\n};\n"
                  "__global__ void k(Matrix m, Vector v, float *y) {\n"
                  "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "  if (i < m.size(0)) {\n    float sum = 0;\n    for (int j = 0; j < m.size(1); j++) {\n"
                  "      sum += m[i][j] * v[j];\n    }\n    y[i] = sum;\n  }\n}\n",
              {{"lanes", 32}, {"interleaved", 0}});
    return text.find("sum += m[i][j] * v[j]") != text.npos;
  };
  EXPECT_TRUE(offers("return Row(data + strides[0] * i, strides + 1);"));
  EXPECT_TRUE(offers("long *next = this->strides + 1;\n    return Row(data + strides[0] * i, next);"));
  for (auto* changes : {"++used;\n    return Row(data, strides);", "strides[1] = i;\n    return Row(data, strides);",
                        "use(strides);\n    return Row(data, strides);",
                        "long *next = strides;\n    *next = i;\n    return Row(data, next);",
                        "long &first = strides[0];\n    first = i;\n    return Row(data, strides);"})
    EXPECT_FALSE(offers(changes)) << changes;
  EXPECT_FALSE(offers("return Row(data, strides);", "return own[i % 4];")) << "v may be written through it";
}

}  // namespace
}  // namespace kernelift::tuner
