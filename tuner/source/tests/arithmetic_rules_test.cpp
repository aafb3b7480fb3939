// Claims about rules of arithmetic, as inline before and after.
#include <gmock/gmock.h>

#include "core/tests/expression_literal.h"
#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(FloatLiterals, GetASuffixInFloatExpressions) {
  EXPECT_THAT(
      after("float_literals", "__global__ void k(float *y, int n) {\n  y[0] = 0.5 * y[1] + (y[2] - 1.) * 2e-3;\n}\n"),
      HasSubstr("y[0] = 0.5f * y[1] + (y[2] - 1.f) * 2e-3f;"));
}

TEST(FloatLiterals, AreKeptInDoubleExpressions) {
  EXPECT_EQ(
      after("float_literals",
            "__global__ void k(float *y, double d) {\n  y[0] = 0.5 * d;\n  double e = 0.5 * y[0];\n  d = e;\n}\n"),
      "");
}

TEST(FloatLiterals, AreKeptOutsideOfTheRangeOfFloat) {
  for (auto* number : {"1e-60", "1e60", "2.2250738585072014e-308", "1e-30"})
    EXPECT_EQ(after("float_literals",
                    std::string("__global__ void k(float *y) {\n  y[0] = sqrt(y[1] + ") + number + ");\n}\n"),
              "")
        << number;
  EXPECT_THAT(after("float_literals", "__global__ void k(float *y) {\n  y[0] = sqrt(y[1] + 1e-12);\n}\n"),
              HasSubstr("sqrtf(y[1] + 1e-12f)"));
}
TEST(FloatLiterals, AreKeptInComparisonsWithStoredValues) {
  auto with = [](const std::string& condition) {
    return after("float_literals", "__global__ void k(float *y) {\n  if (" + condition + ") y[0] = 1;\n}\n");
  };
  EXPECT_EQ(with("y[1] < 0.1"), "") << "0.1f is larger than 0.1";
  EXPECT_EQ(with("0.1 > *y"), "");
  EXPECT_THAT(with("y[1] < 0.25"), HasSubstr("0.25f"));
  EXPECT_THAT(with("y[1] * y[2] < 0.1"), HasSubstr("0.1f"));
}
TEST(FloatLiterals, SelectTheFloatVersionOfAFunction) {
  EXPECT_THAT(after("float_literals", "__global__ void k(float *y) {\n  y[0] = 2.0 * sqrt(y[1]);\n}\n"),
              HasSubstr("2.0f * sqrtf(y[1]);"));
}

TEST(FloatLiterals, CastTheUseOfAMacro) {
  EXPECT_THAT(
      after("float_literals", "#define EPS 0.01\n__global__ void k(float *y) {\n  y[0] = y[1] + EPS * EPS;\n}\n"),
      HasSubstr("#define EPS 0.01\n__global__ void k(float *y) {\n  y[0] = y[1] + (float)EPS * (float)EPS;"));
}

TEST(DoubleToFloat, RewritesLocalVariables) {
  EXPECT_THAT(
      after("double_to_float", "__global__ void k(float *y) {\n  const double a = y[1], b = a * 2;\n  y[0] = b;\n}\n"),
      HasSubstr("const float a = y[1], b"));
}

TEST(DoubleToFloat, LeavesKernelsThatNeedTheRangeOfDouble) {
  EXPECT_EQ(
      after("double_to_float", "__global__ void k(float *y) {\n  double a = y[1] + 1e-60;\n  y[0] = sqrt(a);\n}\n"),
      "");
}
TEST(DoubleToFloat, LeavesKernelsWithDoubleData) {
  EXPECT_EQ(after("double_to_float", "__global__ void k(double *y) {\n  double a = y[1];\n  y[0] = a;\n}\n"), "");
}

