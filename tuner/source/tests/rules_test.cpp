// Claims about rewrite rules, as inline before and after. Every text a rule makes must parse again.
#include "tuner/source/rules/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/compiler/frontend.h"
#include "tuner/source/rule_proposer.h"
#include "tuner/source/rules/own_lines.h"
#include "tuner/source/tests/rule_text.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kProduct = R"(__global__ void k(float *a, float *b, float *c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) {
    c[j] = 0;
    // The whole row.
    for (int i = 0; i < n; i++) {
      c[j] += a[j * n + i] * b[i * n + j];
    }
  }
}
)";

TEST(ScalarPromotion, KeepsTheElementInARegister) {
  std::string text = after("scalar_promotion", kProduct);
  EXPECT_THAT(text, HasSubstr("    float c_sum = c[j];\n    for (int i = 0; i < n; i++) {\n"));
  EXPECT_THAT(text, HasSubstr("c_sum += a[j * n + i] * b[i * n + j];\n    }\n    c[j] = c_sum;\n"));
  EXPECT_THAT(text, HasSubstr("// The whole row.\n"));
}

TEST(ScalarPromotion, UnderstandsTheLongSpelling) {
  EXPECT_THAT(
      after("scalar_promotion",
            "__global__ void k(double *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] = y[ 0 ] + i;\n}\n"),
      HasSubstr("double y_sum = y[0];\n  for (int i = 0; i < n; ++i)\n    y_sum = y_sum + i;\n  y[0] = y_sum;\n"));
}

TEST(ScalarPromotion, LeavesAnElementAloneThatMovesWithTheLoop) {
  EXPECT_EQ(after("scalar_promotion",
                  "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[i] += 1;\n}\n"),
            "");
}

TEST(ScalarPromotion, LeavesAnArrayAloneThatIsReadElsewhereInTheLoop) {
  EXPECT_EQ(after("scalar_promotion",
                  "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += y[i];\n}\n"),
            "");
}

TEST(ScalarPromotion, LeavesALoopAloneThatReturns) {
  EXPECT_EQ(after("scalar_promotion",
                  "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i) {\n    y[0] += i;\n    if (y[0] "
                  "> 9) return;\n  }\n}\n"),
            "");
}

TEST(ScalarPromotion, WorksInTemplates) {
  EXPECT_THAT(
      after(
          "scalar_promotion",
          "template <class T> __global__ void k(T *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += T(i);\n}\n"),
      HasSubstr("auto y_sum = y[0];"));
}

TEST(ScalarPromotion, TakesEveryAccumulatorOfTheLoopAtOnce) {
  std::string text = after("scalar_promotion",
                           "__global__ void k(float *x, float *y, int n) {\n  for (int i = 0; i < n; ++i) {\n    x[0] "
                           "+= i;\n    y[n] -= i;\n  }\n}\n");
  EXPECT_THAT(text, HasSubstr("  float x_sum = x[0];\n  float y_sum = y[n];\n  for"));
  EXPECT_THAT(text, HasSubstr("  }\n  x[0] = x_sum;\n  y[n] = y_sum;\n}\n"));
}

TEST(ScalarPromotion, SeesThroughAnIndexThatAPureMethodComputes) {
  EXPECT_THAT(after("scalar_promotion",
                    R"(struct Extent { int nx; __device__ int at(int x, int y) const { return y * nx + x; } };
template <class T> __device__ T flow(const T *p, int i) { return p[i] * 2; }
template <class T> __global__ void k(T *r, const T *p, Extent e, int x) {
  for (int a = 0; a < 3; ++a) {
    if (a == x) continue;
    r[e.at(x, 1)] += flow(p, a);
  }
}
)"),
              HasSubstr("auto r_sum = r[e.at(x, 1)];\n  for"));
}

TEST(ScalarPromotion, LeavesAnElementAloneWhoseAddressIsHandedOver) {
  EXPECT_EQ(after("scalar_promotion",
                  "__device__ void add(float *at, float x) { at[1] += x; }\n__global__ void k(float *y, int n) {\n  "
                  "for (int i = 0; i < n; ++i) {\n    y[0] += i;\n    add(&y[0], i);\n  }\n}\n"),
            "");
}

TEST(ScalarPromotion, LeavesAnIndexAloneThatReadsMemory) {
  EXPECT_EQ(
      after("scalar_promotion",
            "__global__ void k(float *y, int *at, int n) {\n  for (int i = 0; i < n; ++i)\n    y[at[0]] += i;\n}\n"),
      "");
}

TEST(ScalarPromotion, LeavesALoopAloneThatWaitsInACalledFunction) {
  EXPECT_EQ(after("scalar_promotion",
                  "__device__ void wait() { __syncthreads(); }\n__global__ void k(float *y, int n) {\n  for (int i = "
                  "0; i < n; ++i) {\n    y[0] += i;\n    wait();\n  }\n}\n"),
            "");
}

