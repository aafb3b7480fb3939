// scan on small applications of a few files, one aspect each: real parses in real processes.
#include "extractor/scan/scan.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/compiler/paths.h"
#include "core/tests/expression_literal.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift {
namespace {

using kernelift::testing::knob;
using kernelift::testing::only;
using kernelift::testing::TestApp;

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

TEST(Scan, FollowsGeometryThroughLocalsHelpersAndMacros) {
  TestApp app;
  app.unit("a.cu", R"(
#define BLOCK 256
constexpr int kRows = 4;
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
inline int groups(int n, int size) { return (n + size - 1) / size; }
__global__ void k(int n, float* x) { int i = blockIdx.x * BLOCK + threadIdx.x; if (i < n) x[i] += kRows; }
void a(int n, float* x) { const int blocks = CEIL_DIV(n, BLOCK); dim3 grid(blocks); k<<<grid, BLOCK>>>(n, x); }
void b(int w, int h, float* x) { dim3 block(16, kRows), grid(groups(w, block.x), groups(h, block.y));
  k<<<grid, block, 2 * sizeof(float) * BLOCK>>>(w * h, x); }
void c(int n, float* x) { k<<<(size_t)ceil((float)n / (float)BLOCK), dim3{BLOCK, 1, 1}>>>(n, x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  auto &a = index.launches[0], &b = index.launches[1], &c = index.launches[2];
  EXPECT_EQ(a.grid[0], "(n + BLOCK - 1) / BLOCK"_e);
  EXPECT_EQ(a.grid[1], "1"_e);
  EXPECT_EQ(a.block[0], "BLOCK"_e);
  EXPECT_EQ(a.shared, "0"_e);
  EXPECT_EQ(a.enclosing, "a");
  EXPECT_EQ(b.grid[0], "(w + 16 - 1) / 16"_e);
  EXPECT_EQ(b.grid[1], "(h + kRows - 1) / kRows"_e);
  EXPECT_EQ(b.block[1], "kRows"_e);
  EXPECT_EQ(b.shared, "2 * 4 * BLOCK"_e);
  EXPECT_EQ(b.argument_text, (std::vector<std::string>{"w * h", "x"}));
  EXPECT_EQ(c.grid[0], "ceil_div(n, BLOCK)"_e);
  EXPECT_EQ(c.block[0], "BLOCK"_e);
  EXPECT_EQ(a.grid_form + " " + a.block_form, "dim3 number");
  EXPECT_EQ(b.grid_form + " " + b.block_form, "dim3 dim3");
  EXPECT_EQ(c.grid_form + " " + c.block_form, "number dim3");
  EXPECT_EQ(app.text(a.block_range), "BLOCK");
  EXPECT_EQ(app.text(a.range), "k<<<grid, BLOCK>>>(n, x)");
}

TEST(Scan, GivesUpGeometryThatIsAssignedTwice) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x) { x[0] = 1; }
int unknown(int);
void a(int n, float* x) { dim3 grid(n); if (n > 7) grid = dim3(7); k<<<grid, unknown(n)>>>(x); }
void b(int n, float* x) { k<<<n / 256.0 + 1, 64>>>(x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 2u);
  EXPECT_EQ(index.launches[1].grid_form, "other") << "a fraction is cut off only when it becomes a dim3";
  EXPECT_EQ(index.launches[0].grid[0], std::nullopt);
  EXPECT_EQ(index.launches[0].block[0], std::nullopt);
}

TEST(Scan, FollowsAVariableThatIsGivenAnewForEveryLaunch) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x) { x[0] = 1; }
void a(int n, int m, float* x) {
  dim3 grid, block; int blocks;
  block.x = 256; blocks = n / block.x; grid = dim3(blocks, 2);
  k<<<grid, block>>>(x);
  block.x = 64, block.y = 4; blocks = m / 64; grid.x = blocks;
  for (int i = 0; i < 3; ++i) { k<<<grid, block>>>(x); }
}
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 2u);
  auto &first = index.launches[0], &second = index.launches[1];
  EXPECT_EQ(first.grid[0], "n / 256"_e);
  EXPECT_EQ(first.grid[1], "2"_e);
  EXPECT_EQ(first.block[0], "256"_e);
  EXPECT_EQ(first.block[1], "1"_e);
  EXPECT_EQ(second.grid[0], "m / 64"_e);
  EXPECT_EQ(second.grid[1], "2"_e);
  EXPECT_EQ(second.block[0], "64"_e);
  EXPECT_EQ(second.block[1], "4"_e);
}

