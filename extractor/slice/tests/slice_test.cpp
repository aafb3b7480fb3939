// slice on small applications: which declarations are taken, and from which unit. Nearly every case is proven by
// compiling original and slice.
#include "extractor/slice/slice.h"

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

TEST(Slice, ListsItsDeviceFunctionsAndMarksThoseThatTheHostCanRun) {
  TestApp app;
  app.unit("a.cu", R"(
__host__ __device__ inline float both(float x) {
  return x * 2;
}
constexpr int twice(int n) { return 2 * n; }
template <class T> __device__ T helper(T x) { return x + twice(1); }
float host(float x) { return both(x); }
__host__ __device__ float stranger(float x) { return x; }
__global__ void k(float* x) { x[0] = helper(both(x[0])) + helper(twice(3)); }
void go(float* x) { k<<<1, 1>>>(x); }
)");
  Slice slice = slice_of(app, "k");
  std::string listed;
  for (auto& function : slice.functions)
    listed += function.name + " " + std::to_string(function.line) + "-" + std::to_string(function.end_line) +
              (function.on_host ? " host\n" : "\n");
  EXPECT_EQ(listed, "both 2-4 host\ntwice 5-5 host\nhelper 6-6\nk 9-9\n");
}

TEST(Slice, TakesOnlyTheDeclarationsThatTheKernelNeeds) {
  TestApp app;
  app.unit("a.cu", R"(
#include <cstdio>
struct Used { float a; };
struct Unused { float b; };
__device__ float helper(Used u) { return u.a * 2; }
__device__ float stranger(float x) { return x; }
__global__ void k(float* x) { Used u{x[0]}; x[0] = helper(u); }
__global__ void other(float* x) { x[0] = stranger(x[1]); }
int main() { k<<<1, 1>>>(nullptr); other<<<1, 1>>>(nullptr); printf("done"); }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_TRUE(has(slice, "struct Used") && has(slice, "helper(Used u)"));
  EXPECT_FALSE(has(slice, "Unused") || has(slice, "stranger") || has(slice, "main") || has(slice, "cstdio"));
  EXPECT_EQ(slice.kernel_expression, "k");
  EXPECT_EQ(slice.mangled, "_Z1kPf");
}

TEST(Slice, TakesNoHeaderForAFunctionOfClangsOwnThatItUsedFirst) {
  TestApp library, app;
  library.header("reduce.h", "#pragma once\n__device__ inline void all() { __syncthreads(); }\n");
  app.unit("a.cu", R"(
#include <reduce.h>
__global__ void k(float* x) { __shared__ float s[32]; s[threadIdx.x] = x[0]; __syncthreads(); x[0] = s[0]; }
__global__ void other(float* x) { x[0] = 1; all(); }
int main() { k<<<1, 32>>>(nullptr); }
)",
           {"-isystem", library.root().string()});
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_FALSE(has(slice, "reduce.h"));
}