TEST(ScalarPromotion, TouchesAnElementThatMayNotBeThereOnlyWhereTheLoopRuns) {
  auto with = [](const std::string& before, const std::string& element, const std::string& to = "n") {
    return after(
        "scalar_promotion",
        "__global__ void k(float *y, const int *slot, int n) {\n  int t = threadIdx.x;\n  int s = slot[t];\n  " +
            before + "for (int i = 0; i < " + to + "; ++i)\n    y[" + element + "] += i;\n}\n");
  };
  EXPECT_THAT(
      with("", "s"),
      HasSubstr("  const bool has_iterations = 0 < n;\n  float y_sum = has_iterations ? y[s] : 0;\n  for (int i = 0; "
                "i < n; ++i)\n    y_sum += i;\n  if (has_iterations) y[s] = y_sum;\n"))
      << "-1, say, of a row without elements";
  EXPECT_THAT(with("", "t - 1"), HasSubstr("has_iterations ? y[t - 1]"));
  EXPECT_THAT(with("", "t"), HasSubstr("float y_sum = y[t];"));
  EXPECT_THAT(with("", "s", "3"), HasSubstr("float y_sum = y[s];")) << "it does run";
  EXPECT_THAT(with("y[s] = 0;\n  ", "s"), HasSubstr("float y_sum = y[s];")) << "it is there";
  EXPECT_THAT(with("y[s] = 0;\n  s = -1;\n  ", "s"), HasSubstr("has_iterations ? y[s]"));
  EXPECT_THAT(with("if (s > 0) y[s] = 0;\n  ", "s"), HasSubstr("has_iterations ? y[s]"));
  EXPECT_EQ(with("", "s", "slot[--s]"), "") << "asked twice it would be another";
}

TEST(ScalarPromotion, TouchesNothingForAThreadWhoseOwnRangeIsEmpty) {
  const std::string rows =
      after("scalar_promotion", R"(__global__ void k(float *y, const float *a, const int *first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, start = 0, end = 0;
  if (i < n) { start = first[i]; end = first[i + 1]; }
  for (int j = start; j < end; ++j) y[i] += a[j];
}
)");
  EXPECT_THAT(rows, HasSubstr("const bool has_iterations = start < end;\n  float y_sum = has_iterations ? y[i] : 0;\n  "
                              "for (int j = start; j "
                              "< end; ++j) y_sum += a[j];\n  if (has_iterations) y[i] = y_sum;"));
  EXPECT_THAT(after("scalar_promotion",
                    "__global__ void k(float *y, const int *first, int n) {\n  int i = first[threadIdx.x];\n  for "
                    "(unsigned j = i; j < n; ++j) y[i] += j;\n}\n"),
              HasSubstr("const bool has_iterations = (unsigned int)i < n;"))
      << "-1 is the largest of them";
  const std::string lanes = after("scalar_promotion", R"(__global__ void k(float *y, const float *a, int m) {
  int lane = threadIdx.x % 32, group = threadIdx.x / 32;
  for (int j = lane * 64; j < m; ++j) y[group] += a[j];
}
)");
  EXPECT_THAT(lanes, HasSubstr("const bool has_iterations = (lane * 64) < m;"))
      << "lanes without a turn would put back what was there before the others'";
  const std::string memory =
      after("scalar_promotion", R"(__global__ void k(float *y, const float *a, const int *first) {
  int i = threadIdx.x;
  for (int j = first[i]; j < first[i + 1]; ++j) y[i] += a[j];
}
)");
  EXPECT_THAT(memory, HasSubstr("const bool has_iterations = first[i] < first[i + 1];\n"));
}

TEST(ScalarPromotion, TouchesNothingWhereATurnMayNotComeToTheElement) {
  auto in = [](const std::string& loop) {
    return after(
        "scalar_promotion",
        "__global__ void k(float *y, const float *a, int n, int m) {\n  int i = threadIdx.x;\n  " + loop + "\n}\n");
  };
  EXPECT_EQ(in("for (int j = 0; j < m; ++j) {\n    if (i >= n) break;\n    y[i] += a[j];\n  }"), "");
  EXPECT_EQ(in("for (int j = 0; j < m; ++j)\n    i < n && (y[i] += a[j]);"), "");
  EXPECT_EQ(in("for (int j = 0; j < m; ++j)\n    for (int l = 0; l < n - i; ++l)\n      if (a[l] > 0) continue;\n      "
               "else y[i] += a[l];"),
            "");
  EXPECT_THAT(in("y[i] = 0;\n  for (int j = 0; j < m; ++j) {\n    if (a[j] < 0) break;\n    y[i] += a[j];\n  }"),
              HasSubstr("y_sum += a[j]"));
  const std::string nest =
      in("for (int j = 0; j < m; ++j) {\n    for (int l = 0; l < n - i; ++l)\n      y[i] += a[l];\n  }");
  EXPECT_THAT(nest, AllOf(HasSubstr("has_iterations"), Not(HasSubstr("y_sum = y[i];\n  for (int j"))))
      << "the inner loop alone";
  EXPECT_THAT(in("for (int j = 0; j < m; ++j)\n    for (int l = 0; l < n; ++l)\n      y[i] += a[l];"),
              HasSubstr("float y_sum = y[i];\n  for (int j"));
}

