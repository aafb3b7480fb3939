// Tests of what a rule must not assume: that pointers of other launches do not overlap, and that an alias or macro has
// the same meaning in another build. What a rule does assume is a premise in the label.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/rule_proposer.h"
#include "tuner/source/rules/launch_pointers.h"
#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

std::set<size_t> shared_at(std::vector<std::vector<std::string>> sites) {
  Mep mep;
  mep.parameters = {
      {"x", "float *", "float", false, ""}, {"y", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
  for (auto& arguments : sites) {
    LaunchSite site;
    site.argument_text = arguments, site.enclosing = "main";
    mep.launches.push_back(site);
  }
  return RuleContext::of(mep).shared_pointers;
}

TEST(LaunchPointers, AreSharedIfASitePassesTheSameMemoryTwice) {
  using Set = std::set<size_t>;
  EXPECT_EQ(shared_at({{"a", "b", "n"}}), Set{});
  EXPECT_EQ(shared_at({{"a", "a", "n"}}), (Set{0, 1}));
  EXPECT_EQ(shared_at({{"a", "in_place ? a : b", "n"}}), (Set{0, 1}));
  EXPECT_EQ(shared_at({{"(const float *)a", "static_cast<float *>( a ) + n * 2", "n"}}), (Set{0, 1}));
  EXPECT_EQ(shared_at({{"&grid->u[0]", "&grid->u[first[1] + n]", "n"}}), (Set{0, 1}));
  EXPECT_EQ(shared_at({{"f[now]", "f[1 - now]", "n"}}), Set{});
  EXPECT_EQ(shared_at({{"f[to]", "f[from]", "n"}}), (Set{0, 1})) << "step(2, 2)";
  EXPECT_EQ(shared_at({{"d.u", "d.v + n", "n"}}), Set{});
  EXPECT_EQ(shared_at({{"nullptr", "nullptr", "n"}}), Set{});
}

TEST(LaunchPointers, AreSharedIfACallerPassesTheSameMemoryTwice) {
  Mep mep;
  mep.parameters = {
      {"x", "float *", "float", false, ""}, {"y", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
  LaunchSite site;
  site.argument_text = {"from", "to", "n"}, site.enclosing = "smooth", site.one_memory = {{0, 1}};
  mep.launches = {site};
  EXPECT_EQ(RuleContext::of(mep).shared_pointers, (std::set<size_t>{0, 1}));
}

TEST(LaunchPointers, AreSharedIfAnySiteSharesThem) {
  using Set = std::set<size_t>;
  EXPECT_EQ(shared_at({{"a", "b", "n"}, {"b", "a", "n"}}), Set{}) << "two swapped buffers";
  EXPECT_EQ(shared_at({{"a", "b", "n"}, {"c", "d", "n"}}), Set{}) << "the premise of what is made of it says so";
  EXPECT_EQ(shared_at({{"a", "b", "n"}, {"c", "c", "n"}}), (Set{0, 1}));
  EXPECT_EQ(shared_at({{"a", "b", "n"}, {}}), (Set{0, 1})) << "the second site is unknown";
}

TEST(LaunchPointers, AreSharedIfAnotherInstanceOfTheTemplateGetsTheSameMemoryTwice) {
  Mep mep;
  mep.parameters = {{"x", "float *", "float", false, ""}, {"y", "float *", "float", false, ""}};
  LaunchSite mine, sibling;
  mine.argument_text = {"a", "b"}, sibling.argument_text = {"a", "b"};
  mep.launches = {mine}, mep.sibling_launches = {sibling};
  EXPECT_EQ(RuleContext::of(mep).shared_pointers, std::set<size_t>{});
  mep.sibling_launches[0].argument_text = {"c", "c"};
  EXPECT_EQ(RuleContext::of(mep).shared_pointers, (std::set<size_t>{0, 1}));
  mep.sibling_launches.clear(), mep.unseen_launches = "its address is taken at main.cu:7";
  EXPECT_EQ(RuleContext::of(mep).shared_pointers, (std::set<size_t>{0, 1})) << "its arguments are unknown there";
}

TEST(Hip, HasNoRulesThatAssumeWarpsOf32Threads) {
  const std::string rows =
      "__global__ void k(float *y, const float *a, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float "
      "sum = 0;\n"
      "  for (int j = 0; j < n; ++j)\n    sum += a[i * n + j];\n  y[i] = sum;\n}\n";
  const std::string total = "__global__ void k(float *y, const float *a) {\n  atomicAdd(y, a[threadIdx.x]);\n}\n";
  const Bindings values = {{"lanes", 32}, {"interleaved", 0}};
  Mep mep;
  mep.kernel_name = "k";
  RuleContext cuda = facts(), hip = facts();
  mep.language = "cuda", cuda.hip = RuleContext::of(mep).hip;
  mep.language = "hip", hip.hip = RuleContext::of(mep).hip;
  EXPECT_EQ(offers("warp_aggregation", total, {}, cuda).size(), 1u);
  EXPECT_EQ(offers("warp_aggregation", total, {}, hip).size(), 0u);
  EXPECT_EQ(offers("warp_reduction", rows, values, cuda).size(), 1u);
  EXPECT_EQ(offers("warp_reduction", rows, values, hip).size(), 0u);
}

/// The label of a candidate with the rule's first opportunity.
std::string label(const char* rule, const std::string& text, const Bindings& values,
                  const RuleContext& known = facts()) {
  auto found = offers(rule, text, values, known);
  if (found.empty()) return "";
  found[0].values = values;
  Candidate original;
  original.source = text, original.tier = "baseline";
  return apply(original, rule_called(rule), found[0], "k")->note();
}

const std::string kSum =
    "__global__ void k(const float *x, float *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += x[i];\n}\n";

TEST(Labels, CountRepeatedSteps) {
  Candidate candidate;
  candidate.source = kSum, candidate.tier = "baseline";
  Opportunity swap, other;
  swap.place = "threads of the block", swap.edits = {{0, 0, "\n"}};
  other.place = "the loop over i", other.edits = swap.edits;
  auto step = [&](const Opportunity& opportunity) {
    candidate = *apply(candidate, rule_called("swap_block_axes"), opportunity, "k");
  };
  step(other), step(swap), step(swap);
  EXPECT_EQ(candidate.note(), "swap_block_axes the loop over i; swap_block_axes threads of the block, twice");
  step(swap), step(other);
  EXPECT_EQ(candidate.note(),
            "swap_block_axes the loop over i; swap_block_axes threads of the block, 3 times; swap_block_axes the "
            "loop over i");
}

TEST(Labels, NameTheArraysThatMustNotOverlap) {
  RuleContext known = facts();
  known.launches = 3;
  EXPECT_EQ(label("restrict_pointers", kSum, {{"ldg", 0}}, known),
            "restrict_pointers parameters of k (__restrict__), assuming that x and y do not overlap, as in all 3 "
            "recorded launches");
  known.launches = 1;
  EXPECT_EQ(
      label("scalar_promotion", kSum, {}, known),
      "scalar_promotion y[0] in the loop over i, assuming that y overlaps no other array, as in the recorded launch");
  EXPECT_EQ(
      label("scalar_promotion",
            "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += i;\n}\n", {}, known),
      "scalar_promotion y[0] in the loop over i");
  EXPECT_EQ(label("scalar_promotion", std::string(kSum).replace(kSum.find("*y"), 2, "*__restrict__ y"), {}, known),
            "scalar_promotion y[0] in the loop over i")
      << "the program promises it";
}

TEST(Labels, NameThePremisesOfFastFunctions) {
  std::string text = "__global__ void k(float *y) {\n  y[0] = expf(y[1]) / y[2];\n}\n";
  const std::string premise = "assuming that the functions' arguments stay in the range of the recorded launches";
  EXPECT_THAT(label("fast_math", text, {{"operations", 1}}), HasSubstr(premise));
  EXPECT_THAT(label("fast_math", text, {{"operations", 3}}), HasSubstr(premise));
  EXPECT_EQ(label("fast_math", text, {{"operations", 2}}),
            "fast_math whole text (divisions), assuming that no divisor is larger than 8e37");
  EXPECT_THAT(label("fast_math", text, {{"operations", 3}}),
              HasSubstr("of the recorded launches and that no divisor is larger than 8e37"));
  EXPECT_EQ(label("fast_math", "__global__ void k(float *y) {\n  y[0] = y[1] / sqrtf(y[2]);\n}\n", {{"operations", 2}}),
            "fast_math whole text (divisions)")
      << "the quotient became a product";
}

TEST(Labels, NameThePremiseOfReciprocals) {
  auto of = [](const std::string& type) {
    return label(
        "reciprocal",
        "__global__ void k(float *y, " + type + " h, int n) {\n  for (int i = 0; i < n; ++i) y[i] = y[i] / h;\n}\n",
        {});
  };
  EXPECT_THAT(of("float"), HasSubstr("assuming that no divisor is denormal"));
  EXPECT_THAT(of("int"), testing::Not(HasSubstr("assuming"))) << "integers are not denormal";
}

TEST(Labels, SayThatPrecisionIsLowered) {
  EXPECT_EQ(
      label("float_literals", "__global__ void k(float *y) {\n  y[0] = 0.1 * y[1];\n}\n", {}),
      "float_literals whole text, which lowers the precision of double constants, and of results computed with them, "
      "to float");
  EXPECT_EQ(label("double_to_float", "__global__ void k(float *y) {\n  double a = y[1];\n  y[0] = a;\n}\n", {}),
            "double_to_float locals of k, which lowers the precision of double variables to float");
}

TEST(Labels, NameThePremiseOfWholeWarps) {
  std::string text =
      "__global__ void k(const float *x, float *y, int n) {\n  int r = blockIdx.x * blockDim.x + threadIdx.x;\n  if (r "
      "< n) {\n    float sum = 0;\n"
      "    for (int j = 0; j < n; ++j) {\n      sum += x[r * n + j];\n    }\n    y[r] = sum;\n  }\n}\n";
  RuleContext known = facts();
  known.whole_warps = std::nullopt;
  EXPECT_THAT(label("warp_reduction", text, {{"lanes", 32}, {"interleaved", 0}}, known),
              HasSubstr("assuming that blockDim.x % 32 == 0"));
  known.whole_warps = true;
  EXPECT_THAT(label("warp_reduction", text, {{"lanes", 32}, {"interleaved", 0}}, known),
              testing::Not(HasSubstr("whole warps")));
}

TEST(Labels, NameALoopByItsCounter) {
  std::string two =
      "__global__ void k(float *y) {\n  for (int j = 0; j < 9; ++j)\n    y[j] = 1;\n  for (int j = 0; j < 9; ++j)\n    "
      "y[j] += 1;\n}\n";
  EXPECT_EQ(label("unroll", two, {{"factor", 0}}), "unroll the loop over j (fully)");
  EXPECT_EQ(label("unroll", two, {{"factor", 4}}), "unroll the loop over j (by 4)");
  EXPECT_EQ(offers("unroll", two, {{"factor", 0}}).at(1).place, "the second loop over j");
}

TEST(WarpReduction, SharesLoopsThatWriteOnlyUnaliasedArrays) {
  std::string text = R"(__global__ void k(const float *x, float *y, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) {
    for (int j = 1; j < n; ++j) {
      y[r * n + j] = x[r * n + j - 1];
    }
  }
}
)";
  RuleContext known = facts();
  EXPECT_THAT(label("warp_reduction", text, {{"lanes", 32}, {"interleaved", 0}}, known),
              HasSubstr("and that y overlaps no other array"));
  known.shared_pointers = {0, 1};
  EXPECT_EQ(after("warp_reduction", text, {{"lanes", 32}, {"interleaved", 0}}, 0, known), "")
      << "in place, iterations depend on each other";
}

TEST(FloatLiterals, UseTheTypeThatTheProgramSpells) {
  auto with = [](const std::string& kernel) {
    return after("float_literals", "#define REAL float\ntypedef REAL real;\n#define EPS 0.01\n" + kernel);
  };
  EXPECT_THAT(with("__global__ void k(real *y) {\n  y[0] = 0.5 * y[1] + EPS;\n}\n"),
              HasSubstr("real(0.5) * y[1] + (real)EPS;"));
  EXPECT_THAT(with("__global__ void k(REAL *y) {\n  y[0] = 0.5 * y[1];\n}\n"), HasSubstr("REAL(0.5) * y[1];"));
  EXPECT_THAT(with("__global__ void k(real *y, float s) {\n  y[0] = sqrt(0.5 * s);\n}\n"),
              HasSubstr("y[0] = sqrt(real(0.5) * s);"))
      << "the type of the target counts";
  EXPECT_THAT(with("__global__ void k(float *y, float s) {\n  real t = 0.5 * s;\n  y[0] = t;\n}\n"),
              HasSubstr("real t = real(0.5) * s;"));
  EXPECT_THAT(with("__device__ real half(float s) { return 0.5 * s; }\n__global__ void k(float *y) {\n  y[0] = "
                   "half(y[1]);\n}\n"),
              HasSubstr("return real(0.5) * s;"));
  EXPECT_THAT(with("struct Cell { real u; };\n__global__ void k(Cell *c) {\n  if (c->u > 0.5) c->u *= 0.25;\n}\n"),
              HasSubstr("if (c->u > real(0.5)) c->u *= real(0.25);"));
  EXPECT_EQ(with("typedef float other;\n__global__ void k(real *y, other s) {\n  y[0] = 0.5 * s;\n}\n"), "")
      << "it is not known which of the types applies";
  EXPECT_THAT(with("__global__ void k(REAL *y, float *z) {\n  auto t = y[1];\n  z[0] = 0.5 * t;\n}\n"),
              HasSubstr("z[0] = REAL(0.5) * t;"))
      << "auto has the initialiser's type";
}

TEST(Rules, DoNotWriteFloatWhereTheTypeMayBeDouble) {
  auto with = [](const char* rule, const std::string& kernel, const Bindings& values = {}) {
    return after(rule, "#define REAL float\ntypedef REAL real;\n__device__ float exp(float);\n" + kernel, values);
  };
  std::string quotient = "(TYPE *y) {\n  y[0] = exp(y[1]) / y[2] + expf(y[3]);\n}\n";
  auto of = [&](const std::string& type) { return "__global__ void k" + std::string(quotient).replace(1, 4, type); };
  EXPECT_THAT(with("fast_math", of("float"), {{"operations", 3}}),
              HasSubstr("__fdividef(__expf(y[1]) , y[2]) + __expf(y[3])"));
  EXPECT_THAT(with("fast_math", of("real"), {{"operations", 1}}), HasSubstr("exp(y[1]) / y[2] + __expf(y[3])"))
      << "expf has single precision in any case";
  EXPECT_EQ(with("fast_math", of("REAL"), {{"operations", 2}}), "");
  EXPECT_EQ(with("double_to_float", "__global__ void k(real *y) {\n  double a = y[1];\n  y[0] = a;\n}\n"), "");
  EXPECT_THAT(with("scalar_promotion",
                   "__global__ void k(REAL *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += i;\n}\n"),
              HasSubstr("auto y_sum = y[0];"));
  EXPECT_THAT(with("scalar_promotion",
                   "typedef REAL *Array;\n__global__ void k(Array y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] "
                   "+= i;\n}\n"),
              HasSubstr("auto y_sum = y[0];"));
  EXPECT_THAT(with("scalar_promotion",
                   "__global__ void k(real *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += i;\n}\n"),
              HasSubstr("real y_sum = y[0];"));
  EXPECT_EQ(with("warp_aggregation", "__global__ void k(REAL *y, REAL x) {\n  atomicAdd(y, x);\n}\n"), "");
  EXPECT_THAT(with("modulo_to_compare",
                   "#define INDEX int\n__global__ void k(float *y, INDEX x, INDEX n) {\n  y[0] = y[(x + 1) % n];\n}\n"),
              HasSubstr("(unsigned long long)(x + 1)"));
}

}  // namespace
}  // namespace kernelift::tuner
