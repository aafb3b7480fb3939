// scan on small applications of a few files, one aspect each: kernels, knobs and units; real parses, real processes.
#include "extractor/scan/scan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/compiler/paths.h"
#include "core/tests/expression_literal.h"
#include "extractor/scan/lost_kernels.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::knob;
using kernelift::extractor::apps::only;
using kernelift::extractor::apps::TestApp;

TEST(Scan, FindsEveryLaunchedInstanceOfATemplate) {
  TestApp app;
  app.unit("a.cu", R"(
namespace app {
template <class T, int N> __global__ void smooth(const T* in, T* out) { out[threadIdx.x] = in[threadIdx.x] * N; }
}
void run(float* f, double* d) { app::smooth<float, 8><<<1, 32>>>(f, f); app::smooth<double, 2><<<1, 32>>>(d, d); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.kernels.size(), 2u);
  auto& kernel = only(index, "app::smooth<float, 8>");
  EXPECT_TRUE(kernel.is_template);
  EXPECT_EQ(app.text(kernel.definition).substr(0, 8), "template");
  EXPECT_EQ(app.text(kernel.definition).back(), '}');
  ASSERT_EQ(kernel.parameters.size(), 2u);
  EXPECT_EQ(kernel.parameters[0].pointee, "float");
  EXPECT_TRUE(kernel.parameters[0].pointee_const);
  EXPECT_FALSE(kernel.parameters[1].pointee_const);
  EXPECT_EQ(index.find("smooth").size(), 2u);
}

TEST(Scan, NamesTheKernelsThatWereLostWhereAUnitWasReadInPart) {
  TestApp app;
  app.header("lost.h", R"(
#if 0
__global__ void disabled(int* x) { *x = 0; }
#endif
template <int N> __global__ __launch_bounds__(64) void scaled(Missing m, int* x) { *x = N; }
)");
  app.unit("a.cu", R"(
#include "lost.h"
__global__ void declared(int* x);
__global__ void fine(int* x) { *x = 1; }
__global__ void broken(Missing m, int* x) { *x = 2; }
// __global__ void commented(int* x) {}
void run(int* x) { fine<<<1, 1>>>(x); }
)");
  auto index = app.scan();
  only(index, "fine");
  ASSERT_FALSE(index.units[0].problems.empty());
  EXPECT_THAT(index.units[0].problems.front(), testing::HasSubstr("lost.h:5: unknown type name 'Missing'"));
  EXPECT_EQ(index.units[0].problems.back(),
            "kernels were not understood, or not used: broken (a.cu:5), scaled (lost.h:5)");
  EXPECT_TRUE(names_lost_kernel(index.units[0].problems.back(), "scaled"));
  EXPECT_FALSE(names_lost_kernel(index.units[0].problems.back(), "fine"));
}

TEST(ScanKnobs, HaveTheirValueItsRangeAndTheKernelsThatUseThem) {
  TestApp app;
  app.header("config.h", "#pragma once\n#define BLOCK 128 // threads\nenum { kUnroll = 4 };\n").unit("a.cu", R"(
#include "config.h"
constexpr int kTile = 32;
#define UNUSED 7
__device__ int twice(int x) { return x * kTile; }
__global__ void k(int* x) { x[blockIdx.x * BLOCK + twice(kUnroll)] = 1; }
void run(int n, int* x) { k<<<n / BLOCK, BLOCK>>>(x); }
)");
  auto index = app.scan();
  auto* block = knob(index, "BLOCK");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->value, 128);
  EXPECT_TRUE(block->is_macro && block->in_kernel && block->in_geometry);
  EXPECT_EQ(app.text(block->value_range), "128");
  EXPECT_EQ(block->kernels, std::vector<std::string>{index.kernels[0].id});
  auto* tile = knob(index, "kTile");
  ASSERT_TRUE(tile);
  EXPECT_TRUE(tile->in_kernel && !tile->in_geometry);
  EXPECT_EQ(app.text(tile->value_range), "32");
  ASSERT_TRUE(knob(index, "kUnroll"));
  EXPECT_FALSE(knob(index, "UNUSED"));
}