TEST(ScalarPromotion, LeavesAPointerAloneThatWasMadeFromOneThatIsReadInTheLoop) {
  auto in = [](const std::string& body) {
    return after("scalar_promotion", "__global__ void k(float *a, float *b, const int *at, int n) {\n" + body + "}\n");
  };
  const std::string row = "  float *row = a + threadIdx.x * n;\n  float *mine = row + 1;\n",
                    head = "  for (int i = 0; i < n; ++i)\n    mine[0] += ";
  EXPECT_EQ(in(row + head + "a[at[i]];\n"), "");
  EXPECT_EQ(in(row + head + "row[at[i]];\n"), "");
  EXPECT_NE(in(row + head + "b[at[i]];\n"), "");
  EXPECT_EQ(in("  float *mine;\n  mine = a + 1;\n" + head + "a[at[i]];\n"), "");
}

TEST(ScalarPromotion, LeavesAPointerAloneThatAFunctionIsGivenBesideItsOwnMemory) {
  auto called = [](const std::string& with) {
    return after(
        "scalar_promotion",
        "__device__ void add(float *y, const float *x, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += x[i];\n}\n"
        "__global__ void k(float *a, float *b, int n) {\n  add(" +
            with + ", n);\n}\n");
  };
  EXPECT_NE(called("a + threadIdx.x, b"), "");
  EXPECT_EQ(called("a + threadIdx.x, a"), "");
}

TEST(RestrictPointers, MarksEveryPointerRestrict) {
  EXPECT_THAT(after("restrict_pointers", kProduct, {{"ldg", 0}}),
              HasSubstr("k(float *__restrict__ a, float *__restrict__ b, float *__restrict__ c, int n)"));
}

TEST(RestrictPointers, ReadsThroughTheCacheWhatIsNeverWritten) {
  std::string text = after("restrict_pointers", kProduct, {{"ldg", 1}});
  EXPECT_THAT(text, HasSubstr("c[j] += __ldg(&a[j * n + i]) * __ldg(&b[i * n + j]);"));
}

TEST(RestrictPointers, LeavesPointersAloneWhoseMemoryIsReachedAnotherWay) {
  RuleContext known = facts();
  known.shared_pointers = {0, 2};
  std::string text = after("restrict_pointers", kProduct, {{"ldg", 1}}, 0, known);
  EXPECT_THAT(text, HasSubstr("k(float *a, float *__restrict__ b, float *c, int n)"));
  EXPECT_THAT(text, HasSubstr("c[j] += a[j * n + i] * __ldg(&b[i * n + j]);"));
  known.shared_pointers = {0, 1, 2};
  EXPECT_EQ(after("restrict_pointers", kProduct, {{"ldg", 0}}, 0, known), "");
}

TEST(Unroll, PutsThePragmaOnItsOwnLine) {
  EXPECT_THAT(after("unroll", kProduct, {{"factor", 4}}),
              HasSubstr("// The whole row.\n    #pragma unroll 4\n    for (int i"));
}

TEST(Unroll, LeavesALoopAloneThatHasAPragma) {
  EXPECT_EQ(
      after(
          "unroll",
          "__global__ void k(float *y, int n) {\n#pragma unroll 2\n  for (int i = 0; i < n; ++i)\n    y[i] += 1;\n}\n",
          {{"factor", 4}}),
      "");
}

TEST(Unroll, UnrollsFullyOnlyWithConstantBounds) {
  EXPECT_EQ(after("unroll", kProduct, {{"factor", 0}}), "");
  EXPECT_THAT(after("unroll", "__global__ void k(float *y) {\n  for (int i = 0; i < 9; ++i)\n    y[i] += 1;\n}\n",
                    {{"factor", 0}}),
              HasSubstr("  #pragma unroll\n  for"));
}

TEST(BlockCoarsening, WrapsTheRestOfTheKernelAndShrinksTheGrid) {
  std::string text = after("block_coarsening", kProduct, {{"factor", 4}});
  EXPECT_THAT(text, HasSubstr("  for (int block_iteration = 0; block_iteration < 4; ++block_iteration) {\n  int j = "
                              "(blockIdx.x * 4 + block_iteration) * blockDim.x + threadIdx.x;\n"));
  EXPECT_THAT(text, HasSubstr("  }\n  }\n}\n"));
  auto found = offers("block_coarsening", kProduct, {{"factor", 4}});
  EXPECT_EQ(found[0].grid[0].divide, 4);
}

