// The text of slices of small applications: macros, conditionals, included files, comments and line numbers.
#include "extractor/slice/proof.h"
#include "extractor/slice/tests/slice_checks.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::expect_original_lines;
using kernelift::extractor::apps::expect_proven;
using kernelift::extractor::apps::has;
using kernelift::extractor::apps::only;
using kernelift::extractor::apps::slice_of;
using kernelift::extractor::apps::TestApp;
using kernelift::extractor::apps::whole_unit_of;

TEST(SliceText, FollowsChainsOfMacrosWithTheirRedefinitions) {
  TestApp app;
  app.unit("a.cu", R"(
#define WIDTH 4
#define AREA (WIDTH * HEIGHT)
#define HEIGHT 8
__device__ int first() { return AREA; }
#undef HEIGHT
#define HEIGHT 2
#define NEVER 1
__global__ void k(int* x) { x[0] = first() + AREA; }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_FALSE(has(slice, "NEVER"));
}

TEST(SliceText, SpellsTheIntegersThatTheCommandLineDefines) {
  const std::string kernel = R"(
#ifndef BLOCK
#define BLOCK 64
#endif
__global__ void k(int* x) { __shared__ int t[BLOCK]; t[threadIdx.x] = SCALE; x[blockIdx.x * BLOCK] = t[0] + __CUDACC__; }
void run(int* x, int n) { k<<<n / BLOCK, BLOCK>>>(x); }
)";
  TestApp app;
  app.unit("a.cu", kernel, {"-std=c++14", "-DBLOCK=128", "-D", "SCALE=2.5", "-DUNUSED=3"});
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_TRUE(slice.text.starts_with("#undef BLOCK\n#define BLOCK 128\n")) << slice.text;
  EXPECT_FALSE(has(slice, "define SCALE") || has(slice, "define UNUSED") || has(slice, "define __CUDACC__"))
      << slice.text;
  ASSERT_EQ(slice.knobs.size(), 1u);
  EXPECT_TRUE(slice.knobs[0].name == "BLOCK" && slice.knobs[0].value == 128 && slice.knobs[0].in_kernel &&
              slice.knobs[0].in_geometry && slice.knobs[0].value_range.file.empty());
}

TEST(SliceText, HasFragmentsInPlaceOfTheirInclude) {
  TestApp app;
  app.header("body.inc", "  x[0] = SCALE;\n")
      .header("kernels.cu", "__global__ void k(int* x) {\n#include \"body.inc\"\n}\n")
      .unit("main.cu", "#define SCALE 5\n#include \"kernels.cu\"\nvoid run(int* x) { k<<<1, 1>>>(x); }\n");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_TRUE(has(slice, "  x[0] = SCALE;"));
}

TEST(SliceText, HasTheMacrosUseForAKernelThatAMacroSpells) {
  TestApp app;
  app.unit("a.cu", R"(
#define KERNEL(name, op) \
  __global__ void name(float* x) { x[0] = x[0] op 2; }
KERNEL(twice, *)
KERNEL(plus_two, +)
)");
  Slice slice = slice_of(app, "twice");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "KERNEL(twice, *)"));
  EXPECT_FALSE(has(slice, "plus_two"));
}

TEST(SliceText, HasVariablesWithAnInitialiserInParentheses) {
  TestApp app;
  app.unit("a.cu", R"(
constexpr int kFirst(3);
constexpr int kSecond( kFirst * (1 + 1) );
template <class T> constexpr T kThird(kSecond);
__device__ int table(7);
__global__ void k(int* x) { x[0] = kSecond + kThird<int> + table; }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
}

TEST(SliceText, HasTheLastDeclarationOfAFileThatEndsWithoutANewline) {
  TestApp app;
  app.header("pool.h", "struct Pool { int* next; };").header("size.h", "const int kSize = 3;");
  app.unit("a.cu", "#include \"pool.h\"\n#include \"size.h\"\n__global__ void k(Pool p) { p.next[0] = kSize; }");
  expect_proven(slice_of(app, "k"));
}

TEST(SliceText, OmitsByteOrderMarksOfIncludedFiles) {
  TestApp app;
  app.header("apply.h", "\xEF\xBB\xBFtemplate <class F> __global__ void apply(float* x, F f) { x[0] = f(x[0]); }\n");
  app.unit("a.cu", R"(
#include "apply.h"
void run(float* x, float by) { apply<<<1, 1>>>(x, [=] __device__(float v) { return v + by; }); }
)",
           {"-std=c++17", "--extended-lambda"});
  whole_unit_of(app);
}