TEST(DoubleToFloat, LeavesValuesThatBecomeIntegers) {
  auto with = [](const std::string& body) {
    return after("double_to_float", "__global__ void k(float *y, int *c, const float *x) {\n  " + body + "\n}\n");
  };
  EXPECT_EQ(with("double at = x[0] * 3.0;\n  c[0] = (int)at;"), "");
  EXPECT_EQ(with("double at = x[0] * 3.0, unused = 1;\n  y[(int)(at + 1)] = unused;"), "")
      << "one declaration spells the type of both";
  EXPECT_EQ(with("double sum = x[0];\n  double at = sum * 3.0;\n  c[0] = at;"), "");
  EXPECT_THAT(with("double sum = x[0];\n  y[0] = sum;\n  double at = x[1];\n  c[0] = at;"),
              AllOf(HasSubstr("float sum"), HasSubstr("double at")));
  auto compared = offers("double_to_float",
                         "__global__ void k(float *y) {\n  double a = y[1];\n  if (a > y[2]) y[0] = a;\n}\n", {});
  ASSERT_EQ(compared.size(), 1u);
  EXPECT_THAT(compared[0].effects, testing::Contains("changes the rounding of values that are compared"));
}

TEST(FloatLiterals, AreKeptInValuesThatBecomeIntegers) {
  auto with = [](const std::string& body) {
    return after(
        "float_literals",
        "__device__ double floor(double);\n__global__ void k(float *y, int *c, const float *x) {\n  " + body + "\n}\n");
  };
  EXPECT_EQ(with("float at = x[0] * 10.1;\n  c[0] = (int)at;"), "");
  EXPECT_EQ(with("float at = x[0];\n  at *= 10.1;\n  c[0] = (int)at;"), "");
  EXPECT_EQ(with("y[0] = floor(x[0] * 10.1) + 0.5;"), "") << "floor may return another number";
  EXPECT_THAT(with("float at = x[0] * 10.1;\n  y[0] = at;"), HasSubstr("10.1f"));
}

TEST(FloatLiterals, CoverCompoundAssignmentAndComparison) {
  std::string text = after("float_literals",
                           "__global__ void k(float *y, int n) {\n  y[0] *= 0.25;\n  if (y[0] > 1.5) y[1] = 2;\n}\n");
  EXPECT_THAT(text, HasSubstr("*= 0.25f;"));
  EXPECT_THAT(text, HasSubstr("> 1.5f)"));
}

TEST(Reciprocal, MultipliesInsteadOfDividing) {
  EXPECT_THAT(after("reciprocal",
                    "__global__ void k(float *y, float h, int n) {\n  for (int i = 0; i < n; ++i)\n    y[i] = (y[i + "
                    "1] - y[i]) / h;\n}\n"),
              HasSubstr("(y[i + 1] - y[i]) * (1.0f / h);"));
}

TEST(Reciprocal, LeavesIntegersAndChangingDivisors) {
  EXPECT_EQ(after("reciprocal",
                  "__global__ void k(float *y, int n) {\n  for (int i = 1; i < n; ++i)\n    y[n / i] = y[i] / i;\n}\n"),
            "");
}

TEST(Reciprocal, LeavesReciprocals) {
  const std::string loop = "  for (int i = 0; i < n; ++i)\n    y[i] = y[i] ";
  const std::string rest = "  y[0] = 1.f / h;\n  y[1] = 1 / h;\n}\n",
                    head = "__global__ void k(float *y, float h, int n) {\n";
  std::string once = after("reciprocal", head + loop + "/ h;\n" + rest);
  EXPECT_THAT(once, AllOf(HasSubstr("y[i] * (1.0f / h);"), HasSubstr(rest)));
  EXPECT_EQ(after("reciprocal", head + loop + "* (1.0f / h);\n" + rest), "") << "the rule's own output";
}

TEST(Reciprocal, RewritesRepeatedDivisionsOutsideOfLoops) {
  EXPECT_THAT(
      after(
          "reciprocal",
          "__global__ void k(double *y, double h, double g) {\n  y[0] = y[1] / h + y[2] / g;\n  y[3] = y[4] / h;\n}\n"),
      HasSubstr("y[0] = y[1] * (1.0 / h) + y[2] / g;\n  y[3] = y[4] * (1.0 / h);"));
  EXPECT_EQ(after("reciprocal",
                  "__global__ void k(float *y, float h) {\n  y[0] = y[1] / h;\n  h += 1;\n  y[3] = y[4] / h + y[5] / "
                  "4.0f + y[6] / 4.0f;\n}\n"),
            "");
}