TEST(BlockCoarsening, TurnsAGuardsReturnIntoContinue) {
  EXPECT_THAT(after("block_coarsening",
                    "__global__ void k(float *y, int n) {\n  const int i = threadIdx.x + blockIdx.x * blockDim.x;\n  "
                    "if (i >= n) return;\n  y[i] = 1;\n}\n",
                    {{"factor", 2}}),
              HasSubstr("if (i >= n) continue;"));
}

TEST(BlockCoarsening, KnowsAnIndexWhoseWidthIsAMacro) {
  EXPECT_THAT(after("block_coarsening",
                    "#define W 64\n__global__ void k(float *y, int n) {\n  int i = blockIdx.x * W + threadIdx.x;\n  if "
                    "(i >= n) return;\n  y[i] = 1;\n}\n",
                    {{"factor", 2}}),
              HasSubstr("int i = (blockIdx.x * 2 + block_iteration) * W + threadIdx.x;"));
}

TEST(BlockCoarsening, RefusesKernelsWithBarriers) {
  EXPECT_EQ(after("block_coarsening",
                  "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
                  "__syncthreads();\n  if (i < n) y[i] = 1;\n}\n",
                  {{"factor", 2}}),
            "");
}

TEST(BlockCoarsening, RefusesAnUnguardedKernel) {
  // It would be right on a grid that divides, but the application may be run with another.
  EXPECT_EQ(after("block_coarsening",
                  "__global__ void k(float *y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = 1;\n}\n",
                  {{"factor", 2}}, 0, facts(100)),
            "");
}

TEST(BlockCoarsening, RefusesAGridStrideLoop) {
  EXPECT_EQ(after("block_coarsening",
                  "__global__ void k(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  for (; i "
                  "< n; i += gridDim.x * blockDim.x) y[i] = 1;\n}\n",
                  {{"factor", 2}}),
            "");
}

TEST(PadShared, AddsAColumn) {
  EXPECT_THAT(after("pad_shared",
                    "__global__ void k(float *y) {\n  __shared__ float tile[16][16];\n  tile[threadIdx.x][0] = 1;\n  "
                    "__syncthreads();\n  y[0] = tile[0][threadIdx.x];\n}\n",
                    {{"pad", 1}}),
              HasSubstr("float tile[16][16 + 1];"));
}

TEST(PadShared, AddsToTheWholeOfAComputedSize) {
  EXPECT_THAT(after("pad_shared",
                    "__global__ void k(float *y) {\n  __shared__ float tile[16][1 << 4];\n  tile[threadIdx.x][0] = "
                    "1;\n  y[0] = tile[0][threadIdx.x];\n}\n",
                    {{"pad", 1}}),
              HasSubstr("float tile[16][(1 << 4) + 1];"));
}

TEST(PadShared, LeavesTheRoomAloneThatALaunchMayAskFor) {
  EXPECT_EQ(after("pad_shared",
                  "__global__ void k(float *y) {\n  __shared__ float tile[16][16];\n  extern __shared__ float "
                  "more[];\n  tile[threadIdx.x][0] = more[0];\n  y[0] = tile[0][threadIdx.x];\n}\n",
                  {{"pad", 1}}),
            "");
}

TEST(PadShared, LeavesATileAloneThatIsUsedAsOneArray) {
  EXPECT_EQ(after("pad_shared",
                  "__global__ void k(float *y) {\n  __shared__ float tile[16][16];\n  float *flat = tile[0];\n  y[0] = "
                  "flat[17];\n}\n",
                  {{"pad", 1}}),
            "");
}

TEST(PadShared, TakesIndicesThatStayInTheirRowAndNoOthers) {
  auto pads = [](const std::string& body, const std::string& tile = "tile[16][16]") {
    return after("pad_shared",
                 "#define B 16\n__device__ void fill(float *);\n__global__ void k(float *y, int n) {\n  __shared__ "
                 "float " +
                     tile + ";\n  int tx = threadIdx.x;\n  " + body + "\n}\n",
                 {{"pad", 1}}) != "";
  };
  EXPECT_TRUE(pads("for (int j = 0; j < B; j += 4) tile[tx][threadIdx.y + j] = 1;\n  y[0] = tile[tx + 1][tx - 1];"));
  EXPECT_TRUE(pads("y[0] = tile[n][n % B] + tile[n][(tx / 2) % 8];"));
  EXPECT_FALSE(pads("for (int e = tx; e < 256; e += 64) tile[0][e] = 1;\n  y[0] = tile[tx][0];")) << "over all rows";
  EXPECT_FALSE(pads("for (int e = tx; e < n; e += 64) tile[0][e] = 1;")) << "who knows how far";
  EXPECT_FALSE(pads("tile[0][threadIdx.y * B + tx] = 1;"));
  EXPECT_FALSE(pads("int e = threadIdx.y * B + tx;\n  tile[0][e] = 1;"));
  EXPECT_FALSE(pads("tx += n;\n  tile[0][tx] = 1;"));
  EXPECT_FALSE(pads("tile[0][16] = 1;")) << "the next row's first";
  EXPECT_TRUE(pads("tile[1][0][tx] = 1;", "tile[2][16][16]"));
  EXPECT_FALSE(pads("fill(tile[1][0]);", "tile[2][16][16]")) << "a row is handed over";
  EXPECT_FALSE(pads("float *row = tile[1][0];\n  row[0] = 1;", "tile[2][16][16]"));
}