TEST(SliceText, CountsLinesByLineFeedsAsEditorsDo) {
  TestApp app;
  app.unit("a.cu",
           "// A line that ends twice.\r\r\n// Another.\r\n__device__ int one() { return 1; }\r\n__global__ void "
           "k(int* x) { x[0] = one(); }\r\n");
  auto index = app.scan();
  EXPECT_EQ(only(index, "k").definition.line, 4u);
  Slice slice = slice_of(index, "k");
  expect_proven(slice), expect_original_lines(slice);
}

TEST(SliceText, ResolvesConditionalsAroundAndInsideDeclarations) {
  TestApp app;
  app.unit("a.cu", R"(
#ifndef BLOCK
#define BLOCK 64
#endif
#ifdef WIDE
typedef double Real;
#else
typedef float Real;
#endif
#if BLOCK > 32
__global__ void k(Real* x, int n) {
#else
__global__ void k(Real* x) {
  int n = 1;
#endif
#ifdef WIDE
  x[0] = 1;
#else
  x[n] = BLOCK;
#endif
}
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "typedef float Real;"));
  EXPECT_FALSE(has(slice, "typedef double") || has(slice, "int n = 1"));
}

/// A kernel for two architectures; each branch calls another function.
const std::string kTwoBranches = R"(
__device__ float old_way(float x) { return x * 2; }
__device__ float new_way(float x) { return x + x; }
__global__ void k(float* x) {
#if __CUDA_ARCH__ >= 800
  x[0] = new_way(x[0]);
#else
  x[0] = old_way(x[0]);
#endif
}
)";

TEST(SliceText, IsThatOfTheArchitectureThatRan) {
  TestApp app;
  app.unit("a.cu", kTwoBranches, {"-gencode", "arch=compute_75,code=sm_75", "-gencode", "arch=compute_90,code=sm_90"});
  auto index = app.scan();
  for (int ptx_version : {0, 75, 90}) {
    SliceOptions options;
    options.ptx_version = ptx_version;
    auto slice = slice_kernel(index, only(index, "k"), options);
    ASSERT_TRUE(slice.ok()) << slice.error().message;
    expect_proven(*slice), expect_original_lines(*slice);
    bool old = ptx_version == 75;
    EXPECT_EQ(slice->architecture, old ? "sm_75" : "sm_90");
    EXPECT_EQ(has(*slice, "float old_way"), old);
    EXPECT_EQ(has(*slice, "float new_way"), !old);
  }
}

TEST(SliceText, OmitsABranchWhoseDeclarationsAreNotInTheSlice) {
  TestApp app;
  app.unit("a.cu", kTwoBranches, {"-arch=native"});
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_FALSE(has(slice, "old_way") || has(slice, "#if"));
  EXPECT_EQ(passes_that_fail(slice.text, {}), 0);
}

TEST(SliceText, KeepsABranchThatCompilesInEveryPass) {
  TestApp app;
  app.unit("a.cu",
           "__global__ void k(float* x) {\n#if __CUDA_ARCH__ >= 800\n  x[0] *= 2;\n#else\n  x[0] += x[0];\n#endif\n}\n",
           {"-arch=sm_90"});
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "x[0] += x[0];") && has(slice, "#else"));
}

TEST(SliceText, KeepsCommentsCrlfAndBytesThatAreNotUtf8) {
  TestApp app;
  app.unit("a.cu",
           "// Gr\xc3\xbc\xc3\x9f"
           "e\r\n/* latin1: \xe9 */\r\n__device__ float f(float x) { return x; } // trailing \xe9\r\n\r\n"
           "/// Doc of k.\r\n__global__ void k(float* x) {\r\n\t// tab\r\n\tx[0] = f(1);  \r\n}\r\n");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_TRUE(has(slice,
                  "// Gr\xc3\xbc\xc3\x9f"
                  "e\r\n/* latin1: \xe9 */\r\n__device__"));
  EXPECT_TRUE(has(slice, "// trailing \xe9"));
  EXPECT_TRUE(has(slice, "/// Doc of k.\r\n__global__"));
}

TEST(SliceText, KeepsTheLineNumbersOfAssertions) {
  TestApp app;
  app.unit("a.cu", "#include <cassert>\n\n\n\n__global__ void k(int* x, int n) { assert(n > 0); x[0] = __LINE__; }\n");
  Slice slice = slice_of(app, "k");
  EXPECT_TRUE(slice.proof.proven) << slice.proof.note << slice.text;
  EXPECT_TRUE(has(slice, "#line 5"));
}

}  // namespace
}  // namespace kernelift::extractor