TEST(ScanKnobs, AreNumbersThatEveryLaunchGivesToATemplate) {
  TestApp app;
  app.unit("a.cu", R"(
template <typename T, int B> __global__ void scale(T* x) { __shared__ T t[B]; x[blockIdx.x * B] = t[0]; }
template <int B, int E> __global__ void twice(int* x) { for (int e = 0; e < E; ++e) x[blockIdx.x * B * E + e] = 1; }
template <int S> __global__ void shifted(int* x) { x[blockIdx.x * S] = 1; }
constexpr int kShift = 4;
void run(int n, float* y, int* x) {
  scale<float, 128><<<n / 128, 128>>>(y);
  scale<float, 128><<<1, 128>>>(y);
  twice<32, 4><<<n / 128, 32>>>(x);
  shifted<4><<<1, 1>>>(x), shifted<kShift><<<1, 1>>>(x);
}
)");
  auto index = app.scan();
  auto* block = knob(index, "scale_B");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->value, 128);
  EXPECT_TRUE(!block->is_macro && block->in_kernel && block->in_geometry);
  EXPECT_EQ(app.text(block->value_range), "128");
  EXPECT_EQ(block->kernels.size(), 1u);
  ASSERT_TRUE(knob(index, "twice_B") && knob(index, "twice_E"));
  EXPECT_TRUE(knob(index, "twice_B")->in_geometry && !knob(index, "twice_E")->in_geometry);
  EXPECT_FALSE(knob(index, "shifted_S")) << "another launch spells it otherwise";
}

TEST(ScanKnobs, AreConstantsThatEveryLaunchGivesToATemplate) {
  TestApp app;
  app.unit("a.cu", R"(
namespace cfg { constexpr int BLOCK = 128; const int kEach = 4; constexpr int kCase = 2, kTwo = 2 * kCase, kSize = 8; }
using cfg::kCase;
template <typename T, int B, int E> __global__ void scale(T* x) {
  for (int e = 0; e < E; ++e) x[(blockIdx.x * B + threadIdx.x) * E + e] = 1;
}
template <int S> __global__ void cases(int* x) { if (S == 2) x[0] = 1; }
template <int S> __global__ void shifted(int* x) { x[blockIdx.x * S] = 1; }
template <int S> __global__ void mixed(int* x) { x[blockIdx.x * S] = 1; }
void run(int n, float* y, int* x) {
  scale<float, cfg::BLOCK, cfg::kEach><<<n / cfg::BLOCK, cfg::BLOCK>>>(y);
  cases<kCase><<<1, 1>>>(x), shifted<cfg::kTwo><<<1, 1>>>(x);
  mixed<cfg::kSize><<<1, 1>>>(x), mixed<8><<<1, 1>>>(x);
}
)");
  auto index = app.scan();
  auto* block = knob(index, "cfg::BLOCK");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->value, 128);
  EXPECT_TRUE(block->in_kernel && block->in_geometry);
  EXPECT_EQ(app.text(block->value_range), "128");
  ASSERT_TRUE(knob(index, "cfg::kEach"));
  EXPECT_TRUE(knob(index, "cfg::kEach")->in_kernel && !knob(index, "cfg::kEach")->in_geometry);
  EXPECT_EQ(index.knobs.size(), 2u) << "no cases, no derived constants, none that another launch spells otherwise";
}