TEST(Reciprocal, WritesSmallPowersAsProducts) {
  EXPECT_THAT(
      after("reciprocal", "__global__ void k(float *y, float x) {\n  y[0] = powf(x, 2.0f) + powf(y[1], 2.0f);\n}\n"),
      HasSubstr("(x * x) + powf(y[1], 2.0f);"));
}

TEST(Reciprocal, MultipliesInTheTypeOfThePower) {
  auto with = [](const std::string& statement) {
    return after(
        "reciprocal",
        "__device__ double pow(double, double);\n__global__ void k(float *y, int *c, float x, double d) {\n  " +
            statement + "\n}\n");
  };
  EXPECT_THAT(with("y[0] = pow(x, 2.0);"), HasSubstr("y[0] = ((double)x * (double)x);"))
      << "1e30f squared is infinite in float";
  EXPECT_THAT(with("y[0] = pow(d, 3.0);"), HasSubstr("y[0] = (d * d * d);"));
  EXPECT_EQ(with("c[0] = (int)pow(x, 2.0);"), "");
}

TEST(Reciprocal, LeavesPowersOfIntegers) {
  EXPECT_EQ(after("reciprocal", "__global__ void k(float *y, int n) {\n  y[0] = powf(n, 2.0f) / 3;\n}\n"), "");
}

const std::string kTaken = "rewritten";

/// Whether reciprocal rewrites the quotient `x[i] / h` in a loop of this body, and with which effect.
std::string quotient(const std::string& body, const std::string& before = "") {
  auto found = offers("reciprocal",
                      before +
                          "__global__ void k(float *y, int *c, const float *x, float h, int n) {\n  for (int i = 0; i "
                          "< n; ++i) {\n    " +
                          body + "\n  }\n}\n",
                      {});
  if (found.empty()) return "left";
  EXPECT_EQ(found[0].premises, std::vector<Premise>{{"no divisor is denormal"}});
  std::string answer = kTaken;
  for (auto& effect : found[0].effects) answer += ", which " + effect;
  return answer;
}

TEST(Reciprocal, LeavesQuotientsThatBecomeIntegers) {
  EXPECT_EQ(quotient("y[i] = x[i] / h;"), kTaken);
  EXPECT_EQ(quotient("c[i] = (int)(x[i] / h + 0.5f);"), "left") << "41 * (1.0f / 41) is less than one";
  EXPECT_EQ(quotient("c[i] = x[i] / h;"), "left");
  EXPECT_EQ(quotient("c[i] += x[i] / h;"), "left");
  EXPECT_EQ(quotient("y[i] = floor(x[i] / h);", "__device__ float floor(float);\n"), "left");
  EXPECT_EQ(quotient("float at = x[i] / h;\n    float twice = at + at;\n    c[i] = (int)twice;"), "left");
  EXPECT_EQ(quotient("y[i] = part(x[i] / h);", "__device__ float part(float at) { return at - (int)at; }\n"), "left");
  EXPECT_EQ(quotient("float s = x[i] / h;\n    c[i] = 0;\n    y[i] = fmaxf(s, 0.0f);"), kTaken);
}