TEST(Slice, TakesDeclarationsThatOnlyAnUnrollPragmaNames) {
  TestApp app;
  app.unit("a.cu", R"(
constexpr int kTwice = 2;
constexpr int kSteps = 2 * kTwice;
constexpr int kNever = 3;
#define WIDTH 8
template <class T>
struct Plan { static constexpr int steps = 4; };
template <class T>
__global__ void k(T* x) {
#pragma unroll kSteps
  for (int i = 0; i < 64; ++i) x[i] += 1;
#pragma unroll(WIDTH)
  for (int i = 0; i < 64; ++i) x[i] *= 3;
#pragma unroll Plan<T>::steps
  for (int i = 0; i < 64; ++i) x[i] -= 2;
}
template __global__ void k<float>(float*);
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_TRUE(has(slice, "kSteps = 2 * kTwice") && has(slice, "kTwice = 2") && has(slice, "#define WIDTH 8"));
  EXPECT_TRUE(has(slice, "struct Plan"));
  EXPECT_FALSE(has(slice, "kNever"));
}

TEST(Slice, KeepsNestedInlineAndAnonymousNamespaces) {
  TestApp app;
  app.unit("a.cu", R"(
namespace outer { inline namespace v1 { namespace { __device__ int deep() { return 7; } }
namespace inner { using Index = int; __global__ void k(Index* x) { x[0] = deep(); } } } }
namespace alias = outer::inner;
void run(int* x) { alias::k<<<1, 1>>>(x); }
)");
  Slice slice = slice_of(app, "outer::inner::k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "inline namespace v1"));
}

TEST(Slice, InstantiatesATemplateOfAnUnnamedNamespace) {
  TestApp app;
  app.unit("a.cu", R"(
namespace {
struct By { float by; };
template <bool Twice> __global__ void scale(float* x, By by) { x[0] *= Twice ? 2 * by.by : by.by; }
}
namespace outer { namespace { namespace inner { namespace {
template <class T> __global__ void fill(T* x) { x[0] = T(3); }
} } } }
void run(float* x) { scale<true><<<1, 1>>>(x, By{1}); outer::inner::fill<float><<<1, 1>>>(x); }
)");
  for (const char* kernel : {"scale<true>", "outer::inner::fill<float>"}) {
    Slice slice = slice_of(app, kernel);
    EXPECT_EQ(slice.mode, "slice");
    expect_proven(slice), expect_original_lines(slice);
  }
}

TEST(Slice, InstantiatesATemplateOverAFunctor) {
  TestApp app;
  app.unit("a.cu", R"(
namespace ops { struct Add { float by; __device__ float operator()(float x) const; };
__device__ float Add::operator()(float x) const { return x + by; }
struct Other { __device__ float operator()(float x) const { return x; } }; }
template <class T> struct Traits { static constexpr int kStep = 1; };
template <> struct Traits<float> { static constexpr int kStep = 3; };
template <class T, class Op, int N> __global__ void map(T* x, Op op) {
  for (int i = 0; i < N; i += Traits<T>::kStep) x[i] = op(x[i]);
}
void run(float* x) { map<float, ops::Add, 8><<<1, 1>>>(x, ops::Add{1}); map<float, ops::Other, 8><<<1, 1>>>(x, {}); }
)");
  Slice slice = slice_of(app, "map<float, ops::Add, 8>");
  expect_proven(slice);
  EXPECT_EQ(slice.instantiation, "template __global__ void ::map<float, ops::Add, 8>(float *, ops::Add);");
  EXPECT_TRUE(has(slice, "template <> struct Traits<float>"));
  EXPECT_FALSE(has(slice, "Other"));
}

TEST(Slice, InstantiatesATemplateOverAnInstanceOfAFunctionTemplate) {
  TestApp app;
  app.unit("a.cu", R"(
typedef void (*step_t)(float*);
template <class T, int n> __device__ void step(float* x) { *x += T(n); }
template <step_t f, int q> __global__ void k(float* x) { f(x + q); }
void run(float* x) { k<step<float, 8>, 2><<<1, 1>>>(x); }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_EQ(slice.instantiation, "template __global__ void ::k<&step<float, 8>, k_q>(float *);");
  EXPECT_TRUE(has(slice, "constexpr int k_q = 2;\ntemplate __global__"));
}

TEST(Slice, HasAConstantForANumberThatTheLaunchGivesToTheTemplate) {
  TestApp app;
  app.unit("a.cu", R"(
namespace app {
template <typename T, unsigned B> __global__ void scale(T* x, int n) {
  __shared__ T part[B];
  const unsigned i = blockIdx.x * B + threadIdx.x;
  if (i < n) part[threadIdx.x] = x[i], x[i] = 2 * part[threadIdx.x];
}
}
void run(float* x, int n) { app::scale<float, 128><<<(n + 127) / 128, 128>>>(x, n); }
)");
  Slice slice = slice_of(app, "scale<float, 128>");
  expect_proven(slice);
  EXPECT_TRUE(
      has(slice, "constexpr int scale_B = 128;\ntemplate __global__ void ::app::scale<float, scale_B>(float *, int);"))
      << slice.text;
  ASSERT_EQ(slice.knobs.size(), 1u);
  EXPECT_TRUE(slice.knobs[0].name == "scale_B" && slice.knobs[0].in_kernel && slice.knobs[0].in_geometry);
}

TEST(Slice, HasTheConstantThatTheLaunchNamesAsTheTemplatesArgument) {
  TestApp app;
  app.unit("a.cu", R"(
namespace cfg {
constexpr int OTHER = 3;
constexpr int BLOCK = 128;
}
template <typename T, unsigned B> __global__ void scale(T* x) { x[blockIdx.x * B + threadIdx.x] *= 2; }
void run(float* x, int n) { scale<float, cfg::BLOCK><<<n / cfg::BLOCK, cfg::BLOCK>>>(x); }
)");
  Slice slice = slice_of(app, "scale<float, 128>");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "constexpr int BLOCK = 128;") && !has(slice, "OTHER")) << slice.text;
  EXPECT_EQ(slice.instantiation, "template __global__ void ::scale<float, cfg::BLOCK>(float *);");
  ASSERT_EQ(slice.knobs.size(), 1u);
  EXPECT_TRUE(slice.knobs[0].name == "cfg::BLOCK" && slice.knobs[0].in_kernel && slice.knobs[0].in_geometry);
}

TEST(Slice, AHostFilledConstantTableIsNotFoldedAway) {
  TestApp app;
  app.unit("a.cu", R"(
static __constant__ float weights[3];
static __device__ const float fixed[2] = {1, 2};
__global__ void k(float* x) { x[0] = weights[1] * fixed[0] + fixed[1]; }
void fill(const float* w) { cudaMemcpyToSymbol(weights, w, sizeof weights); }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "static __constant__ float weights[3];"));
  FrontendOptions options;
  options.headers = slice.headers;
  std::string changed = slice.text;
  changed.replace(changed.find("{1, 2}"), 6, "{1, 3}");
  EXPECT_FALSE(prove_equal(slice.text, changed, slice.mangled, options).equal);
}