TEST(ScanKnobs, AreNoArgumentsThatSelectOtherTextOrParameters) {
  TestApp app;
  app.unit("a.cu", R"(
template <int B> __global__ void one(int* x) { x[blockIdx.x * B] = 1; }
template <> __global__ void one<64>(int* x) { x[0] = 2; }
template <int B> struct Tile { static constexpr int kStep = B; };
template <> struct Tile<8> { static constexpr int kStep = 1; };
template <int B> __global__ void two(int* x) { x[blockIdx.x * Tile<B>::kStep] = 1; }
template <int B> __global__ void three(int* x) { x[blockIdx.x * B] = 1; }
template <int B> __global__ void three(float* x) { x[blockIdx.x * B] = 1; }
template <int B> struct Rows { int row[B]; };
template <int B> __global__ void four(Rows<B> rows, int* x) { x[blockIdx.x * B] = rows.row[0]; }
template <bool B> __global__ void five(int* x) { x[blockIdx.x * B] = 1; }
template <int B> __global__ void six(int* x) { if (B == 16) x[0] = 1; }
template <int B> __global__ void seven(int* x) { x[blockIdx.x * B] = 1; }
int seven_B;
void run(int* x) {
  one<16><<<1, 16>>>(x), two<16><<<1, 1>>>(x), three<16><<<1, 1>>>(x), four<16><<<1, 1>>>(Rows<16>(), x);
  five<true><<<1, 1>>>(x), six<16><<<1, 1>>>(x), seven<16><<<1, 1>>>(x);
}
)");
  auto index = app.scan();
  EXPECT_EQ(index.kernels.size(), 8u);
  for (auto& one : index.knobs) ADD_FAILURE() << one.name;
}

TEST(ScanKnobs, AreNotConstantsOfClasses) {
  TestApp app;
  app.unit("a.cu", R"(
struct Row { static constexpr int kWords = 4; enum { kBytes = 16 }; float word[kWords]; };
namespace app { constexpr int kTile = 32; enum { kUnroll = 2 }; }
__global__ void k(Row* rows, float* x) { x[app::kTile] = rows[Row::kBytes].word[Row::kWords - app::kUnroll]; }
void run(Row* rows, float* x) { k<<<Row::kWords, Row::kBytes>>>(rows, x); }
)");
  auto index = app.scan();
  EXPECT_TRUE(knob(index, "app::kTile"));
  EXPECT_TRUE(knob(index, "app::kUnroll"));
  EXPECT_EQ(index.knobs.size(), 2u);
  EXPECT_EQ(index.launches[0].grid[0], "4"_e) << "the name of a constant that is no knob has no value in a candidate";
  EXPECT_EQ(index.launches[0].block[0], "16"_e);
}

TEST(ScanKnobs, AreConstantsOfPolicies) {
  TestApp app;
  app.unit("a.cu", R"(
namespace app { struct Policy { static constexpr int BLOCK = 128, UNROLL = 4; enum { ROWS = 2 }; using Value = float; }; }
struct Derived : app::Policy { static constexpr int TILE = 8; };
template <class T> struct Traits { static constexpr int WIDTH = 4; };
enum Kind { FIRST = 1, SECOND = 2 };
template <class P> __global__ void k(typename P::Value* x, int n) {
  for (int i = blockIdx.x * P::BLOCK; i < n; i += P::UNROLL) x[i * app::Policy::ROWS] = x[i / Traits<float>::WIDTH + SECOND];
}
__global__ void tiled(float* x, int n) { x[blockIdx.x * Derived::TILE + threadIdx.x] = n; }
void run(float* x, int n) {
  k<app::Policy><<<(n + app::Policy::BLOCK - 1) / app::Policy::BLOCK, app::Policy::BLOCK>>>(x, n);
  tiled<<<n / Derived::TILE, Derived::TILE>>>(x, n);
}
)");
  auto index = app.scan();
  std::set<std::string> names;
  for (auto& one : index.knobs) names.insert(one.name);
  EXPECT_EQ(names,
            (std::set<std::string>{"app::Policy::BLOCK", "app::Policy::UNROLL", "app::Policy::ROWS", "Derived::TILE"}));
  EXPECT_EQ(index.launches[0].block[0], "app::Policy::BLOCK"_e);
}