TEST(Reciprocal, LeavesQuotientsThatTemplatesAndLambdasMayConvert) {
  EXPECT_EQ(quotient("c[i] = cell(x[i] / h);", "template <class T> __device__ int cell(T at) { return (int)at; }\n"),
            "left");
  EXPECT_EQ(quotient("y[i] = part(x[i] / h);",
                     "template <class T> __device__ T part(T at) { T all = (int)at; return at - all; }\n"),
            "left");
  EXPECT_EQ(quotient("y[i] = twice(x[i] / h);", "template <class T> __device__ T twice(T at) { return at + at; }\n"),
            kTaken);
  EXPECT_EQ(quotient("c[i] = twice(x[i] / h);", "template <class T> __device__ T twice(T at) { return at + at; }\n"),
            "left");
  EXPECT_EQ(quotient("auto cell = [](float at) { return (int)at; };\n    c[i] = cell(x[i] / h);"), "left");
  EXPECT_EQ(quotient("auto cell = [](auto at) { return (int)at; };\n    c[i] = cell(x[i] / h);"), "left");
  EXPECT_EQ(quotient("auto at = [&] { return x[i] / h; };\n    c[i] = (int)at();"), "left");
  EXPECT_EQ(quotient("float at = x[i] / h;\n    auto cell = [=] { return (int)at; };\n    c[i] = cell();"), "left");
  EXPECT_EQ(quotient("c[i] = Cell(x[i] / h).at;", "struct Cell { int at; __device__ Cell(float x) : at(x) {} };\n"),
            "left");
  EXPECT_EQ(quotient("float at;\n    split(x[i] / h, at);\n    c[i] = (int)at;",
                     "__device__ void split(float all, float &at) { at = all; }\n"),
            "left");
  EXPECT_EQ(quotient("float at;\n    split(x[i] / h, &at);\n    c[i] = (int)at;",
                     "__device__ void split(float all, float *at) { *at = all; }\n"),
            "left");
  EXPECT_EQ(quotient("float at;\n    split(x[i] / h, &at);\n    y[i] = at;",
                     "__device__ void split(float all, float *at) { *at = all; }\n"),
            kTaken);
  EXPECT_EQ(quotient("int (*of)(float) = cut;\n    c[i] = of(x[i] / h);",
                     "__device__ int cut(float at) { return (int)at; }\n"),
            "left");
}

TEST(Reciprocal, FollowsQuotientsThroughMemory) {
  EXPECT_EQ(quotient("y[i] = x[i] / h;\n    c[i] = (int)y[i];"), "left");
  EXPECT_EQ(quotient("float *at = y + i;\n    *at = x[i] / h;\n    c[i] = (int)y[i];"), "left");
  EXPECT_EQ(quotient("p[i].at = x[i] / h;\n    c[i] = (int)p[i].at;", "struct P { float at; };\n__device__ P p[8];\n"),
            "left");
  EXPECT_EQ(quotient("c[i] = __float_as_int(x[i] / h);", "__device__ int __float_as_int(float);\n"), "left");
  EXPECT_EQ(quotient("put(y + i, x[i] / h);\n    c[i] = (int)y[i];",
                     "__device__ void put(float *at, float v) { *at = v; }\n"),
            "left");
  EXPECT_EQ(quotient("y[i] = x[i] / h;\n    y[n] += y[i];"), kTaken);
}

TEST(Reciprocal, ReportsComparedQuotients) {
  const std::string said = kTaken + ", which changes the rounding of values that are compared";
  EXPECT_EQ(quotient("if (x[i] / h >= 1.0f) y[i] = 1;"), said);
  EXPECT_EQ(quotient("float s = x[i] / h;\n    y[i] = s > 0 ? s : 0;"), said);
  EXPECT_EQ(quotient("float s = x[i] / h;\n    y[i] = s;\n    if (x[i] > h) y[i] = 0;"), kTaken);
}

TEST(FastMath, LeavesValuesThatBecomeIntegers) {
  auto with = [](const std::string& body, int64_t pieces) {
    return after("fast_math", "__global__ void k(float *y, int *c, float s) {\n  " + body + "\n}\n",
                 {{"operations", pieces}});
  };
  EXPECT_EQ(with("c[0] = (int)(y[0] / s);", 2), "");
  EXPECT_EQ(with("c[0] = (int)sqrtf(s);", 1), "") << "the root of 9 may be less than 3";
  EXPECT_NE(with("y[0] = sqrtf(s);\n  c[0] = s;", 1), "");
  EXPECT_EQ(with("float a, b;\n  sincosf(s, &a, &b);\n  c[0] = (int)(b * 100.0f);", 1), "");
  EXPECT_NE(with("float a, b;\n  sincosf(s, &a, &b);\n  y[0] = b * 100.0f;", 1), "");
}