TEST(ScalarPromotion, LeavesElementsAloneThatNotEveryTurnTouches) {
  auto with = [](const std::string& body, const RuleContext& known = facts()) {
    return after("scalar_promotion",
                 "__global__ void k(float *y, const float *x, int n) {\n  for (int i = 0; i < n; ++i) {\n    " + body +
                     "\n  }\n}\n",
                 {}, 0, known);
  };
  EXPECT_NE(with("y[n] += x[i];"), "");
  EXPECT_EQ(with("if (x[i] > 0) y[n] += x[i];"), "") << "there may be no such element, or it may be another thread's";
  EXPECT_EQ(with("if (x[i] > 0) continue;\n    y[n] += x[i];"), "");
  EXPECT_EQ(with("if (n > 7) continue;\n    y[n] += x[i];"), "");
  EXPECT_NE(with("if (i == 7) continue;\n    y[n] += x[i];"), "") << "some turns";
  RuleContext shared = facts();
  shared.shared_pointers = {0};
  EXPECT_EQ(with("y[n] += x[i];", shared), "") << "x may lead to y[n]";
}

TEST(LaunchBounds, StateTheRecordedBlock) {
  EXPECT_THAT(after("launch_bounds", kProduct, {{"min_blocks", 2}}),
              HasSubstr("__global__ void __launch_bounds__(256, 2) k("));
  RuleContext on_cpu = facts();
  on_cpu.on_cpu = true;
  EXPECT_EQ(after("launch_bounds", kProduct, {{"min_blocks", 2}}, 0, on_cpu), "") << "where they change nothing";
}

TEST(LaunchBounds, FollowTheKnobsThatTheLaunchTakesItsBlockFrom) {
  std::string text = "#define BX 32\n#define HALF 4\n" + kProduct;
  Mep mep;
  mep.kernel_name = "k";
  MepInstance instance;
  instance.geometry = {{100, 1, 1}, {32, 8, 1}};
  mep.instances = {instance};
  LaunchSite site;
  site.block[0] = "BX", site.block[1] = "2 * HALF", site.block[2] = "1";
  mep.launches = {site};
  mep.knobs = {{"BX", 32, {}, true, true, true, {}}, {"HALF", 4, {}, true, true, true, {}}};
  EXPECT_THAT(after("launch_bounds", text, {{"min_blocks", 0}}, 0, RuleContext::of(mep)),
              HasSubstr("__launch_bounds__(BX * (2 * HALF)) k("));
  mep.knobs[1].in_kernel = false;
  EXPECT_EQ(after("launch_bounds", text, {{"min_blocks", 0}}, 0, RuleContext::of(mep)), "")
      << "HALF is out of the kernel's sight";
  mep.launches[0].block[0] = "256", mep.launches[0].block[1] = "1";
  EXPECT_THAT(after("launch_bounds", text, {{"min_blocks", 0}}, 0, RuleContext::of(mep)),
              HasSubstr("__launch_bounds__(256) k("));
}

TEST(LaunchBounds, AreStatedOnlyWhereNoLaunchCanExceedThem) {
  Mep mep;
  mep.kernel_name = "k";
  MepInstance instance;
  instance.geometry = {{100, 1, 1}, {256, 1, 1}};
  mep.instances = {instance};
  auto with = [&](const std::vector<std::string>& blocks) {
    mep.launches.clear();
    for (auto& block : blocks) {
      LaunchSite site;
      site.block[0] = block, site.block[1] = site.block[2] = "1";
      mep.launches.push_back(site);
    }
    return after("launch_bounds", kProduct, {{"min_blocks", 0}}, 0, RuleContext::of(mep));
  };
  EXPECT_THAT(with({"256", "512"}), HasSubstr("__launch_bounds__(512) k(")) << "another launch's block is as good";
  EXPECT_EQ(with({"256", "threads"}), "") << "which the program computes";
  EXPECT_EQ(with({"256", ""}), "") << "which nobody could read";
  EXPECT_EQ(with({}), "") << "launches that nobody saw";
  LaunchSite sibling;
  sibling.block[0] = "512", sibling.block[1] = sibling.block[2] = "1";
  mep.sibling_launches = {sibling};
  EXPECT_THAT(with({"256"}), HasSubstr("__launch_bounds__(512) k(")) << "of another instance of its template";
  mep.unseen_launches = "its address is taken at main.cu:7";
  EXPECT_EQ(with({"256"}), "");
}