TEST(ScanKnobs, OfAClassWithDataAreMembersThatALaunchUses) {
  TestApp app;
  app.unit("a.cu", R"(
class Solver {
 public:
  static constexpr int kBlock = 128, kRow = 4, kStep = 2;
  void run(float* x, int n);
 private:
  float row_[kRow];
};
__global__ void k(float* x, int n) { for (int i = threadIdx.x; i < n; i += Solver::kStep) x[i * Solver::kBlock] = 1; }
void Solver::run(float* x, int n) { k<<<(n + kBlock - 1) / kBlock * kRow, kBlock>>>(x, n); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.knobs.size(), 1u);
  EXPECT_EQ(index.knobs[0].name, "Solver::kBlock");
  EXPECT_EQ(index.launches[0].grid[0], "(n + Solver::kBlock - 1) / Solver::kBlock * 4"_e);
}

TEST(ScanKnobs, AndGeometryOmitAnonymousNamespacesFromNames) {
  TestApp app;
  app.unit("a.cu", R"(namespace app { namespace { constexpr int kWidth = 32; enum { kTimes = 2 };
__global__ void k(float* x) { for (int i = 0; i < kWidth; i += kTimes) x[threadIdx.x * kWidth + i] += i; } }
void run(float* x, int n) { k<<<(n + kWidth - 1) / kWidth, kWidth>>>(x); } })");
  auto index = app.scan();
  EXPECT_TRUE(knob(index, "app::kWidth") && knob(index, "app::kTimes"));
  EXPECT_EQ(index.launches[0].grid[0], "(n + app::kWidth - 1) / app::kWidth"_e);
}

TEST(ScanKnobs, AreNotConstantsThatAreOnlyComparedWith) {
  TestApp app;
  app.unit("a.cu", R"(
#define ARCH_OFFSET 0x1000
#define HOPPER (ARCH_OFFSET + 900)
#define FORMAT 2
#define VARIANT 1
#define LIMIT 50
constexpr int kState = 3;
enum { kMode = 4 };
template <class T> __device__ bool is(T state) { return state == kState; }
__global__ void k(int* x, int arch, int format) {
  const int rows = 5;
  if (arch >= HOPPER && (long)arch != -LIMIT) x[0] = 1;
  switch (format) { case FORMAT: x[1] = 1; break; case kMode: x[2] = 1; }
#if VARIANT == 1
  if (is(format) || arch < rows) x[3] = 1;
#endif
})");
  for (auto& knob : app.scan().knobs) ADD_FAILURE() << knob.name;
}

TEST(ScanKnobs, AreConstantsThatDetermineAnAmount) {
  TestApp app;
  app.unit("a.cu", R"(
#define THREADS 128
#define EXTENT 16
#define ITERATIONS 7
#define STEPS 9
#define UNROLL 4
#define COUNT 6
#define STRIDE 32
#define BLOCK 64
constexpr int kTile = 8;
enum { kDepth = 3 };
template <int n> __device__ int scale(int x) { return x * n; }
template <class T> __global__ void __launch_bounds__(THREADS) k(T* x, int n) {
  const int rows = 5;
  __shared__ T tile[EXTENT][EXTENT + 1];
#pragma unroll UNROLL
  for (int i = 0; i < ITERATIONS && n > 0; ++i) tile[i][0] = scale<kTile>(i + n / ITERATIONS);
  int steps = n / STEPS;
  while (steps != STEPS) ++steps;
  do steps += n % COUNT; while (!(steps > COUNT));
  if (threadIdx.x < BLOCK) x[threadIdx.x * STRIDE % kDepth] = tile[rows][0];
}
void run(int n, float* x) { k<<<n, BLOCK>>>(x, n); }
)");
  auto index = app.scan();
  for (auto* name :
       {"THREADS", "EXTENT", "ITERATIONS", "STEPS", "UNROLL", "COUNT", "STRIDE", "kTile", "kDepth", "rows"})
    EXPECT_TRUE(knob(index, name)) << name;
  ASSERT_TRUE(knob(index, "BLOCK"));
  EXPECT_TRUE(knob(index, "BLOCK")->in_kernel) << "it is a knob because of the launch, and the kernel reads it";
}