TEST(Scan, GivesUpGeometryThatDependsOnTheWayToTheLaunch) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x) { x[0] = 1; }
void unknown(dim3&);
void branch(bool c, float* x) { dim3 grid(8); if (c) grid.x = 4; k<<<grid, 32>>>(x); }
void loop(float* x) { dim3 grid(8); for (int i = 0; i < 3; ++i) { k<<<grid, 32>>>(x); grid = dim3(4); } }
void lent(float* x) { dim3 grid(8); unknown(grid); k<<<grid, 32>>>(x); }
void jump(bool c, float* x) { dim3 grid(8); again: k<<<grid, 32>>>(x); grid = dim3(4); if (c) goto again; }
void later(float* x) { dim3 grid(8); auto launch = [&] { k<<<grid, 32>>>(x); }; grid = dim3(4); launch(); }
void change(float* x) { dim3 grid(8); auto shrink = [&] { grid = dim3(4); }; grid = dim3(6); shrink(); k<<<grid, 32>>>(x); }
void way(int c, float* x) { dim3 grid(8); switch (c) { case 0: k<<<1, 1>>>(x); grid = dim3(4); case 1: k<<<grid, 32>>>(x); } }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 8u);
  for (auto& launch : index.launches)
    if (app.text(launch.grid_range) == "grid") EXPECT_EQ(launch.grid[0], std::nullopt) << launch.enclosing;
}

TEST(Scan, KnowsWhoChangesAVariableThroughAChoiceOrAReference) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x) { x[0] = 1; }
void a(bool first, float* x) { int n = 2048, m = 1; (first ? n : m) = 5; k<<<n / 32, 32>>>(x); }
void b(float* x) { int n = 2048; int& same = n; same = 5; k<<<n / 32, 32>>>(x); }
void c(float* x) { int n = 2048; k<<<n / 32, 32>>>(x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  EXPECT_EQ(index.launches[0].grid[0], "n / 32"_e);
  EXPECT_EQ(index.launches[1].grid[0], "n / 32"_e);
  EXPECT_EQ(index.launches[2].grid[0], "2048 / 32"_e);
}

TEST(Scan, KnobsKnowTheirValueTheirPlaceAndWhatTheyFeed) {
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

TEST(Scan, AClassesConstantsAreNoKnobs) {
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
  EXPECT_EQ(index.launches[0].grid[0], "4"_e) << "nobody binds the name of what is no knob";
  EXPECT_EQ(index.launches[0].block[0], "16"_e);
}

TEST(Scan, AnonymousNamespacesHaveNoNameInKnobsAndGeometry) {
  TestApp app;
  app.unit("a.cu", R"(namespace app { namespace { constexpr int kWidth = 32; enum { kTimes = 2 };
__global__ void k(float* x) { for (int i = 0; i < kTimes; ++i) x[threadIdx.x * kWidth * kTimes + i] += i; } }
void run(float* x, int n) { k<<<(n + kWidth - 1) / kWidth, kWidth>>>(x); } })");
  auto index = app.scan();
  EXPECT_TRUE(knob(index, "app::kWidth") && knob(index, "app::kTimes"));
  EXPECT_EQ(index.launches[0].grid[0], "(n + app::kWidth - 1) / app::kWidth"_e);
}