TEST(Slice, TakesStructsByValueWithTheirBases) {
  TestApp app;
  app.header("types.h", "#pragma once\nstruct Base { int nx; };\nenum class Mode { A, B };\n")
      .header("grid.h", "#pragma once\n#include \"types.h\"\nstruct Grid : Base { Mode mode; float h[2]; };\n")
      .unit("a.cu",
            "#include \"grid.h\"\n__global__ void k(Grid g, float* x) { if (g.mode == Mode::B) x[g.nx] = g.h[1]; }\n");
  Slice slice = slice_of(app, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_FALSE(has(slice, "#include")) << slice.text;
  EXPECT_NE(closure_report(slice, app.root().string()).find("types.h:2  type Base"), std::string::npos);
}

TEST(Slice, TakesTheOverloadThatWasChosen) {
  TestApp app;
  app.unit("a.cu", R"(
__device__ int pick(int x) { return x + 1; }
__device__ float pick(float x) { return x + 2; }
template <class T> __device__ T through(T x) { return pick(x); }
__global__ void k(float* x) { x[0] = through(x[0]); }
)");
  expect_proven(slice_of(app, "k"));
}

TEST(Slice, TakesTheStaticHelperOfItsOwnUnit) {
  TestApp app;
  app.unit("a.cu", "static __device__ int f() { return 1; }\n__global__ void ka(int* x) { x[0] = f(); }\n")
      .unit("b.cu", "static __device__ int f() { return 2; }\n__global__ void kb(int* x) { x[0] = f(); }\n");
  auto index = app.scan();
  Slice a = slice_of(index, "ka"), b = slice_of(index, "kb");
  expect_proven(a), expect_proven(b);
  EXPECT_TRUE(has(a, "return 1") && has(b, "return 2"));
}

TEST(Slice, IsTheWholeUnitWithAReasonForAKernelWithAnExtendedLambda) {
  TestApp app;
  app.unit("a.cu", R"(
template <class F> __global__ void apply(float* x, F f) { x[0] = f(x[0]); }
void run(float* x, float by) { apply<<<1, 1>>>(x, [=] __device__(float v) { return v + by; }); }
int main() { run(nullptr, 1); }
)",
           {"-std=c++14", "--extended-lambda"});
  Slice slice = whole_unit_of(app);
  EXPECT_NE(slice.note.find("extended lambda"), std::string::npos) << slice.note;
  EXPECT_TRUE(has(slice, "#define main kernelift_application_main"));
  ASSERT_EQ(slice.functions.size(), 2u) << "the lambda is a part of the kernel that the host function only contains";
  EXPECT_EQ(slice.functions[1].name, "run::(lambda)");
  EXPECT_EQ(slice.functions[1].line, 3u);
}