TEST(Scan, SpellsTemplateArgumentsWithTheirOwnTemplateArguments) {
  TestApp app;
  app.unit("a.cu", R"(
typedef void (*step_t)(float*);
template <class T, int n> __device__ void step(float* x) { *x += T(n); }
__device__ void plain(float* x) { *x += 1; }
template <step_t f, int q> __global__ void k(float* x) { f(x + q); }
void run(float* x) { k<step<float, 8>, 2><<<1, 1>>>(x); k<step<int, 8>, 2><<<1, 1>>>(x); k<plain, 2><<<1, 1>>>(x); }
)");
  std::set<std::string> names;
  for (auto& kernel : app.scan().kernels) names.insert(kernel.name);
  EXPECT_EQ(names, (std::set<std::string>{"k<&step<float, 8>, 2>", "k<&step<int, 8>, 2>", "k<&plain, 2>"}));
}

TEST(ScanKnobs, AreConstantsOfANamelessEnumButNotValuesOfAnEnumeration) {
  TestApp app;
  app.unit("a.cu", R"(
enum { kBlock = 128, kUnroll = 4 };
enum Direction { kForward = 1, kBackward = 2 };
typedef enum { kRow = 3, kColumn = 5 } Order;
enum { kSolid = 6, kFluid, kGhost };
enum { kIdle = 8, kBusy = 9 } state;
enum class Shape { kWide = 64 };
__global__ void k(int* x) {
  x[blockIdx.x * kBlock + kUnroll] = x[kForward + kRow + kSolid + kGhost + kIdle + int(Shape::kWide)];
}
void run(int n, int* x) { k<<<n / kBlock, int(Shape::kWide)>>>(x); }
)");
  auto index = app.scan();
  EXPECT_TRUE(knob(index, "kBlock"));
  EXPECT_TRUE(knob(index, "kUnroll"));
  EXPECT_EQ(index.knobs.size(), 2u);
  EXPECT_EQ(index.launches[0].grid[0], "n / kBlock"_e);
  EXPECT_EQ(index.launches[0].block[0], "64"_e);
}

TEST(Scan, AttributesAHeadersKernelToTheUnitThatLaunchesIt) {
  TestApp app;
  app.header("k.cuh", "#pragma once\nstatic __global__ void fill(int* x) { x[0] = 1; }\n")
      .unit("a.cu", "#include \"k.cuh\"\n")
      .unit("b.cu", "#include \"k.cuh\"\nvoid run(int* x) { fill<<<1, 1>>>(x); }\n");
  auto index = app.scan();
  ASSERT_EQ(index.kernels.size(), 1u);
  EXPECT_EQ(index.kernels[0].tu, (app.root() / "b.cu").string());
  EXPECT_EQ(index.kernels[0].definition.file, (app.root() / "k.cuh").string());
  EXPECT_EQ(index.launches[0].kernels, std::vector<std::string>{index.kernels[0].id});
}

TEST(Scan, KeepsStaticKernelsOfTheSameNameInTwoUnitsSeparate) {
  TestApp app;
  app.unit("a.cu", "static __global__ void k(int* x) { x[0] = 1; }\nvoid a(int* x) { k<<<1, 1>>>(x); }\n")
      .unit("b.cu", "static __global__ void k(int* x) { x[0] = 2; }\nvoid b(int* x) { k<<<1, 1>>>(x); }\n");
  auto index = app.scan();
  ASSERT_EQ(index.kernels.size(), 2u);
  EXPECT_NE(index.kernels[0].id, index.kernels[1].id);
  ASSERT_EQ(index.launches.size(), 2u);
  EXPECT_EQ(index.launches[1].kernels, std::vector<std::string>{index.kernels[1].id});
}

TEST(Scan, GivesTheIncludedFileAsTheDefinitionsFile) {
  TestApp app;
  app.header("body.cu", "__global__ void k(int* x) { x[0] = N; }\n")
      .unit("main.cu", "#define N 3\n#include \"body.cu\"\nvoid run(int* x) { k<<<1, 1>>>(x); }\n");
  auto index = app.scan();
  EXPECT_EQ(only(index, "k").definition.file, (app.root() / "body.cu").string());
}