TEST(Scan, WhatIsOnlyComparedWithIsNoKnob) {
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

TEST(Scan, WhatSaysHowMuchIsAKnob) {
  TestApp app;
  app.unit("a.cu", R"(
#define THREADS 128
#define EXTENT 16
#define TURNS 7
#define STEPS 9
#define UNROLL 4
#define COUNT 6
#define STRIDE 32
#define BLOCK 64
constexpr int kTile = 8;
enum { kDepth = 3 };
template <int n> __device__ int turn(int x) { return x * n; }
template <class T> __global__ void __launch_bounds__(THREADS) k(T* x, int n) {
  const int rows = 5;
  __shared__ T tile[EXTENT][EXTENT + 1];
#pragma unroll UNROLL
  for (int i = 0; i < TURNS && n > 0; ++i) tile[i][0] = turn<kTile>(i + n / TURNS);
  int steps = n / STEPS;
  while (steps != STEPS) ++steps;
  do steps += n % COUNT; while (!(steps > COUNT));
  if (threadIdx.x < BLOCK) x[threadIdx.x * STRIDE % kDepth] = tile[rows][0];
}
void run(int n, float* x) { k<<<n, BLOCK>>>(x, n); }
)");
  auto index = app.scan();
  for (auto* name : {"THREADS", "EXTENT", "TURNS", "STEPS", "UNROLL", "COUNT", "STRIDE", "kTile", "kDepth", "rows"})
    EXPECT_TRUE(knob(index, name)) << name;
  ASSERT_TRUE(knob(index, "BLOCK"));
  EXPECT_TRUE(knob(index, "BLOCK")->in_kernel) << "the launch makes it one, and the kernel reads it";
}

TEST(Scan, SpellsAKernelsArgumentsWithTheirOwn) {
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

TEST(Scan, AnEnumerationsValuesAreNoKnobsAndAListOfConstantsIs) {
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

TEST(Scan, AKernelOfAHeaderIsOneKernelAndItsUnitIsTheOneThatLaunchesIt) {
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

TEST(Scan, StaticKernelsOfOneNameInTwoUnitsAreTwo) {
  TestApp app;
  app.unit("a.cu", "static __global__ void k(int* x) { x[0] = 1; }\nvoid a(int* x) { k<<<1, 1>>>(x); }\n")
      .unit("b.cu", "static __global__ void k(int* x) { x[0] = 2; }\nvoid b(int* x) { k<<<1, 1>>>(x); }\n");
  auto index = app.scan();
  ASSERT_EQ(index.kernels.size(), 2u);
  EXPECT_NE(index.kernels[0].id, index.kernels[1].id);
  ASSERT_EQ(index.launches.size(), 2u);
  EXPECT_EQ(index.launches[1].kernels, std::vector<std::string>{index.kernels[1].id});
}

TEST(Scan, AFragmentsKernelIsPlacedInTheFragment) {
  TestApp app;
  app.header("body.cu", "__global__ void k(int* x) { x[0] = N; }\n")
      .unit("main.cu", "#define N 3\n#include \"body.cu\"\nvoid run(int* x) { k<<<1, 1>>>(x); }\n");
  auto index = app.scan();
  EXPECT_EQ(only(index, "k").definition.file, (app.root() / "body.cu").string());
}

TEST(Scan, SaysWhatAMacroWrote) {
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

TEST(Scan, SeesLaunchesInTemplatesByTheirInstances) {
  TestApp app;
  app.unit("a.cu", R"(
struct Add { __device__ float operator()(float x) const { return x + 1; } };
struct Mul { __device__ float operator()(float x) const { return x * 2; } };
template <class Op> __global__ void map(float* x, Op op) { x[threadIdx.x] = op(x[threadIdx.x]); }
template <int B, class Op> void run(int n, float* x, Op op) { map<<<n / B, B>>>(x, op); }
void all(int n, float* x) { run<64>(n, x, Add{}); run<128>(n, x, Mul{}); }
)");
  auto index = app.scan();
  EXPECT_EQ(index.kernels.size(), 2u);
  ASSERT_EQ(index.launches.size(), 1u);
  EXPECT_EQ(index.launches[0].kernels.size(), 2u);
  EXPECT_EQ(index.launches[0].block[0], std::nullopt) << "the instances disagree";
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

TEST(Scan, SeesRuntimeApiLaunchesOfNamedKernels) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x, int n) { x[0] = n; }
void run(float* x, int n) { void* args[] = {&x, &n}; cudaLaunchKernel((void*)k, dim3(n), dim3(32), args, 0, 0); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 1u);
  EXPECT_EQ(index.launches[0].kernels.size(), 1u);
  EXPECT_EQ(index.launches[0].grid[0], "n"_e);
  EXPECT_EQ(index.launches[0].argument_text, (std::vector<std::string>{"x", "n"}));
}

TEST(Scan, ReadsGeometryThroughFloatCasts) {
  TestApp app;
  app.unit("a.cu", R"(
#define NI 512
#define NJ 512
#define DIM_THREAD_BLOCK_X 32
#define DIM_THREAD_BLOCK_Y 8
__global__ void k(float* x) { x[blockIdx.x * DIM_THREAD_BLOCK_X + threadIdx.x] = 1; }
void a(int ni, float* x) {
  dim3 block(DIM_THREAD_BLOCK_X, DIM_THREAD_BLOCK_Y);
  dim3 grid((size_t)(ceil( ((float)NI)/ ((float)block.x) )),(size_t)(ceil( ((float)NJ)/ ((float)block.y))));
  k<<<grid, block>>>(x);
  dim3 other((size_t)ceil((float)ni / (float)DIM_THREAD_BLOCK_X), (unsigned)ceilf(ni / 8.0f));
  k<<<other, block>>>(x);
  dim3 third(int(std::ceil(double(ni) / block.x)), static_cast<unsigned int>(ceil(static_cast<double>(ni) / DIM_THREAD_BLOCK_Y)), ceil(ni * 1.0 / 4));
  k<<<third, block>>>(x);
  dim3 cut((size_t)(ceil((float)ni) / ((float)DIM_THREAD_BLOCK_X)), ni / 2.0f, ni * 2.5f);
  k<<<cut, block>>>(x);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 4u);
  EXPECT_EQ(index.launches[3].grid[0], "ni / DIM_THREAD_BLOCK_X"_e);
  EXPECT_EQ(index.launches[3].grid[1], "ni / 2"_e);
  EXPECT_EQ(index.launches[3].grid[2], std::nullopt);
  auto &a = index.launches[0], &b = index.launches[1], &c = index.launches[2];
  EXPECT_EQ(a.grid[0], "ceil_div(NI, DIM_THREAD_BLOCK_X)"_e);
  EXPECT_EQ(a.grid[1], "ceil_div(NJ, DIM_THREAD_BLOCK_Y)"_e);
  EXPECT_EQ(b.grid[0], "ceil_div(ni, DIM_THREAD_BLOCK_X)"_e);
  EXPECT_EQ(b.grid[1], "ceil_div(ni, 8)"_e);
  EXPECT_EQ(c.grid[0], "ceil_div(ni, DIM_THREAD_BLOCK_X)"_e);
  EXPECT_EQ(c.grid[1], "ceil_div(ni, DIM_THREAD_BLOCK_Y)"_e);
  EXPECT_EQ(c.grid[2], "ceil_div(ni, 4)"_e);
}

TEST(Scan, JoinsALaunchThroughAPointerToAllThatItMayPointTo) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void narrow(float* x) { x[0] = 1; }
__global__ void wide(float* x) { x[0] = 4; }
__global__ void never(float* x) { x[0] = 0; }
void run(int n, float* x) {
  void (*kernel)(float*);
  if (n > 4) kernel = &wide;
  else kernel = narrow;
  kernel<<<n, 64>>>(x);
  never<<<1, 1>>>(x);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 2u);
  EXPECT_EQ(index.launches[0].kernels.size(), 2u);
  EXPECT_EQ(index.launches[1].kernels, std::vector<std::string>{only(index, "never").id});
}

TEST(Scan, NamesThePlacesFromWhichAKernelMayBeLaunchedUnseen) {
  TestApp app;
  app.unit("a.cu", R"(
typedef void (*Kernel)(float*);
__global__ void seen(float* x) { x[0] = 1; }
__global__ void passed(float* x) { x[0] = 2; }
__global__ void listed(float* x) { x[0] = 3; }
template <Kernel K> void launcher(float* x) { K<<<1, 32>>>(x); }
static void go(Kernel f, float* x) { f<<<1, 32>>>(x); }
static Kernel table[] = {listed};
void run(float* x) {
  auto local = seen;
  local<<<1, 32>>>(x);
  cudaFuncSetAttribute(seen, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000);
  launcher<seen>(x);
  seen<<<2, 32>>>(x);
  go(passed, x);
}
)");
  auto index = app.scan();
  ASSERT_EQ(index.pointers.size(), 2u);
  EXPECT_EQ(index.pointers[0].kernels, std::vector<std::string>{only(index, "listed").id});
  EXPECT_EQ(app.text(index.pointers[0].range), "listed");
  EXPECT_EQ(index.pointers[1].kernels, std::vector<std::string>{only(index, "passed").id});
}

TEST(Scan, KnowsWhichCallersPassOneMemoryTwice) {
  // Each calls a function S(to, from, n) of another unit, which launches k(to + n, from).
  const std::pair<const char*, bool> callers[] = {
      {"void run(float* a, float* b) { S(a, b, 1); }", false},
      {"void run(float* a, float* b) { S(a, b, 1); S(a, a, 1); }", true},
      {"void run(float* a, float* b, bool in_place) { S(in_place ? b : a, &b[7], 1); }", true},
      {"void twice(float* x, float* y) { S(x, y, 1); } void run(float* a) { twice(a, a + 7); }", true},
      {"struct Grid { float *u, *v; }; void run(Grid& g) { S(g.u, g.v, 1); }", false},
      {"struct Grid { float *u, *v; }; void step(Grid& g, Grid& h) { S(g.u, h.u, 1); } void run(Grid& g) { step(g, g); "
       "}",
       true},
      {"template <class T> void any(T* x, T* y) { S(x, y, 1); } void run(float* a) { any(a, a); }", true},
      {"float* buffer; void step(float* to) { S(to, buffer, 1); } void run() { step(buffer); }", true},
      {"void S(int, int); void run(int a) { S(a, a); }", false}};  // Another function of the name.
  std::string header,
      launching =
          "#include \"smooth.h\"\n__global__ void k(float* to, const float* from) { to[threadIdx.x] = "
          "from[threadIdx.x]; }\n",
      calling = "#include \"smooth.h\"\n";
  for (size_t i = 0; i < std::size(callers); ++i) {
    std::string name = "smooth_" + std::to_string(i), text = callers[i].first;
    header += "void " + name + "(float* to, const float* from, int n);\n";
    launching +=
        "void " + name + "(float* to, const float* from, int n) { k<<<1, 32>>>(to + n, (const float*)from); }\n";
    for (size_t at; (at = text.find("S(")) != text.npos;) text.replace(at, 1, name);
    calling += "namespace n" + std::to_string(i) + " { " + text + " }\n";
  }
  TestApp app;
  app.header("smooth.h", header).unit("smooth.cu", launching).unit("main.cu", calling);
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), std::size(callers));
  for (size_t i = 0; i < std::size(callers); ++i)
    EXPECT_EQ(index.launches[i].one_memory.size(), callers[i].second ? 1u : 0u) << callers[i].first;
  EXPECT_EQ(index.launches[1].one_memory[0], (std::pair<size_t, size_t>{0, 1}));
}

TEST(Scan, ReadsTheConfigurationOfAnExtendedLaunch) {
  TestApp app;
  app.unit("a.cu", R"(
#define BLOCK 128
__global__ void k(float* x, int n) { x[blockIdx.x * BLOCK + threadIdx.x] = n; }
void assigned(float* x, int n) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + BLOCK - 1) / BLOCK);
  config.blockDim = BLOCK;
  config.dynamicSmemBytes = BLOCK * sizeof(float);
  cudaLaunchKernelEx(&config, k, x, n + 1);
}
void initialised(float* x, int n, cudaStream_t stream) {
  dim3 grid(n / BLOCK, 2);
  cudaLaunchConfig_t config = {grid, dim3(BLOCK), 0, stream};
  void* args[] = {&x, &n};
  cudaLaunchKernelExC(&config, (const void*)k, args);
}
void twice(float* x, int n) {
  cudaLaunchConfig_t config = {0};
  config.gridDim = n, config.blockDim = 32;
  cudaLaunchKernelEx(&config, k, x, n);
  config.gridDim = 7;
  cudaLaunchKernelEx(&config, k, x, n);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 4u);
  auto &a = index.launches[0], &b = index.launches[1], &c = index.launches[2];
  EXPECT_EQ(a.kernels.size(), 1u);
  EXPECT_EQ(a.grid[0], "(n + BLOCK - 1) / BLOCK"_e);
  EXPECT_EQ(a.block[0], "BLOCK"_e);
  EXPECT_EQ(a.shared, "BLOCK * 4"_e);
  EXPECT_EQ(app.text(a.grid_range), "dim3((n + BLOCK - 1) / BLOCK)");
  EXPECT_EQ(app.text(a.block_range), "BLOCK");
  EXPECT_EQ(a.argument_text, (std::vector<std::string>{"x", "n + 1"}));
  EXPECT_EQ(b.grid[0], "n / BLOCK"_e);
  EXPECT_EQ(b.grid[1], "2"_e);
  EXPECT_EQ(b.block[0], "BLOCK"_e);
  EXPECT_EQ(b.shared, "0"_e);
  EXPECT_EQ(b.argument_text, (std::vector<std::string>{"x", "n"}));
  EXPECT_EQ(c.grid[0], std::nullopt) << "assigned twice";
  EXPECT_EQ(c.block[0], "32"_e);
  EXPECT_EQ(c.block_range.begin, c.block_range.end) << "two launches share it";
}

