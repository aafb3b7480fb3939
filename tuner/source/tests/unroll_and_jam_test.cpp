// Tests of unroll_and_jam, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/rule_proposer.h"
#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UnrollAndJam, RepeatsDependentStatementsInASharedLoop) {
  EXPECT_EQ(after("unroll_and_jam", kGemm, {{"x", 1}, {"y", 2}, {"z", 1}}, 0, plane()),
            R"(__global__ void k(int n, float *a, float *b, float *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i[2];
  #pragma unroll
  for (int u = 0; u < 2; ++u) {
    i[u] = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + u;
  }
  if (i[1] < n && j < n) {
    float sum[2];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      sum[u] = c[i[u] * n + j];
    }
    int k;
    for (k = 0; k < n; k++) {
      #pragma unroll
      for (int u = 0; u < 2; ++u) {
        float row = a[i[u] * n + k];
        sum[u] += row * b[k * n + j];
      }
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      c[i[u] * n + j] = sum[u];
    }
  } else {  // Not all of them are in bounds.
    #pragma unroll 1
    for (int iteration = 0; iteration < 2; ++iteration) {
      int i = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + iteration;
      if ((i < n) && (j < n)) {
        float sum = c[i * n + j];
        int k;
        for (k = 0; k < n; k++) {
          float row = a[i * n + k];
          sum += row * b[k * n + j];
        }
        c[i * n + j] = sum;
      }
    }
  }
}
)");
}

TEST(UnrollAndJam, ComputesValuesOfOneAxisOncePerAxis) {
  std::string text = after("unroll_and_jam", kGemm, {{"x", 2}, {"y", 2}, {"z", 1}}, 0, plane());
  EXPECT_THAT(text, HasSubstr("j[u] = (blockIdx.x * 2 + u) * blockDim.x + threadIdx.x;"));
  EXPECT_THAT(text, HasSubstr("for (int v = 0; v < 2; ++v) {\n        row[v] = a[i[v] * n + k];\n      }\n"));
  EXPECT_THAT(text, HasSubstr("    float sum[2][2];\n"));
  EXPECT_THAT(text, HasSubstr("          sum[u][v] += row[v] * b[k * n + j[u]];\n"));
}

TEST(UnrollAndJam, KeepsTheGridToo) {
  std::string text =
      "__global__ void k(float *x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = "
      "1;\n}\n";
  const Bindings two = {{"x", 2}, {"y", 1}, {"z", 1}};
  RuleContext known = facts();
  for (auto& [rule, values] :
       {std::pair("unroll_and_jam", two), std::pair("block_coarsening", Bindings{{"factor", 2}})}) {
    known.keep_grid = false;
    auto smaller = offers(rule, text, values, known);
    ASSERT_EQ(smaller.size(), 1u) << rule;
    EXPECT_EQ(smaller[0].launch.at("gx").text(), "ceil_div(gx, 2)");
    EXPECT_TRUE(smaller[0].effects.empty());
    known.keep_grid = true;
    auto both = offers(rule, text, values, known);
    ASSERT_EQ(both.size(), 2u) << rule;
    EXPECT_EQ(both[0].launch.at("gx").text(), "ceil_div(gx, 2)");
    EXPECT_TRUE(both[1].launch.empty());
    EXPECT_THAT(both[1].effects, testing::ElementsAre("leaves the grid unchanged, where only one block in 2 has work"));
  }
  std::string jammed = after("unroll_and_jam", text, two, 1, known);
  EXPECT_THAT(jammed, HasSubstr("blockIdx.x * 2 + 1 < gridDim.x"));
  EXPECT_THAT(jammed, HasSubstr("if (!(blockIdx.x * 2 + iteration < gridDim.x)) continue;"));
  EXPECT_THAT(after("block_coarsening", text, {{"factor", 2}}, 1, known),
              HasSubstr("if ((blockIdx.x * 2 + block_iteration) >= gridDim.x) break;"));
}