TEST(ModuloToCompare, ComparesBeforeItDivides) {
  EXPECT_THAT(after("modulo_to_compare", "__global__ void k(float *y, int x, int n) {\n  y[(x + 1) % n] = 1;\n}\n"),
              HasSubstr("y[(n > 0 && (unsigned)(x + 1) < (unsigned)n ? (x + 1) : n > 0 && (unsigned)(x + 1) - "
                        "(unsigned)n < (unsigned)n ? ((x + 1) - n) : (x + 1) % n)]"));
}

TEST(ModuloToCompare, AsksOnlyASignedModulusWhetherItIsPositiveAndAssumesNothing) {
  auto offered = [](const std::string& type) {
    return offers("modulo_to_compare",
                  "__global__ void k(float *y, int x, " + type + " n) {\n  y[(x + 1) % n] = 1;\n}\n", {})
        .at(0);
  };
  for (auto* type : {"int", "unsigned"}) {
    EXPECT_EQ(offered(type).premises, std::vector<Premise>{}) << type;
    EXPECT_EQ(offered(type).edits.at(0).text.find("> 0") != std::string::npos, type == std::string("int"));
  }
}

TEST(ModuloToCompare, LeavesConstantsPlainNumbersAndSideEffects) {
  EXPECT_EQ(after("modulo_to_compare",
                  "__global__ void k(float *y, int x, int n) {\n  y[(x + 1) % 16] = x % n + (x++ + 1) % n;\n}\n"),
            "");
}

TEST(ModuloToCompare, LeavesTheRemainingDivision) {
  std::string text =
      after("modulo_to_compare", "__global__ void k(float *y, int x, int n) {\n  y[(x + 1) % n] = 1;\n}\n");
  EXPECT_EQ(after("modulo_to_compare", text), "");
}

TEST(FastMath, RewritesFunctionsDivisionsOrBoth) {
  const std::string text =
      "__global__ void k(float *y, float s) {\n  y[0] = expf(y[1]) / s;\n  y[1] = tanhf(y[2] + s) / 4.0f;\n}\n";
  EXPECT_THAT(after("fast_math", text, {{"operations", 1}}), HasSubstr("y[0] = __expf(y[1]) / s;"));
  EXPECT_THAT(after("fast_math", text, {{"operations", 1}}),
              HasSubstr("(1.0f - __fdividef(2.0f, __expf(2.0f * (y[2] + s)) + 1.0f)) / 4.0f"));
  EXPECT_THAT(after("fast_math", text, {{"operations", 2}}), HasSubstr("y[0] = __fdividef(expf(y[1]) , s);"));
  EXPECT_THAT(after("fast_math", text, {{"operations", 3}}), HasSubstr("y[0] = __fdividef(__expf(y[1]) , s);"));
}

TEST(FastMath, RewritesSincos) {
  EXPECT_THAT(
      after("fast_math", "__global__ void k(float *y) {\n  float s, c;\n  sincosf(y[0], &s, &c);\n  y[1] = s + c;\n}\n",
            {{"operations", 1}}),
      HasSubstr("__sincosf(y[0], &s, &c);"));
}

TEST(FastMath, RewritesReciprocalRoots) {
  const std::string text = "__global__ void k(float *y) {\n  y[0] = 2.0f / sqrtf(y[1]) + sqrtf(y[2]);\n}\n";
  EXPECT_THAT(after("fast_math", text, {{"operations", 1}}),
              HasSubstr("y[0] = 2.0f / __fdividef(1.0f, rsqrtf(y[1])) + __fdividef(1.0f, rsqrtf(y[2]));"));
  EXPECT_THAT(after("fast_math", text, {{"operations", 2}}), HasSubstr("y[0] = 2.0f * rsqrtf(y[1]) + sqrtf(y[2]);"));
  EXPECT_THAT(after("fast_math", text, {{"operations", 3}}),
              HasSubstr("y[0] = 2.0f * rsqrtf(y[1]) + __fdividef(1.0f, rsqrtf(y[2]));"));
}