TEST(Slice, OfAWholeUnitHasTheNewMangledNameOfAKernelWithALambdaInMain) {
  TestApp app;
  app.unit("a.cu", R"(
template <class F> __global__ void apply(float* x, F f, F* copy, float** y) { x[0] = f(x[0]); y[0][0] = copy != nullptr; }
int main(int argc, char** argv) {
  float* x = nullptr;
  auto f = [=] __device__(float v) { return v + argc; };
  apply<<<1, 1>>>(x, f, &f, &x);
}
)",
           {"-std=c++14", "--extended-lambda"});
  EXPECT_NE(whole_unit_of(app).mangled.find("kernelift_application_main"), std::string::npos);
}

// If there is a toolkit, its headers are tried too, which takes longer.
TEST(SliceWithToolkit, IsProvenIfOnlyAHeaderOfTheHostIsMissing) {
  TestApp app;
  app.unit("a.cu", R"(
#include <a_library_that_nobody_installed.h>
__device__ float twice(float v) { return v * 2; }
__global__ void k(float* x) { x[0] = twice(x[1]); }
int main() {
  library_init();
  k<<<1, 1>>>(nullptr);
  library_end(LIBRARY_OK);
}
)");
  auto index = app.scan();
  ASSERT_EQ(index.units.size(), 1u);
  ASSERT_FALSE(index.units[0].problems.empty());
  EXPECT_NE(index.units[0].problems[0].find("a.cu:2: 'a_library_that_nobody_installed.h' file not found"),
            std::string::npos)
      << index.units[0].problems[0];
  EXPECT_EQ(index.launches.size(), 1u);
  Slice slice = slice_of(index, "k");
  expect_proven(slice), expect_original_lines(slice);
  EXPECT_NE(slice.proof.note.find("host functions' bodies"), std::string::npos) << slice.proof.note;
}

TEST(SliceWithToolkit, IsCutFromTheCompileWhoseMacrosEnableTheKernel) {
  const char* text =
      "#ifdef GPU\n__global__ void k(int* x) { x[0] = 1; }\nvoid run() { k<<<1, 1>>>(nullptr); }\n#else\nvoid run() "
      "{}\n#endif\n";
  for (bool gpu_first : {false, true}) {
    TestApp app;
    app.unit("a.cu", text, {gpu_first ? "-DGPU" : "-DCPU"}).again("a.cu", "other.o", {gpu_first ? "-DCPU" : "-DGPU"});
    auto index = app.scan();
    EXPECT_EQ(index.units.size(), 2u);
    Slice slice = slice_of(index, "k");
    EXPECT_TRUE(slice.proof.proven) << slice.proof.note;
  }
}

TEST(Slice, CutsTheBodiesOfHostMembers) {
  TestApp app;
  app.unit("a.cu", R"(
#include <vector>
void check(int);
struct Buffer {
  float* data; int size;
  Buffer(int n) : data(nullptr), size(n) { std::vector<int> v(n); check(v.size()); }
  void clear() { check(cudaMemset(data, 0, size)); }
  __device__ float& at(int i) { return data[i]; }
};
__global__ void k(Buffer b) { b.at(0) = 1; }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "  Buffer(int n);\n  void clear();\n"));
  EXPECT_FALSE(has(slice, "check") || has(slice, "vector"));
}

TEST(Slice, KeepsTheSystemHeadersItNeeds) {
  TestApp app;
  app.unit("a.cu", R"(
#include <iosfwd>
#include <cfloat>
#include <cstdint>
__global__ void k(float* x, std::uint32_t n) { if (x[0] < FLT_MAX) x[0] = n; }
)");
  Slice slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "#include <cfloat>"));
  EXPECT_FALSE(has(slice, "iosfwd"));
}

TEST(SliceWithToolkit, ProvesDeviceCodeOfAUnitWhoseHostCodeDoesNotCompile) {
  TestApp app;
  app.unit(
      "a.cu",
      "__global__ void k(int* x) { x[0] = 1; }\nvoid run(int* x) { k<<<1, 1>>>(x); only_another_compiler_knows(); }\n");
  Slice slice = slice_of(app, "k");
  EXPECT_TRUE(slice.proof.proven) << slice.proof.note;
  EXPECT_NE(slice.proof.note.find("host"), std::string::npos) << slice.proof.note;
}

TEST(Slice, ListsTheKnobsInItsText) {
  TestApp app;
  app.unit("a.cu", R"(
#define BLOCK 64
constexpr int kHostOnly = 9;
__global__ void k(int* x) { x[threadIdx.x] = BLOCK; }
void run(int* x) { k<<<kHostOnly, BLOCK>>>(x); }
)");
  Slice slice = slice_of(app, "k");
  ASSERT_EQ(slice.knobs.size(), 1u);
  EXPECT_EQ(slice.knobs[0].name, "BLOCK");
}