TEST(UnrollAndJam, DoesNotTakeAnUnsignedDifferenceForAnUpperBound) {
  auto with = [](const std::string& type, const std::string& guard) {
    auto found = offers("unroll_and_jam",
                        "__global__ void k(float *x, " + type + " first, " + type + " n) {\n  " + type +
                            " i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (" + guard + ") x[i] = 1;\n}\n",
                        {{"x", 2}, {"y", 1}, {"z", 1}});
    return found.empty() ? "not offered" : found[0].launch.empty() ? "gx" : found[0].launch.at("gx").text();
  };
  EXPECT_EQ(with("int", "i - first < n"), "ceil_div(gx, 2)");
  EXPECT_EQ(with("unsigned", "i - first < n"), "gx") << "false below `first`, too";
  EXPECT_EQ(with("int", "i - first < sizeof(int)"), "gx");
  EXPECT_EQ(with("unsigned", "i + 1 < n"), "ceil_div(gx, 2)");
  EXPECT_EQ(with("unsigned", "i < n - first"), "ceil_div(gx, 2)");
}

TEST(UnrollAndJam, KeepsCommentsWithTheirStatements) {
  std::string text = after("unroll_and_jam", R"(__global__ void k(float *y, const float *x, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) {
    // The element.
    float v = x[i];  // Once.
    /* Squared,
       and no more. */
    y[i] = v * v;
    for (int j = 0; j < 3; ++j) {  // Three times.
      y[i] += x[j];
    }
  }
}
)",
                           {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(text, HasSubstr("      // The element.\n      v[u] = x[i[u]];  // Once.\n    }\n"));
  EXPECT_THAT(text, HasSubstr("      /* Squared,\n      and no more. */\n      y[i[u]] = v[u] * v[u];\n"));
  EXPECT_THAT(text, HasSubstr("    for (int j = 0; j < 3; ++j) {  // Three times.\n      #pragma unroll\n"));
}

TEST(UnrollAndJam, MakesArraysOnlyOfTypesThatPermitIt) {
  auto with = [](const std::string& body) {
    return after("unroll_and_jam",
                 "struct P { float x, y; };\n#define REAL float\n__global__ void k(float *y, const P *p, int n) {\n  "
                 "int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
                 "  if (i < n) {\n    " +
                     body + "\n    for (int j = 0; j < n; ++j) y[i] += 1;\n    y[i] = a.x;\n  }\n}\n",
                 {{"x", 2}, {"y", 1}, {"z", 1}});
  };
  EXPECT_THAT(with("const P a = p[i];"), HasSubstr("    P a[2];\n"));
  EXPECT_THAT(with("P a = {0};"), Not(HasSubstr("a[2]"))) << "the value is the same for all neighbours";
  EXPECT_THAT(with("P a = {(float)i};"), HasSubstr("a[u] = {(float)i[u]};\n"));
  EXPECT_THAT(with("P b, a = p[i];"), HasSubstr("P b;\n      a[u] = p[i[u]];\n"));
  EXPECT_THAT(with("auto a = p[i];"), HasSubstr("P a[2];\n"));
  EXPECT_THAT(with("const P &a = p[i];"), HasSubstr("const P &a_1 = p[i_1];\n")) << "there are no arrays of references";
  EXPECT_THAT(with("P a; REAL const *q = y + i; a.x = 1;\n    y[i] = *q;\n    y[i] -= *q;\n    for (int j = 0; j < n; "
                   "++j) y[i] -= *q;"),
              HasSubstr("REAL const *q[2];\n"));
  EXPECT_THAT(with("P a; float s[3]; a.x = s[0] = i;\n    for (int j = 0; j < n; ++j) y[i] -= s[0];"),
              HasSubstr("float s[2][3];\n"));
}

TEST(UnrollAndJam, DoesNotTakeALowerBoundForAnUpperOne) {
  const std::string text =
      "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (n - i < 40) y[i] "
      "= 1;\n}\n";
  EXPECT_TRUE(offers("unroll_and_jam", text, {{"x", 2}, {"y", 1}, {"z", 1}}).at(0).launch.empty());
}