TEST(Scan, TakesALibrarysLaunchMacroForTheUsersOwnSpelling) {
  TestApp app;
  app.unit("a.hip", R"(
#include <hip/hip_runtime.h>
#define CHECK(call) call
#define START(kernel, n) hipLaunchKernelGGL(kernel, dim3(n), dim3(64), 0, 0, n)
template <int R> __global__ void k(int n) {}
void run(int n) {
  hipLaunchKernelGGL(k<2>, dim3((n + 63) / 64), dim3(64), 0, 0, n);
  CHECK(hipLaunchKernelGGL(HIP_KERNEL_NAME(k<3>), dim3(n), 64, 0, 0, n));
  START(k<4>, n);
})");
  app.compiler("hipcc");
  auto index = app.scan();
  EXPECT_EQ(index.language, "hip");
  ASSERT_EQ(index.launches.size(), 3u);
  EXPECT_FALSE(index.launches[0].through_macro);
  EXPECT_EQ(index.launches[0].grid[0], "(n + 63) / 64"_e);
  EXPECT_EQ(app.text(index.launches[0].grid_range), "dim3((n + 63) / 64)");
  EXPECT_EQ(index.launches[0].kernels.size(), 1u);
  EXPECT_FALSE(index.launches[1].through_macro);
  EXPECT_EQ(app.text(index.launches[1].block_range), "64");
  EXPECT_TRUE(index.launches[2].through_macro);
}