TEST(LaunchBounds, AreNotStatedTwice) {
  EXPECT_EQ(
      after("launch_bounds", "__global__ void __launch_bounds__(64) k(float *y) { y[0] = 1; }\n", {{"min_blocks", 0}}),
      "");
}

TEST(ConstantToGlobal, MovesATableThatThreadsLookUpApart) {
  const std::string text =
      "__constant__ unsigned char table[256];\n__constant__ float same[4];\n__global__ void k(int *y, const int *x, "
      "int n) {\n"
      "  int i = threadIdx.x;\n  float s = 0;\n  for (int j = 0; j < 4; ++j) s += same[j] + same[n];\n  y[i] = "
      "table[x[i] & 255] + s;\n}\n";
  EXPECT_THAT(after("constant_to_global", text),
              HasSubstr("__device__ unsigned char table[256];\n__constant__ float same[4];"));
  EXPECT_EQ(offers("constant_to_global", text, {}).size(), 1u) << "same is read at one index by all threads";
}

KernelFacts facts_of(double dram, double fp32, double issue) {
  KernelFacts facts;
  facts.seconds = 1;
  facts.peaks.dram_bytes = facts.peaks.fp32_operations = 1;
  facts.dram_read_bytes = dram, facts.dram_written_bytes = 0, facts.fp32_operations = fp32, facts.issue_active = issue;
  return facts;
}

TEST(Bound, IsTheHighestRoofOrElseWhatWarpsWaitFor) {
  EXPECT_EQ(bound_by(facts_of(0.8, 0.3, 0.2)), Bound::Memory);
  EXPECT_EQ(bound_by(facts_of(0.3, 0.6, 0.2)), Bound::Compute);
  EXPECT_EQ(bound_by(facts_of(0.1, 0.1, 0.7)), Bound::Compute)
      << "integer arithmetic has no roof, but keeps schedulers busy";
  KernelFacts waiting = facts_of(0.1, 0.1, 0.2);
  waiting.stalls = {{"long_scoreboard", 20}, {"lg_throttle", 3}, {"selected", 1}};
  EXPECT_EQ(bound_by(waiting), Bound::Latency);
  waiting.stalls["lg_throttle"] = 60;
  EXPECT_EQ(bound_by(waiting), Bound::Memory);
  EXPECT_EQ(bound_by(KernelFacts{}), Bound::Unknown);
}

TEST(RuleProposer, BeginsWithWhatSuitsTheKernel) {
  auto first = [](Bound bound) {
    History history;
    Candidate original;
    original.source =
        "__global__ void k(float *y, float s, int n) {\n  for (int i = 0; i < n; ++i)\n    y[i] = expf(y[i]) / s;\n}\n";
    original.tier = "baseline";
    history.add({1, original, fake_ok(1), {}, {}, 0});
    RuleContext known = facts();
    known.bound = bound;
    return RuleProposer(known, arguments()).propose(history, 1).at(0).candidate.proposer;
  };
  EXPECT_EQ(first(Bound::Latency), "rules/unroll");
  EXPECT_EQ(first(Bound::Compute), "rules/reciprocal");
}

TEST(RuleContext, TakesTheArraysOfAPoolForOnePieceOfMemory) {
  auto shared = [](uint64_t part_of) {
    Mep mep;
    mep.parameters = {{"a", "float *", "float", false, ""}, {"b", "int *", "int", false, ""}};
    MepInstance instance;
    instance.parameters = {{0, 8}, {8, 8}}, instance.argument_pointers = {0, 8};
    const uint64_t places[] = {0x1000, 0x2000};
    instance.arguments.resize(16), instance.regions.resize(2);
    std::memcpy(instance.arguments.data(), places, 16);
    for (size_t i = 0; i < 2; ++i)
      instance.regions[i].address = places[i], instance.regions[i].size = 0x1000, instance.regions[i].part_of = part_of;
    mep.instances = {instance};
    return RuleContext::of(mep).shared_pointers.size();
  };
  EXPECT_EQ(shared(0), 0u);
  EXPECT_EQ(shared(0x1000), 2u) << "how far the kernel goes from either is not known";
}