TEST(Scan, MarksKernelsAndLaunchesThatAMacroSpells) {
  TestApp app;
  app.unit("a.cu", R"(
#define KERNEL(name, op) __global__ void name(float* x) { x[0] = x[0] op 2; }
#define LAUNCH(k, n) k<<<(n) / 64, 64>>>
KERNEL(twice, *)
KERNEL(plus_two, +)
void run(int n, float* x) { LAUNCH(twice, n)(x); plus_two<<<1, 1>>>(x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.kernels.size(), 2u);
  EXPECT_TRUE(only(index, "twice").through_macro);
  EXPECT_EQ(app.text(only(index, "twice").definition), "KERNEL(twice, *)");
  ASSERT_EQ(index.launches.size(), 2u);
  EXPECT_TRUE(index.launches[0].through_macro);
  EXPECT_EQ(index.launches[0].grid[0], "n / 64"_e);
  EXPECT_FALSE(index.launches[1].through_macro);
}

TEST(Scan, ReadsLaunchBoundsAndFeatures) {
  TestApp app;
  app.unit("a.cu", R"(
__constant__ float table[4];
__device__ float total(float x) { return __shfl_down_sync(~0u, x, 1); }
__global__ void __launch_bounds__(128, 2) k(float* x) {
  extern __shared__ float dynamic[]; __shared__ float fixed[8];
  fixed[0] = table[1]; __syncthreads(); atomicAdd(x, total(fixed[0]) + dynamic[0]);
})");
  auto index = app.scan();
  auto& kernel = only(index, "k");
  EXPECT_EQ(kernel.max_threads, 128);
  EXPECT_EQ(kernel.min_blocks, 2);
  for (auto* word : {"atomics", "barrier", "constant-memory", "dynamic-shared", "shared", "shuffle"})
    EXPECT_TRUE(std::count(kernel.uses.begin(), kernel.uses.end(), word)) << word;
}

TEST(ScanWithToolkit, ListsKernelsOfAUnitWithErrorsAndReportsTheErrors) {
  TestApp app;
  app.unit("bad.cu", "#include \"nowhere.h\"\n__global__ void k(int* x) { x[0] = 1; }\nvoid run() { undeclared(); }\n")
      .unit("good.cu", "__global__ void g(int* x) { x[0] = 1; }\n");
  auto index = app.scan();
  EXPECT_EQ(index.kernels.size(), 2u);
  ASSERT_EQ(index.units.size(), 2u);
  ASSERT_FALSE(index.units[0].problems.empty());
  EXPECT_NE(index.units[0].problems[0].find("nowhere.h"), std::string::npos) << index.units[0].problems[0];
  EXPECT_TRUE(index.units[1].problems.empty());
}

TEST(ScanWithToolkit, PrefersTheHeadersWithWhichAParseIsNotCutShort) {
  TestApp app;
  app.unit(
      "a.cu",
      "#include <cublas_v2.h>\n__global__ void k(float* x) { x[0] = 1; }\nint a = unknown_one, b = unknown_two;\n");
  auto index = app.scan();
  if (!cuda_toolkit()) GTEST_SKIP() << "needs a CUDA toolkit, whose headers have declarations that ours lack";
  ASSERT_EQ(index.units[0].problems.size(), 2u);
  EXPECT_THAT(index.units[0].problems[0], ::testing::HasSubstr("unknown_one"));
  EXPECT_EQ(index.units[0].headers, "toolkit");
}

TEST(Scan, LosesOnlyTheUnitThatCrashesTheParser) {
  TestApp app;
  // This pragma makes clang crash on purpose.
  app.unit("crash.cu", "#pragma clang __debug crash\n").unit("good.cu", "__global__ void g(int* x) { x[0] = 1; }\n");
  auto index = app.scan();
  EXPECT_EQ(index.kernels.size(), 1u);
  ASSERT_EQ(index.units.size(), 2u);
  ASSERT_FALSE(index.units[0].problems.empty());
  EXPECT_NE(index.units[0].problems[0].find("crashed"), std::string::npos) << index.units[0].problems[0];
}

}  // namespace
}  // namespace kernelift::extractor
