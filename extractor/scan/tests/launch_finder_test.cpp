// Launch sites and their geometry, in scans of small applications.
#include "extractor/scan/scan.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::only;
using kernelift::extractor::apps::TestApp;

TEST(LaunchFinder, FollowsGeometryThroughLocalsHelpersAndMacros) {
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
void c(int n, float* x) { k<<<(size_t)ceil((double)n / (double)BLOCK), dim3{BLOCK, 1, 1}>>>(n, x); }
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

TEST(LaunchFinder, NamesASizeThatTheKernelIsGivenWhateverItWasComputedFrom) {
  TestApp app;
  app.unit("a.cu", R"(
#define TILE 64
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
__global__ void l(float* x, int a, int b, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
int read();
void a(int w, int h, float* x) { int n = w * h; const int blocks = (n + 255) / 256; k<<<blocks, 256>>>(x, n); }
void b(int w, int h, float* x) { int n = w * h, blocks = n / 256; n = w; k<<<blocks, 256>>>(x, n); }
void c(int w, float* x) { int n = w * TILE; k<<<n / TILE, TILE>>>(x, n); }
void d(int w, float* x) { int threads = 128; k<<<w / threads, threads>>>(x, threads); }
void e(float* x) { int n = read(); k<<<(n + 255) / 256, 256>>>(x, n); }
void f(int w, int h, float* x) { int n = w * h; l<<<(n + 255) / 256, 256>>>(x, w, h, n); }
void g(int n, float* x) { int blocks = (n + 255) / 256; l<<<blocks, 256>>>(x, n, blocks, 0); }
void h(int w, int n, float* x) { dim3 grid((w * n + 255) / 256); while (w > 1) { k<<<grid, 256>>>(x, w * n); w /= 2; } }
void i(float* x) { int n = read(), blocks = n / 256; n = read(); k<<<blocks, 256>>>(x, n); }
void j(float* x) { for (int n = read(); n > 1;) { int blocks = n / 256; n /= 2; k<<<blocks, 256>>>(x, n); } }
void m(int n, float* x, void** args) { size_t bytes = n * 4; cudaLaunchKernel((void*)k, n / 256, 256, args, bytes, 0); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 11u);
  EXPECT_EQ(index.launches[5].grid[0], "(w * h + 255) / 256"_e) << "these are given, too";
  EXPECT_EQ(index.launches[6].grid[0], "(n + 255) / 256"_e);
  EXPECT_EQ(index.launches[7].grid[0], std::nullopt) << "w is another one by then";
  for (int changed : {8, 9}) EXPECT_EQ(index.launches[changed].grid[0], "blocks"_e) << "n is another one by then";
  EXPECT_EQ(index.launches[10].shared, "n * 4"_e);
  EXPECT_EQ(index.launches[0].grid[0], "(n + 255) / 256"_e);
  EXPECT_EQ(index.launches[1].grid[0], "w * h / 256"_e) << "n is another one by then";
  EXPECT_EQ(index.launches[2].grid[0], "w * TILE / TILE"_e) << "it changes with the constant";
  EXPECT_EQ(index.launches[3].grid[0], "w / 128"_e);
  EXPECT_EQ(index.launches[3].block[0], "128"_e) << "a number is known";
  EXPECT_EQ(index.launches[4].grid[0], "(n + 255) / 256"_e);
}

TEST(LaunchFinder, LeavesGeometryEmptyThatIsAssignedInABranchOrByAnUnknownCall) {
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

TEST(LaunchFinder, FollowsVariablesThatAreAssignedAgainForEachLaunch) {
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

TEST(LaunchFinder, LeavesGeometryEmptyThatDependsOnThePathToTheLaunch) {
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

TEST(LaunchFinder, KeepsAVariableByNameThatIsChangedThroughAConditionalOrAReference) {
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

TEST(LaunchFinder, KeepsAVariableByNameThatACallMayChangeWhateverIsCalled) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* x) { x[0] = 1; }
struct Stream { Stream& operator>>(int& into); };
struct Keeper { Keeper(int& kept, int by); };
struct Holder { int& held; };
void lambda(float* x) { int n = 2048; auto set = [](int unused, int& into) { into = 5; }; set(7, n); k<<<n / 32, 32>>>(x); }
void stream(Stream& in, float* x) { int n = 2048; in >> n; k<<<n / 32, 32>>>(x); }
void pointer(void (*set)(int&), float* x) { int n = 2048; set(n); k<<<n / 32, 32>>>(x); }
void kept(float* x) { int n = 2048; Keeper one(n, 7); k<<<n / 32, 32>>>(x); }
void held(float* x) { int n = 2048; Holder one{n}; one.held = 5; k<<<n / 32, 32>>>(x); }
void valued(float* x) { int n = 2048; auto ask = [](int, const int&) { return 1; }; ask(n, n); k<<<n / 32, 32>>>(x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 6u);
  for (auto& launch : index.launches)
    EXPECT_EQ(launch.grid[0], launch.enclosing == "valued" ? "2048 / 32"_e : "n / 32"_e) << launch.enclosing;
}

TEST(LaunchFinder, FindsLaunchesInInitialisersOfVariablesAndMembers) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void first(float* x) { x[0] = 1; }
__global__ void second(float* x) { x[0] = 2; }
__global__ void third(float* x) { x[0] = 3; }
typedef void (*Run)(float*, int);
static const Run table[] = {[](float* x, int n) { first<<<n / 32, 32>>>(x); }, nullptr};
auto run = [](float* x, int n) { second<<<n / 64, 64>>>(x); };
struct Made {
  Made(float* x, int n) : done((third<<<n / 128, 128>>>(x), 1)) {}
  int done;
};
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  for (auto* name : {"first", "second", "third"}) {
    auto launch =
        std::ranges::find(index.launches, std::vector<std::string>{only(index, name).id}, &LaunchSite::kernels);
    ASSERT_NE(launch, index.launches.end()) << name;
    EXPECT_TRUE(launch->block[0] && launch->grid[0]) << name;
  }
}

TEST(LaunchFinder, FindsTheKernelsOfALaunchingTemplatesInstances) {
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

TEST(LaunchFinder, FindsRuntimeApiLaunchesOfNamedKernels) {
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

TEST(LaunchFinder, ReadsGeometryThroughFloatCasts) {
  TestApp app;
  app.unit("a.cu", R"(
#define NI 512
#define NJ 512
#define DIM_THREAD_BLOCK_X 32
#define DIM_THREAD_BLOCK_Y 8
__global__ void k(float* x) { x[blockIdx.x * DIM_THREAD_BLOCK_X + threadIdx.x] = 1; }
void a(int ni, float* x, long nl) {
  dim3 block(DIM_THREAD_BLOCK_X, DIM_THREAD_BLOCK_Y);
  dim3 grid((size_t)(ceil( ((float)NI)/ ((float)block.x) )),(size_t)(ceil( ((float)NJ)/ ((float)block.y))));
  k<<<grid, block>>>(x);
  dim3 other((size_t)ceil((double)ni / (double)DIM_THREAD_BLOCK_X), (unsigned)ceil(ni / 8.0), ceil(nl / 8.0));
  k<<<other, block>>>(x);
  dim3 third(int(std::ceil(double(ni) / block.x)), static_cast<unsigned int>(ceil(static_cast<double>(ni) / DIM_THREAD_BLOCK_Y)), ceil(ni * 1.0 / 4));
  k<<<third, block>>>(x);
  dim3 cut((size_t)(ceil((double)ni) / ((double)DIM_THREAD_BLOCK_X)), ni / 2.0, ni * 2.5f);
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
  EXPECT_EQ(b.grid[2], "ceil_div(nl, 8)"_e);
  EXPECT_EQ(c.grid[0], "ceil_div(ni, DIM_THREAD_BLOCK_X)"_e);
  EXPECT_EQ(c.grid[1], "ceil_div(ni, DIM_THREAD_BLOCK_Y)"_e);
  EXPECT_EQ(c.grid[2], "ceil_div(ni, 4)"_e);
}

TEST(LaunchFinder, SaysUpToWhichNumberSinglePrecisionRoundsAQuotientToNoOtherInteger) {
  TestApp app;
  app.unit("a.cu", R"(
#define MANY 16777217
__global__ void k(float* x) { x[0] = 1; }
void a(int n, unsigned short s, float* x) {
  k<<<dim3(ceil((float)n / 64), ceilf(n / 8.0f), ceil((float)n / 64.0)), 32>>>(x);
  k<<<dim3(ceilf((double)n / 64), std::ceil(n / 2.f), n / 2.0f), 32>>>(x);
  k<<<dim3(ceil((float)MANY / 64), ceil((float)(MANY - 1) / 64), ceil((float)s / 64)), 32>>>(x);
  k<<<dim3(ceil((int)(n / 64.0)), 1, 1), 32>>>(x);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 4u);
  EXPECT_EQ(index.launches[0].grid[0], "ceil_div(n, 64)"_e);
  EXPECT_EQ(index.launches[1].grid[1], "ceil_div(n, 2)"_e);
  EXPECT_EQ(index.launches[1].grid[2], "n / 2"_e);
  for (int launch : {0, 1}) {
    auto& where = index.launches[launch].grid_where;
    EXPECT_TRUE(std::ranges::count(where, "n >= 0"_e) && std::ranges::count(where, "n <= 16777216"_e)) << launch;
  }
  EXPECT_TRUE(index.launches[2].grid_where.empty());
  EXPECT_EQ(index.launches[2].grid[0], std::nullopt) << "2^24 + 1";
  EXPECT_EQ(index.launches[2].grid[1], "ceil_div(MANY - 1, 64)"_e) << "2^24, which it holds";
  EXPECT_EQ(index.launches[2].grid[2], "ceil_div(s, 64)"_e);
  EXPECT_EQ(index.launches[3].grid[0], std::nullopt) << "cut off, not rounded up";
}

TEST(LaunchFinder, ListsEveryKernelThatALaunchedPointerMayPointTo) {
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

TEST(LaunchFinder, ListsWhereAKernelsAddressEscapes) {
  TestApp app;
  app.unit("a.cu", R"(
typedef void (*Kernel)(float*);
__global__ void seen(float* x) { x[0] = 1; }
__global__ void passed(float* x) { x[0] = 2; }
__global__ void listed(float* x) { x[0] = 3; }
template <Kernel K> void launcher(float* x) { K<<<1, 32>>>(x); }
static void go(Kernel f, float* x) { f<<<1, 32>>>(x); f<<<2, 32>>>(x); }
static Kernel table[] = {listed};
void run(float* x) {
  auto local = seen;
  local<<<1, 32>>>(x);
  cudaFuncSetAttribute(seen, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000);
  cudaFuncSetAttribute(listed, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
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
  ASSERT_EQ(index.settings.size(), 1u) << "a preference changes no launch";
  EXPECT_EQ(index.settings[0].kernels, std::vector<std::string>{only(index, "seen").id});
  EXPECT_EQ(app.text(index.settings[0].range),
            "cudaFuncSetAttribute(seen, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000)");
}

TEST(LaunchFinder, ALaunchThroughWhatMayHoldAnotherKernelIsNoLaunchOfTheOnesThatAreNamed) {
  TestApp app;
  app.unit("a.cu", R"(
typedef void (*Kernel)(float*);
__global__ void usual(float* x) { x[0] = 1; }
__global__ void first(float* x) { x[0] = 2; }
__global__ void given(float* x) { x[0] = 3; }
Kernel pick();
void choose(Kernel*);
void choose_one(Kernel&);
struct Plan { int size; Kernel step; };
void go(float* x, bool known, Kernel f = usual) { f<<<1, 32>>>(x); }
void run(float* x, bool known) {
  Kernel one = known ? first : pick();
  one<<<1, 32>>>(x);
  Kernel other = given;
  choose(&other);
  other<<<1, 32>>>(x);
}
void by_reference(float* x) { Kernel one = usual; choose_one(one); one<<<1, 32>>>(x); }
void by_member(float* x, bool known) { Plan plan{1, usual}; if (known) plan.step = first; plan.step<<<1, 32>>>(x); }
void by_element(float* x, bool known) { Kernel all[] = {usual, usual}; if (known) all[1] = first; all[1]<<<1, 32>>>(x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 6u);
  for (auto& launch : index.launches) EXPECT_TRUE(launch.kernels.empty()) << launch.enclosing;
  EXPECT_GE(index.pointers.size(), 6u);
}

TEST(LaunchFinder, FollowsMembersAndElementsThatAreOnlyRead) {
  TestApp app;
  app.unit("a.cu", R"(
typedef void (*Kernel)(float*);
struct Plan { int size; Kernel step; };
__global__ void usual(float* x) { x[0] = 1; }
__global__ void first(float* x) { x[0] = 2; }
static const Kernel table[] = {usual, first};
void by_member(float* x) { Plan plan{1, usual}; plan.step<<<plan.size, 32>>>(x); }
void by_element(float* x, int i) { Kernel all[] = {usual, first}; all[i]<<<1, 32>>>(x); }
void by_table(float* x, int i) { table[i]<<<1, 32>>>(x); }
)");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  for (auto& launch : index.launches)
    EXPECT_EQ(launch.kernels.size(), launch.enclosing == "by_member" ? 1u : 2u) << launch.enclosing;
}

TEST(LaunchFinder, ReadsTheConfigurationOfAnExtendedLaunch) {
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
}
void others(const cudaLaunchConfig_t& config);
void lent(float* x, int n) {
  cudaLaunchConfig_t config = {0};
  config.gridDim = n, config.blockDim = 32;
  cudaLaunchKernelEx(&config, k, x, n);
  others(config);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 5u);
  EXPECT_EQ(index.launches[4].block_range.begin, index.launches[4].block_range.end)
      << "another function launches with it";
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
  EXPECT_EQ(c.block_range.begin, c.block_range.end) << "two launches share the configuration";
}

TEST(LaunchFinder, DoesNotCountALibrarysLaunchMacroAsAMacroOfTheApplication) {
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

TEST(LaunchFinder, ReadsWhatAMacroIsGivenAndWhatItSpellsItself) {
  TestApp app;
  app.unit("a.cu", R"(
#define LAUNCH(kernel, grid, block, ...) kernel<<<(grid), (block)>>>(__VA_ARGS__)
#define RUN(n) k<<<(n) / 64, 64>>>(p, n)
template <int R> __global__ void t(float* p, int n) {}
__global__ void k(float* p, int n) {}
void run(float* p, int n) {
  LAUNCH(k, (n + 63) / 64, 64, p, n);
  LAUNCH(t<2>, dim3(n, 2), dim3(32, 2), p, (n + 1));
  RUN(n);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  auto &plain = index.launches[0], &instance = index.launches[1], &fixed = index.launches[2];
  EXPECT_TRUE(plain.through_macro && plain.spells_geometry());
  EXPECT_EQ(app.text(plain.kernel_range), "k");
  EXPECT_EQ(app.text(plain.grid_range), "(n + 63) / 64");
  EXPECT_EQ(app.text(plain.block_range), "64");
  EXPECT_EQ(plain.argument_text, (std::vector<std::string>{"p", "n"}));
  EXPECT_TRUE(instance.spells_geometry());
  EXPECT_EQ(app.text(instance.kernel_range), "t<2>");
  EXPECT_EQ(app.text(instance.grid_range), "dim3(n, 2)");
  EXPECT_EQ(instance.argument_text[1], "(n + 1)");
  EXPECT_FALSE(fixed.spells_geometry());
  EXPECT_EQ(fixed.kernel_range.begin, fixed.kernel_range.end);
}

TEST(LaunchFinder, KnowsWhichTextsNeedBracketsOrAConversion) {
  TestApp app;
  app.unit("a.cu", R"(
#define BLOCKS n / 256 + 1
#define MORE BLOCKS
#define TILES (n / 256 + 1)
#define UP(a, b) up(a, (b) + 1)
#define SAME(x) x
#define WIDTH 256
#define MEMBER sizes[0].x
#define CAST (int)n
__device__ __host__ int up(int a, int b) { return a / b; }
__global__ void k(int n, int m) {}
void run(int n, dim3* sizes) {
  k<<<BLOCKS, WIDTH>>>(n, UP(n, 2));
  k<<<MORE, TILES, SAME(n)>>>(CAST, MEMBER);
  k<<<dim3(n / 256.0, n), dim3(16, n * 0.5f)>>>(n / 2.0, n);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  EXPECT_EQ(index.launches[0].open_macros, (std::set<std::string>{"BLOCKS"}));
  EXPECT_EQ(index.launches[1].open_macros, (std::set<std::string>{"MORE", "SAME", "CAST"}));
  EXPECT_EQ(index.launches[2].real_grid, std::set<size_t>{0});
  EXPECT_EQ(index.launches[2].real_block, std::set<size_t>{1});
  EXPECT_TRUE(index.launches[2].is_real_argument(0));
  EXPECT_TRUE(index.launches[0].real_grid.empty() && !index.launches[0].is_real_argument(0));
}

TEST(LaunchFinder, KnowsWhichArgumentsMayBeEvaluatedOnceMore) {
  TestApp app;
  app.unit("a.cu", R"(
struct Grid { float* p; int n; int size() const { return n; } };
__global__ void k(float* p, size_t pitch, Grid grid, int n) {}
void run(Grid* grids, size_t pitch, int i, volatile int* v) {
  k<<<1, 64>>>(grids[i].p, pitch / sizeof(float), grids[i], static_cast<int>(((pitch + 31) / 32) * 32));
  k<<<2, 64>>>(grids[i++].p, pitch, *grids, grids[i].size());
  k<<<3, 64>>>(nullptr, 0, grids[0], *v);
})");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 3u);
  EXPECT_EQ(index.launches[0].unrepeatable_arguments, (std::set<size_t>{}));
  EXPECT_EQ(index.launches[1].unrepeatable_arguments, (std::set<size_t>{0, 3}));
  EXPECT_EQ(index.launches[2].unrepeatable_arguments, (std::set<size_t>{3}));
  EXPECT_EQ(index.launches[1].repeatable_argument(3), "");
  EXPECT_EQ(index.launches[0].repeatable_argument(1), "pitch / sizeof(float)");
}

}  // namespace
}  // namespace kernelift::extractor