TEST(UnrollAndJam, ShrinksTheGridAlongEachAxis) {
  auto found = offers("unroll_and_jam", kGemm, {{"x", 2}, {"y", 4}, {"z", 1}}, plane());
  ASSERT_EQ(found.size(), 1u);
  Candidate original;
  original.source = kGemm, original.tier = "baseline";
  auto changed = apply(original, kUnrollAndJam, found[0], "k");
  auto grid = changed->launches.at(0).evaluate({{9, 9, 1}, {32, 8, 1}}, {})->grid;
  EXPECT_EQ(grid.x, 5u);
  EXPECT_EQ(grid.y, 3u);
}

TEST(UnrollAndJam, AcceptsAGuardThatReturns) {
  std::string text =
      after("unroll_and_jam",
            "__global__ void k(float *y, const float *x, int n) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
            "  if (i >= n || n == 3) return;\n  float v = x[i];\n  y[i] = v * v;\n}\n",
            {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(text, HasSubstr("  if (i[1] < n && n != 3) {\n    float v[2];\n"));
  EXPECT_THAT(text, HasSubstr("if (i >= n || n == 3) continue;"));
}

TEST(UnrollAndJam, RepeatsADivergentBranchAsAWhole) {
  std::string text = after("unroll_and_jam",
                           "__global__ void k(float *y, int n) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
                           "  if (i < n) {\n    if (i == 0) y[i] = 1;\n    else y[i] = 2;\n  }\n}\n",
                           {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(text, HasSubstr("      if (i[u] == 0) y[i[u]] = 1;\n      else y[i[u]] = 2;\n"));
}

TEST(UnrollAndJam, KeepsTheGridWhereNothingBoundsTheIndex) {
  std::string text =
      "__global__ void k(float *y, const float *x, int n) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
      "  int m = blockIdx.y;\n  y[m * n + i] = x[i];\n}\n";
  RuleContext known = plane(64, 1);
  std::string jammed = after("unroll_and_jam", text, {{"x", 1}, {"y", 4}, {"z", 1}}, 0, known);
  EXPECT_THAT(jammed, HasSubstr("m[u] = (blockIdx.y * 4 + u);\n  }\n  if (blockIdx.y * 4 + 3 < gridDim.y) {\n"));
  EXPECT_THAT(jammed, HasSubstr("if (!(blockIdx.y * 4 + iteration < gridDim.y)) continue;"));
  EXPECT_TRUE(offers("unroll_and_jam", text, {{"x", 1}, {"y", 4}, {"z", 1}}, known).at(0).launch.empty());
  // A lower bound does not keep threads past the end from working.
  std::string rows =
      "__global__ void k(float *y, int n) {\n  int i = blockIdx.y * blockDim.y + threadIdx.y;\n  if (i > 0) y[i] = "
      "1;\n}\n";
  EXPECT_THAT(after("unroll_and_jam", rows, {{"x", 1}, {"y", 2}, {"z", 1}}, 0, known),
              HasSubstr("if (i[0] > 0 && i[1] < gridDim.y * blockDim.y) {"));
}

TEST(UnrollAndJam, ChoosesUnusedNames) {
  std::string text =
      after("unroll_and_jam",
            "__global__ void k(float *y, int n) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
            "  if (i < n) {\n    const float &s = y[i];\n    float s_1 = n;\n    y[i] = s + s_1;\n  }\n}\n",
            {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(
      text,
      HasSubstr("const float &s_n1 = y[i_n1];\n    float s_1 = n;\n    y[i] = s + s_1;\n    y[i_n1] = s_n1 + s_1;"));
}

TEST(UnrollAndJam, ReplacesNamesInMacroArguments) {
  EXPECT_THAT(after("unroll_and_jam",
                    "#define AT(r, c) ((r) * n + (c))\n__global__ void k(float *y, int n) {\n  int i = threadIdx.x + "
                    "blockIdx.x * blockDim.x;\n"
                    "  if (i < n) y[AT(i, 1)] = i;\n}\n",
                    {{"x", 2}, {"y", 1}, {"z", 1}}),
              HasSubstr("y[AT(i[u], 1)] = i[u];"));
}

TEST(UnrollAndJam, LeavesKernelsWhoseMacrosUseTheIndex) {
  EXPECT_EQ(
      after(
          "unroll_and_jam",
          "#define HERE y[i]\n__global__ void k(float *y, int n) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
          "  if (i < n) HERE = 1;\n}\n",
          {{"x", 2}, {"y", 1}, {"z", 1}}),
      "");
}

TEST(UnrollAndJam, LeavesBarriersSharedMemoryAndEarlyExits) {
  const Bindings two = {{"x", 2}, {"y", 1}, {"z", 1}};
  const std::string index = "  int i = threadIdx.x + blockIdx.x * blockDim.x;\n";
  EXPECT_EQ(
      after("unroll_and_jam",
            "__global__ void k(float *y, int n) {\n" + index + "  __syncthreads();\n  if (i < n) y[i] = 1;\n}\n", two),
      "");
  EXPECT_EQ(
      after("unroll_and_jam",
            "__global__ void k(float *y, int n) {\n" + index + "  __shared__ float t;\n  if (i < n) y[i] = t;\n}\n",
            two),
      "");
  EXPECT_EQ(after("unroll_and_jam",
                  "__global__ void k(float *y, int n) {\n" + index +
                      "  if (i < n) {\n    for (int j = 0; j < n; ++j) {\n      if (y[i] > j) return;\n      y[i] = "
                      "j;\n    }\n  }\n}\n",
                  two),
            "");
  EXPECT_EQ(after("unroll_and_jam",
                  "__global__ void k(float *y, int n) {\n" + index +
                      "  if (i < n) {\n    for (int j = 0; j < n; ++j) {\n      if (y[i] > j) break;\n      y[i] = "
                      "j;\n    }\n  }\n}\n",
                  two),
            "");
}

TEST(UnrollAndJam, RefusesSideEffectsThatDoNotDependOnTheIndex) {
  EXPECT_EQ(after("unroll_and_jam",
                  "__global__ void k(float *y, int *count, int n) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
                  "  if (i < n) {\n    count[0] += 1;\n    y[i] = 1;\n  }\n}\n",
                  {{"x", 2}, {"y", 1}, {"z", 1}}),
            "");
}

TEST(UnrollAndJam, RepeatsInitialisationsThatAnIterationOverwrites) {
  const std::string loop =
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {\n    while (t < n) y[i * n + t++] = 1;\n  "
      "}\n}\n";
  const std::string text = "__global__ void k(float *y, int n) {\n  int t, u = 3;\n  t = u;\n" + loop;
  std::string jammed = after("unroll_and_jam", text, {{"x", 2}, {"y", 1}, {"z", 1}});
  EXPECT_THAT(jammed.substr(jammed.find("iteration < 2")), HasSubstr("int t, u = 3;\n      t = u;\n"))
      << "in every iteration";
  EXPECT_THAT(
      after("block_coarsening", text, {{"factor", 2}}),
      HasSubstr("for (int block_iteration = 0; block_iteration < 2; ++block_iteration) {\n    int t, u = 3;\n"));
  EXPECT_EQ(after("block_coarsening", "__global__ void k(float *y, int n, int t) {\n" + loop, {{"factor", 2}}), "");
  EXPECT_EQ(
      after("unroll_and_jam", "__global__ void k(float *y, int n, int t) {\n" + loop, {{"x", 2}, {"y", 1}, {"z", 1}}),
      "");
}

TEST(UnrollAndJam, KnowsThatACallMayChangeALocalArray) {
  const std::string note =
      "__device__ void note(int* seen, float x) { if (x < 0) seen[0] = 1; }\n__device__ int first(const int* seen) { "
      "return seen[0]; }\n";
  const std::string index = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n";
  const Bindings two = {{"x", 2}, {"y", 1}, {"z", 1}};
  const std::string text = note + "__global__ void k(float *y, int n) {\n  int seen[1] = {0};\n" + index +
                           "  note(seen, y[i]);\n  y[i] = first(seen);\n}\n";
  EXPECT_THAT(after("block_coarsening", text, {{"factor", 2}}),
              HasSubstr("++block_iteration) {\n    int seen[1] = {0};\n"))
      << "each iteration initialises the array";
  EXPECT_THAT(after("unroll_and_jam", text, two), testing::Not(HasSubstr("note(seen, y[i_1])")))
      << "each neighbour needs an array of its own";
  EXPECT_THAT(after("block_coarsening",
                    note + "__global__ void k(float *y, int n) {\n  int seen[1] = {0};\n" + index +
                        "  y[i] = first(seen);\n}\n",
                    {{"factor", 2}}),
              HasSubstr("int seen[1] = {0};\n  for (int block_iteration"));
  for (auto* kept : {"  int* p = seen;\n", "  int* p = &seen[0];\n", "  int* p;\n  p = n > 3 ? seen : seen + 1;\n"}) {
    const std::string through = "__global__ void k(float *y, int n) {\n  int seen[2] = {0, 0};\n" + std::string(kept) +
                                index + "  *p += 1;\n  y[i] = seen[0];\n}\n";
    EXPECT_EQ(after("block_coarsening", through, {{"factor", 2}}), "") << kept;
    EXPECT_EQ(after("unroll_and_jam", through, two), "") << kept;
  }
}

TEST(UnrollAndJam, DropsPragmasOfRepeatedLoopsAndKeepsComments) {
  std::string text = after("unroll_and_jam", R"(__global__ void k(int n, float *b, float *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if ((i < n) && (j < n)) {
    float sum = 0;
#pragma unroll 4
    for (int m = i; m < n; m++) {
      sum += b[m * n + j];  // from i on
    }
    c[i * n + j] = sum;
  }
}
)",
                           {{"x", 1}, {"y", 2}, {"z", 1}}, 0, plane());
  EXPECT_THAT(text, HasSubstr("for (int m = i[u]; m < n; m++)"));
  size_t pragma = text.find("#pragma unroll 4");
  ASSERT_NE(pragma, text.npos);
  EXPECT_EQ(text.find("for (", pragma), text.find("for (int m = i;")) << "only in the remainder loop: " << text;
  EXPECT_EQ(text.find("#pragma unroll 4", pragma + 1), text.npos);
  EXPECT_THAT(text, HasSubstr("// from i on"));
}

TEST(UnrollAndJam, DoesNotUnrollTheRemainderLoop) {
  std::string text = after("unroll_and_jam", kGemm, {{"x", 1}, {"y", 2}, {"z", 1}}, 0, plane());
  EXPECT_THAT(text, HasSubstr("    #pragma unroll 1\n    for (int iteration = 0;"));
  EXPECT_EQ(offers("unroll", kGemm, {{"factor", 4}}).size(), 1u);
  EXPECT_EQ(offers("unroll", text, {{"factor", 4}}).size(), 1u) << "the loop over k, not the remainder loop";
}

TEST(UnrollAndJam, DoesNotTakeCopiesOfRecordsForBarriers) {
  const std::string text =
      "struct V { float x, y; };\nstruct P { V at, speed; int alive; };\n__global__ void k(P *ps, int n) {\n  int i = "
      "blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
      "  P p = ps[i];\n  p.at.x += p.speed.x;\n  V old = p.at;\n  p.speed = old;\n  ps[i] = p;\n}\n";
  EXPECT_NE(after("unroll_and_jam", text, {{"x", 2}, {"y", 1}, {"z", 1}}), "");
  EXPECT_NE(after("block_coarsening", text, {{"factor", 2}}), "");
}

}  // namespace
}  // namespace kernelift::tuner