TEST(RuleContext, KnowsPointersIntoOnePieceOfMemory) {
  // Two arrays of 4 KiB at 0x1000 and 0x4000; a and b are pointers, c is a structure with one more.
  auto known = [](std::vector<uint64_t> addresses, uint64_t pointer_stride = 0) {
    Mep mep;
    mep.parameters = {
        {"a", "float *", "float", false, ""}, {"b", "float *", "float", false, ""}, {"c", "View", "", false, ""}};
    MepInstance instance;
    instance.parameters = {{0, 8}, {8, 8}, {16, 16}};
    instance.argument_pointers = {0, 8, 24};
    instance.arguments.resize(32);
    for (size_t i = 0; i < 3; ++i) std::memcpy(instance.arguments.data() + (i < 2 ? 8 * i : 24), &addresses[i], 8);
    MepRegion first, second;
    first.address = 0x1000, first.size = 0x1000, second.address = 0x4000, second.size = 0x1000;
    second.pointer_stride = pointer_stride;
    instance.regions = {first, second};
    MepInstance apart = instance;
    const uint64_t places[] = {0x1000, 0x4000, 0};
    std::memcpy(apart.arguments.data(), places, 16), std::memcpy(apart.arguments.data() + 24, places + 2, 8);
    mep.instances = {instance, apart};
    mep.instances[1].regions[1].pointer_stride = 0;
    return RuleContext::of(mep);
  };
  auto shared = [&](std::vector<uint64_t> addresses, uint64_t pointer_stride = 0) {
    return known(addresses, pointer_stride).shared_pointers;
  };
  using Set = std::set<size_t>;
  EXPECT_EQ(shared({0x1000, 0x1000, 0}), (Set{0, 1}));
  EXPECT_EQ(shared({0x1000, 0x1020, 0}), (Set{0, 1})) << "smooth(buffer, buffer + 8, n): the ranges overlap";
  EXPECT_EQ(shared({0x1000, 0x4000, 0}), Set{});
  EXPECT_EQ(shared({0x1000, 0x4000, 0x4800}), Set{1}) << "by a member of the structure";
  EXPECT_EQ(shared({0x1000, 0x4000, 0}, 8), (Set{0, 1})) << "addresses lie in memory";
  EXPECT_EQ(shared({0x9000, 0x9000, 0}), (Set{0, 1})) << "nothing of it was recorded";
  EXPECT_EQ(shared({0, 0, 0}), Set{});
  EXPECT_EQ(known({0x1000, 0x4800, 0}).extents.at(1), 0x1000u)
      << "as far as in the launch that pointed to the beginning";
}

TEST(Rules, LeaveMacrosAlone) {
  std::string text =
      "#define LOOP for (int i = 0; i < n; ++i)\n#define HALF 0.5\n__global__ void k(float *y, int n) {\n  LOOP y[0] "
      "+= HALF * y[1];\n}\n";
  for (auto* rule : all_rules()) {
    auto source = KernelSource::parse(text, arguments());
    for (auto& opportunity : opportunities(*rule, *source, facts()))
      EXPECT_THAT(*apply_edits(text, opportunity.edits),
                  HasSubstr("#define LOOP for (int i = 0; i < n; ++i)\n#define HALF 0.5\n"));
  }
}

TEST(Rules, ComposeOnEachOthersOutputAndAlwaysParse) {
  std::string text = kProduct;
  for (int round = 0; round < 2; ++round)
    for (auto* rule : all_rules()) {
      auto source = KernelSource::parse(text, arguments());
      ASSERT_TRUE(source.ok()) << source.error().message << "\n" << text;
      auto found = opportunities(*rule, *source, facts());
      if (!found.empty()) text = *apply_edits(text, found[0].edits);
    }
  auto source = KernelSource::parse(text, frontend_arguments({}));
  EXPECT_TRUE(source.ok()) << source.error().message << "\n" << text;
}

TEST(Edits, ThatOverlapAreRefused) { EXPECT_FALSE(apply_edits("abcdef", {{0, 3, "x"}, {2, 4, "y"}})); }

TEST(RuleProposer, StacksEditsOnWhatProvedFast) {
  History history;
  Candidate original;
  original.source = kProduct, original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  RuleProposer proposer(facts(), arguments());
  std::string best;
  for (int64_t id = 2; id < 60; ++id) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) break;
    const std::string& text = proposals[0].candidate.source;
    bool accumulated = text.find("c_sum") != text.npos, restricted = text.find("__restrict__") != text.npos;
    auto& trial = history.add(
        {id, proposals[0].candidate, fake_ok(1 + 0.5 * accumulated + 0.3 * restricted), {}, proposals[0].parents, 0});
    proposer.learn(trial);
  }
  EXPECT_NEAR(history.best()->verdict.speedup(), 1.8, 1e-9);
  std::set<std::string> rules;
  for (auto& step : history.best()->candidate.steps) rules.insert(step.rule);
  EXPECT_THAT(rules, testing::IsSupersetOf({"scalar_promotion", "restrict_pointers"}));
}