TEST(FastMath, LeavesDoublesAndIntegers) {
  EXPECT_EQ(after("fast_math",
                  "__global__ void k(double *y, int *n) {\n  y[0] = sqrt(y[1]) / y[2];\n  n[0] = n[1] / n[2];\n}\n",
                  {{"operations", 3}}),
            "");
}

/// A kernel of indices of 64 bits.
std::string wide_kernel(const std::string& body,
                        const std::string& parameters = "float *y, size_t w, size_t h, int m, unsigned u") {
  return "__global__ void k(" + parameters + ") {\n" + body + "}\n";
}

std::vector<Opportunity> narrowed(const std::string& text) {
  auto source = KernelSource::parse(text, arguments());
  if (!source.ok()) ADD_FAILURE() << source.error().message;
  return source.ok() ? opportunities(rule_called("narrow_division"), *source, plane()) : std::vector<Opportunity>();
}

TEST(NarrowDivision, DividesIndicesOf32BitsWhereTheLaunchsSizesAllowThat) {
  const std::string text = wide_kernel(
      "  size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x;\n  size_t row = (i / w) % (h * 2), column = i % w;\n"
      "  y[row] = column;\n");
  auto all = narrowed(text);
  ASSERT_EQ(all.size(), 1u);
  auto after = apply_edits(text, all[0].edits);
  ASSERT_TRUE(after);
  EXPECT_THAT(*after, HasSubstr("row = (size_t)((unsigned)i / (unsigned)w % (unsigned)(h * 2)), column = "
                                "(size_t)((unsigned)i % (unsigned)w);"));
  ASSERT_EQ(all[0].premises.size(), 1u);
  EXPECT_EQ(all[0].premises[0].condition.text(),
            "gridDim.x * blockDim.x <= 2147483647 && w <= 2147483647 && h <= 2147483647 && h * 2 <= 2147483647");
}

TEST(NarrowDivision, AsksThatSignedNumbersAreNotNegative) {
  auto all = narrowed(wide_kernel("  y[((long)threadIdx.x + m) % m] = 1;\n"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].premises[0].condition.text(), "blockDim.x <= 2147483647 && m >= 0 && blockDim.x + m <= 2147483647");
}

TEST(NarrowDivision, NeedsNoPremiseForNumbersThatAreNarrow) {
  const std::string text = wide_kernel("  y[(size_t)blockIdx.x * 4 / u] = (size_t)u / blockDim.x;\n");
  auto all = narrowed(text);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(*apply_edits(text, all[0].edits), HasSubstr("(unsigned)((size_t)blockIdx.x * 4) / u"));
  EXPECT_EQ(all[0].premises[0].condition.text(), "gridDim.x <= 2147483647 && gridDim.x * 4 <= 2147483647");
  EXPECT_TRUE(narrowed(wide_kernel("  y[0] = (size_t)u / blockDim.x;\n"))[0].premises.empty());
}

TEST(NarrowDivision, KnowsWhereALoopsCounterEnds) {
  const std::string text = wide_kernel(
      "  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h; i += gridDim.x * blockDim.x)\n"
      "    y[i / w] = 1;\n");
  auto all = narrowed(text);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].premises[0].condition.text(), HasSubstr("w * h <= 2147483647"));
}

TEST(NarrowDivision, LeavesAloneWhatHasNoBound) {
  for (auto* body :
       {"  size_t i = threadIdx.x - w;\n  y[i / w] = 1;\n", "  size_t i = y[0];\n  y[i / w] = 1;\n",
        "  size_t i = w;\n  i += h;\n  y[i / w] = 1;\n", "  y[w / 16] = 1;\n", "  y[m / u] = 1;\n",
        "  size_t i = w;\n  size_t& other = i;\n  other += h;\n  y[i / h] = 1;\n",
        "  size_t i = (unsigned char)w;\n  y[i / h] = 1;\n", "  for (size_t i = h; i > 0; --i) y[i / w] = 1;\n"})
    EXPECT_TRUE(narrowed(wide_kernel(body)).empty()) << body;
}

}  // namespace
}  // namespace kernelift::tuner