TEST(Slice, OfAKernelThatNoLongerExistsIsAnErrorThatNamesKerneliftScan) {
  TestApp app;
  app.unit("a.cu", "__global__ void k(int* x) { x[0] = 1; }\n");
  auto index = app.scan();
  app.header("a.cu", "int nothing;\n");
  auto slice = slice_kernel(index, index.kernels[0]);
  ASSERT_FALSE(slice.ok());
  EXPECT_NE(slice.error().message.find("kernelift scan"), std::string::npos);
}

/// Relocatable code in three files: a kernel, the function that it calls, and the variable that the function reads.
TestApp relocatable(const std::string& helper) {
  TestApp app;
  app.header("shared.cuh", R"(
#pragma once
struct Params { float scale; int shift; };
extern __constant__ Params params;
__device__ float helper(float x, int i);
)");
  std::vector<std::string> flags = {"-std=c++14", "-rdc=true"};
  app.unit("kernel.cu", R"(
#include "shared.cuh"
static void check(int code) { while (code) --code; }
__global__ void k(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = helper(x[i], i);
}
void run(float* x, int n) { k<<<(n + 63) / 64, 64>>>(x, n); check(n == 0); }
)",
           flags);
  app.unit("helper.cu", helper, flags);
  app.unit("params.cu", "#include \"shared.cuh\"\n__constant__ Params params = {2.0f, 3};\n", flags);
  app.unit("stranger.cu", "__global__ void other(int* x) { *x = 1; }\nvoid more(int* x) { other<<<1, 1>>>(x); }\n",
           flags);
  return app;
}

TEST(SliceOfSeveralUnits, TakesDefinitionsFromTheOtherUnits) {
  auto app = relocatable(R"(
#include "shared.cuh"
static void check(int code) { while (code) code /= 2; }
__device__ float unused(float x) { return x; }
__device__ float helper(float x, int i) { return x * params.scale + (i >> params.shift); }
void host() { check(0); }
)");
  auto slice = slice_of(app, "k");
  expect_proven(slice);
  expect_original_lines(slice);
  EXPECT_TRUE(has(slice, "return x * params.scale"));
  EXPECT_TRUE(has(slice, "__constant__ Params params = {2.0f, 3};"));
  EXPECT_FALSE(has(slice, "extern")) << "nvcc treats it as a second definition";
  EXPECT_FALSE(has(slice, "unused"));
  EXPECT_FALSE(has(slice, "other"));
}

TEST(SliceOfSeveralUnits, KeepsStaticHelpersOfOneNameApart) {
  const std::vector<std::string> flags = {"-std=c++14", "-rdc=true"};
  const std::string header = "#include \"shared.cuh\"\n";
  TestApp app;
  app.header("shared.cuh", "#pragma once\n__device__ float twice(float x);\n__device__ float thrice(float x);\n");
  app.unit("kernel.cu", header + R"(
static __device__ float times(float x) { return x + 1; }
__global__ void k(float* x) { x[threadIdx.x] = times(twice(x[threadIdx.x]) + thrice(x[threadIdx.x])); }
void run(float* x) { k<<<1, 64>>>(x); }
)",
           flags);
  app.unit("twice.cu", header + R"(
static const float kFactor = 2;
static __device__ float times(float x);
__device__ float twice(float x) { return times(x); }
static __device__ float times(float x) { return x * kFactor; }
)",
           flags);
  app.unit("thrice.cu", header + R"(
static const float kFactor = 3;
static __device__ float times(float x) { return x * kFactor; }
__device__ float thrice(float x) { return times(x); }
)",
           flags);
  auto slice = slice_of(app, "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "static const float kFactor = 2;"));
  EXPECT_TRUE(has(slice, "static const float kFactor = 3;"));
  EXPECT_TRUE(has(slice, "return x + 1;"));
}

TEST(SliceOfSeveralUnits, KeepsDeclarationsThatNoUnitDefines) {
  auto slice = slice_of(relocatable("int nothing;\n"), "k");
  expect_proven(slice);
  EXPECT_TRUE(has(slice, "__device__ float helper(float x, int i);"));
  EXPECT_FALSE(has(slice, "__constant__ Params params = "));
}

}  // namespace
}  // namespace kernelift::extractor