TEST(RuleProposer, TriesEveryIdeaOfTheOriginalThoughOthersBecameFaster) {
  History history;
  Candidate original;
  original.source = kProduct, original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  RuleProposer proposer(facts(), arguments());
  std::vector<std::string> texts;
  // Each edit makes it a little faster, so that the fastest are always far from the original.
  for (int64_t id = 2; id < 120; ++id) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) break;
    texts.push_back(proposals[0].candidate.source);
    double speed = 1 + static_cast<double>(texts.back().size()) * 1e-4;
    proposer.learn(history.add({id, proposals[0].candidate, fake_ok(speed), {}, proposals[0].parents, 0}));
  }
  auto source = KernelSource::parse(kProduct, arguments());
  for (auto* rule : all_rules())
    for (auto& opportunity : opportunities(*rule, *source, facts()))
      EXPECT_THAT(texts, testing::Contains(*apply_edits(kProduct, opportunity.edits)))
          << rule->name << " " << opportunity.place;
}

TEST(RuleProposer, ShrinksTheLaunchOfACoarsenedKernel) {
  auto source = KernelSource::parse(kProduct, arguments());
  Candidate original;
  original.source = kProduct, original.tier = "baseline";
  auto changed = apply(original, kBlockCoarsening, opportunities(kBlockCoarsening, *source, facts()).at(1), "k");
  EXPECT_EQ(changed->launches.at(0).evaluate({{101, 1, 1}, {256, 1, 1}}, {})->grid.x, 26u);
}

TEST(RuleProposer, KeepsTheLaunchOfTheFastestWithAText) {
  History history;
  Candidate original;
  original.source = kProduct, original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  RuleProposer proposer(facts(), arguments());
  EXPECT_EQ(proposer.propose(history, 1).at(0).parents.at(0), 1);
  Candidate wider = original;
  wider.tier = "params", wider.launches = {CandidateLaunch::as_recorded("k")};
  wider.launches[0].block[0] = *Expression::parse("bx * 2");
  history.add({2, wider, fake_ok(1.5), {}, {1}, 0});
  Proposal next = proposer.propose(history, 1).at(0);
  EXPECT_EQ(next.parents.at(0), 2);
  ASSERT_EQ(next.candidate.launches.size(), 1u) << "what was thought of before the launch changed";
  EXPECT_EQ(next.candidate.launches[0].block[0].text(), "bx * 2");
}

TEST(OwnLines, AreThoseOfTheKernelsOutermostStatements) {
  auto of = [](const std::string& text) {
    auto source = KernelSource::parse(text, arguments());
    EXPECT_TRUE(source.ok()) << source.error().message;
    return on_own_lines(*source, "k").value_or("as it is");
  };
  EXPECT_EQ(of("__global__ void k(float* x, int n) { int i = threadIdx.x; if (i < n) { x[i] = 1; n = 2; } }\n"),
            "__global__ void k(float* x, int n) {\n  int i = threadIdx.x;\n  if (i < n) { x[i] = 1; n = 2; }\n}\n");
  EXPECT_EQ(of("__device__ int f() { return 1; }\n__global__ void k(float* x) {\n  int i = f(); /* one */ x[i] = 1; // "
               "set\n  x[1] = 2; }\n"),
            "__device__ int f() { return 1; }\n__global__ void k(float* x) {\n  int i = f(); /* one */\n  x[i] = 1; // "
            "set\n  x[1] = 2;\n}\n");
  EXPECT_EQ(of("__global__ void k(float* x) {\n  for (int i = 0; i < 4; ++i) { x[i] = 1; x[i + 4] = 2; }\n}\n"),
            "as it is");
  EXPECT_EQ(of("__global__ void k(float*) {}\n"), "__global__ void k(float*) {\n}\n");
  EXPECT_EQ(of("#define TWO x[0] = 1; x[1] = 2\n__global__ void k(float* x) { TWO; }\n"), "as it is") << "a macro's";
}

TEST(RuleProposer, BreaksTheLinesOfAKernelForRulesThatNeedTheirOwn) {
  History history;
  Candidate original;
  original.source =
      "__global__ void k(float* y, const float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) "
      "y[i] = x[i]; }\n";
  original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  std::map<std::string, std::string> made;
  for (auto& one : RuleProposer(facts(), arguments()).propose(history, 100))
    made.emplace(one.candidate.proposer, one.candidate.source);
  EXPECT_THAT(made["rules/unroll_and_jam"], HasSubstr("  int i["));
  EXPECT_THAT(made["rules/block_coarsening"], HasSubstr("{\n  for (int block_iteration"));
  EXPECT_THAT(made["rules/restrict_pointers"], testing::Not(HasSubstr("{\n"))) << "which found its place as it was";
}

TEST(RuleProposer, SaysWhenATextDoesNotParse) {
  History history;
  Candidate original;
  original.source = "__global__ void k( {", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  RuleProposer proposer(facts(), arguments());
  EXPECT_TRUE(proposer.propose(history, 1).empty());
  EXPECT_THAT(proposer.take_notes().at(0), HasSubstr("does not parse: line 1"));
}

}  // namespace
}  // namespace kernelift