TEST(ScanWithToolkit, GoesOnWithWhatCouldBeParsedAndNamesWhatCouldNot) {
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

TEST(ScanWithToolkit, ReadsAUnitWithTheHeadersThatReadOnHoweverManyErrorsFollow) {
  TestApp app;
  app.unit(
      "a.cu",
      "#include <cublas_v2.h>\n__global__ void k(float* x) { x[0] = 1; }\nint a = unknown_one, b = unknown_two;\n");
  auto index = app.scan();
  if (!cuda_toolkit()) GTEST_SKIP() << "no toolkit here whose headers could have what ours lack";
  ASSERT_EQ(index.units[0].problems.size(), 2u);
  EXPECT_THAT(index.units[0].problems[0], ::testing::HasSubstr("unknown_one"));
  EXPECT_EQ(index.units[0].headers, "toolkit");
}

TEST(Scan, AUnitThatBringsDownTheParserCostsOnlyItself) {
  TestApp app;
  // clang's own way to crash on purpose.
  app.unit("crash.cu", "#pragma clang __debug crash\n").unit("good.cu", "__global__ void g(int* x) { x[0] = 1; }\n");
  auto index = app.scan();
  EXPECT_EQ(index.kernels.size(), 1u);
  ASSERT_EQ(index.units.size(), 2u);
  ASSERT_FALSE(index.units[0].problems.empty());
  EXPECT_NE(index.units[0].problems[0].find("crashed"), std::string::npos) << index.units[0].problems[0];
}

}  // namespace
}  // namespace kernelift
