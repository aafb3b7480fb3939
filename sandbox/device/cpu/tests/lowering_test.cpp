// How kernels run and what of CUDA's language they may use: one test per claim.
#include <xmmintrin.h>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <numeric>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

TEST(Loop, RunsABarrierFreeKernelAsALoopOverThreads) {
  TestImage image = build(R"(
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})");
  EXPECT_EQ(image.mode("saxpy"), "loop");
  std::vector<float> x(1000), y(1000, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  ASSERT_TRUE(image.run("saxpy", grid(4, 256), 1000, 2.0f, x.data(), y.data()).ok());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 2.0f * i + 1) << i;
}

TEST(Loop, KeepsEachThreadsLocalArrayApart) {
  TestImage image = build(R"(
__global__ void k(const int* in, int* out) {
  int small[6], large[400];
  for (int i = 0; i < 6; ++i) small[i] = in[(threadIdx.x + i) % 64];
  for (int i = 0; i < 400; ++i) large[i] = i * threadIdx.x;
  out[threadIdx.x] = small[in[threadIdx.x] % 6] + large[in[threadIdx.x] * 5 % 400];
})");
  EXPECT_EQ(image.mode("k"), "loop");
  std::vector<int> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = i * 7 % 61;
  ASSERT_TRUE(image.run("k", grid(1, 64), in.data(), out.data()).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], in[(i + in[i] % 6) % 64] + in[i] * 5 % 400 * i) << i;
}

TEST(Loop, KeepsLocalArraysOfInlinedLateCalleesApart) {
  TestImage image = build(R"(
__device__ __noinline__ int pick(const int* in, int at) {
  int local[16];
  for (int i = 0; i < 16; ++i) local[i] = in[(at + i * 5) % 64];
  return local[in[at] % 16] + local[at % 16];
}
__global__ void k(const int* in, int* out) { out[threadIdx.x] = pick(in, threadIdx.x); })");
  std::vector<int> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = i * 7 % 61;
  ASSERT_TRUE(image.run("k", grid(1, 64), in.data(), out.data()).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(out[i], in[(i + in[i] % 16 * 5) % 64] + in[(i + i % 16 * 5) % 64]) << i;
}

TEST(Parameters, ArePackedAsCudaPacksThem) {
  TestImage image = build(R"(
struct Mixed { char c; double d; short s; };
struct alignas(16) Wide { float v[4]; };
struct Large { int a[40]; };
__global__ void k(bool flag, Mixed m, char c, Wide w, short s, Large big, double* out, int which) {
  big.a[which] += 1;   // A private copy: the launch's bytes must not change.
  out[threadIdx.x] = flag + m.c + m.d + m.s + c + w.v[2] + s + big.a[which] + big.a[39];
})");
  const kl_kernel& kernel = image.kernel("k");
  const kl_parameter expected[] = {{0, 1}, {8, 24}, {32, 1}, {48, 16}, {64, 2}, {68, 160}, {232, 8}, {240, 4}};
  ASSERT_EQ(kernel.parameter_count, std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(kernel.parameters[i].offset, expected[i].offset) << i;
    EXPECT_EQ(kernel.parameters[i].size, expected[i].size) << i;
  }
  EXPECT_EQ(kernel.parameter_bytes, 244u);
  struct Mixed {
    char c;
    double d;
    short s;
  } m{1, 2.5, 3};
  struct alignas(16) Wide {
    float v[4];
  } w{{0, 0, 7, 0}};
  struct Large {
    int a[40];
  } big{};
  big.a[5] = 11;
  big.a[39] = 13;
  std::vector<double> out(8);
  ASSERT_TRUE(image.run("k", grid(1, 8), true, m, char(4), w, short(5), big, out.data(), 5).ok());
  EXPECT_EQ(out, std::vector<double>(8, 1 + 1 + 2.5 + 3 + 4 + 7 + 5 + 12 + 13));
}

TEST(Variables, AreListedAndKeepWhatTheHostWrites) {
  TestImage image = build(R"(
__constant__ float table[3] = {1, 2, 3};
__device__ int counter = 7;
static __device__ int hidden;
__global__ void k(float* out) { out[0] = table[0] + table[2]; hidden = ++counter; })");
  const kl_variable* table = image.loaded->find_variable("table");
  const kl_variable* counter = image.loaded->find_variable("counter");
  ASSERT_TRUE(table && counter);
  EXPECT_EQ(table->size, 12u);
  EXPECT_EQ(table->flags, uint32_t(KL_VARIABLE_CONSTANT));
  EXPECT_EQ(*static_cast<int*>(counter->address), 7);
  static_cast<float*>(table->address)[2] = 40;
  float out = 0;
  ASSERT_TRUE(image.run("k", grid(1, 1), &out).ok());
  EXPECT_EQ(out, 41.0f);
  EXPECT_EQ(*static_cast<int*>(counter->address), 8);
}

TEST(Shared, StaticSizesCountPerKernelAndDynamicMemoryFollows) {
  TestImage image = build(R"(
__global__ void a(int* out) { __shared__ int big[8000]; big[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = big[31 - threadIdx.x]; }
__global__ void b(int* out) {
  __shared__ double other[4000]; extern __shared__ int dynamic[];
  other[threadIdx.x] = threadIdx.x; dynamic[threadIdx.x] = 100 + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = other[31 - threadIdx.x] + dynamic[31 - threadIdx.x];
})");
  EXPECT_EQ(image.kernel("1a").static_shared_bytes, 32000u);
  EXPECT_EQ(image.kernel("1b").static_shared_bytes, 32000u);
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("1b", grid(2, 32, 128), out.data()).ok());
  for (int i = 0; i < 32; ++i) ASSERT_EQ(out[i], 2 * (31 - i) + 100);
}

TEST(Calls, RecursionAndFunctionPointersWork) {
  TestImage image = build(R"(
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
typedef int (*Op)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int with_id(int x) { return x + threadIdx.x; }
__device__ Op ops[] = {twice, with_id};
struct Shape { __device__ virtual int area() { return 1; } };
struct Square : Shape { int s; __device__ Square(int s) : s(s) {} __device__ int area() override { return s * s + blockIdx.x; } };
__device__ __noinline__ int area_of(Shape* shape) { return shape->area(); }
__global__ void k(int* out) {
  Square square(threadIdx.x);
  out[threadIdx.x] = fib(10) + ops[threadIdx.x % 2](threadIdx.x) + area_of(&square);
})");
  EXPECT_EQ(image.mode("k"), "loop");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int i = 0; i < 32; ++i) ASSERT_EQ(out[i], 55 + 2 * i + i * i) << i;
}

TEST(Launch, ComputesAsADeviceDoesWhateverTheHostHasSetForItself) {
  TestImage image = build(R"(
__global__ void k(const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[3 * i] = 1 / in[0];
  out[3 * i + 1] = -1 / in[1];
  out[3 * i + 2] = in[2] * 2;
})");
  const float in[] = {0, 3, 1e-40f};
  std::vector<float> out(3 * 64 * 512);
  std::fenv_t before;
  std::fegetenv(&before);
  feenableexcept(FE_DIVBYZERO | FE_INVALID);
  std::fesetround(FE_UPWARD);
  constexpr unsigned kFlushToZero = 0x8040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero);
  constexpr unsigned kWhatHappened = 0x3f;  // Flags that any arithmetic of the host's own raises.
  const unsigned host = _mm_getcsr() & ~kWhatHappened;
  const LaunchOutcome outcome = image.run("k", grid(512, 64), in, out.data());
  const unsigned after = _mm_getcsr() & ~kWhatHappened;
  std::fesetenv(&before);
  ASSERT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(after, host);
  for (size_t i = 0; i < out.size(); i += 3) {
    ASSERT_TRUE(std::isinf(out[i]));
    ASSERT_EQ(out[i + 1], -0x1.555556p-2f);
    ASSERT_GT(out[i + 2], 0);
  }
}

TEST(Atomics, HoldAcrossAllCores) {
  TestImage image = build(R"(
__global__ void k(int* sum, float* fsum, unsigned* wrapped, int* bins) {
  __shared__ int local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd(&local, 1);
  __nvvm_atom_add_gen_f(fsum, 0.5f);
  __nvvm_atom_inc_gen_ui(wrapped, 9);
  atomicAdd(&bins[threadIdx.x % 7], 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, local);
})");
  int sum = 0;
  float fsum = 0;
  unsigned wrapped = 0;
  std::vector<int> bins(7);
  ASSERT_TRUE(image.run("k", grid(100, 128), &sum, &fsum, &wrapped, bins.data()).ok());
  EXPECT_EQ(sum, 12800);
  EXPECT_EQ(fsum, 6400.0f);
  EXPECT_EQ(wrapped, 12800u % 10);
  EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), 0), 12800);
}

TEST(Heap, MallocAndFreeInKernels) {
  TestImage image = build(R"(
__global__ void k(int* out) {
  int* p = (int*)malloc(64 * sizeof(int));
  for (int i = 0; i < 64; ++i) p[i] = i * threadIdx.x;
  out[threadIdx.x] = p[63];
  free(p);
})");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  EXPECT_EQ(out[5], 315);
}

TEST(SpecialRegisters, NameThreadsWarpsAndLanes) {
  TestImage image = build(R"(
__global__ void k(unsigned* out) {
  unsigned t = threadIdx.x + blockDim.x * threadIdx.y, lane, lt;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  out[t] = lane + 100 * (__nvvm_read_ptx_sreg_warpsize() == 32) + 1000 * (lt == (1u << lane) - 1) + 10000 * gridDim.y;
})");
  std::vector<unsigned> out(64);
  ASSERT_TRUE(image.run("k", {.grid = {2, 3, 1}, .block = {16, 4, 1}}, out.data()).ok());
  for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], 31100 + i % 32);
}

TEST(Printf, WritesEachCallWholeWithCsFormats) {
  TestImage image = build(R"(
__global__ void k(const char* s) {
  printf("%d|%5.2f|%s|%c|%llx|%-4u|%%|%hd|%p\n", -3, 2.5f, s, 'x', 0x123456789abcull, 7u, (short)-2, (void*)0);
  printf("%*d %.*f\n", 4, threadIdx.x, 1, 0.25);
})");
  std::string text;
  LaunchOptions options;
  options.print = [&](std::string_view part) { text += part; };
  ASSERT_TRUE(image.run_with(options, "k", grid(1, 1), "name").ok());
  EXPECT_EQ(text, "-3| 2.50|name|x|123456789abc|7   |%|-2|(nil)\n   0 0.2\n");
}

TEST(Faults, AssertNamesExpressionBlockAndThread) {
  for (const char* wait : {"", "__syncthreads();", "__syncwarp(~0u);"}) {
    TestImage image = build(std::string(R"(
__global__ void k(int* out, int bad) { )") +
                            wait + R"(
  assert(threadIdx.x + 32 * blockIdx.x != bad);
  out[threadIdx.x] = 1;
})");
    std::vector<int> out(32);
    const LaunchOutcome outcome = image.run("k", grid(3, 32), out.data(), 35);
    EXPECT_EQ(outcome.fault, LaunchFault::Assert) << wait;
    EXPECT_NE(
        outcome.detail.find(
            "test.cu:3: k: block (1,0,0) thread (3,0,0) Assertion `threadIdx.x + 32 * blockIdx.x != bad` failed."),
        std::string::npos)
        << outcome.detail;
    EXPECT_TRUE(image.run("k", grid(3, 32), out.data(), -1).ok());
  }
}

TEST(Faults, TrapStopsTheLaunch) {
  TestImage image = build("__global__ void k(int n) { if (threadIdx.x == n) __builtin_trap(); }");
  EXPECT_EQ(image.run("k", grid(1, 32), 4).fault, LaunchFault::Trap);
  EXPECT_TRUE(image.run("k", grid(1, 32), 40).ok());
}

TEST(Faults, ExitEndsOneThreadInEveryMode) {
  for (bool fibers : {false, true}) {
    LowerOptions options;
    options.force_fibers = fibers;
    TestImage image = build(R"(
__global__ void k(int* out) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 5;
  if (threadIdx.x > 20) asm volatile("exit;");
  __syncthreads();
  out[threadIdx.x] = s;
})",
                            options);
    std::vector<int> out(32);
    ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i > 20 ? 0 : 5);
  }
}

TEST(Geometry, IsCheckedAsADeviceWould) {
  TestImage image = build(R"(
__global__ void __launch_bounds__(128) k(int* out) { extern __shared__ int s[]; s[0] = 1; out[0] = s[0]; }
__global__ void free_size(int* out) { out[0] = 1; })");
  EXPECT_EQ(image.kernel("1k").max_threads, 128u);
  std::vector<int> out(1);
  auto fault = [&](const char* name, Geometry geometry) { return image.run(name, geometry, out.data()).fault; };
  EXPECT_EQ(fault("1k", grid(1, 128)), LaunchFault::None);
  EXPECT_EQ(fault("1k", grid(1, 129)), LaunchFault::InvalidConfiguration);
  EXPECT_EQ(fault("1k", grid(0, 32)), LaunchFault::InvalidConfiguration);
  EXPECT_EQ(fault("1k", grid(1, 32, 300 << 10)), LaunchFault::InvalidConfiguration);
  EXPECT_EQ(fault("free_size", grid(1, 1024)), LaunchFault::None);
  EXPECT_EQ(fault("free_size", {.grid = {1, 1, 1}, .block = {32, 33, 1}}), LaunchFault::InvalidConfiguration);
  EXPECT_EQ(fault("free_size", {.grid = {1, 70000, 1}, .block = {1, 1, 1}}), LaunchFault::InvalidConfiguration);
}

TEST(Stacks, DeepRecursionOnFibersHasRoom) {
  TestImage image = build(R"(
__device__ __noinline__ int depth(int n, int* sink) { int local[4] = {n}; *sink += local[n & 3]; return n ? 1 + depth(n - 1, sink) : __shfl_sync(~0u, 0, 0); }
__global__ void k(int* out) { int sink = 0; out[threadIdx.x] = depth(1000, &sink) + (sink < 0); })");
  EXPECT_EQ(image.mode("k"), "fiber");
  std::vector<int> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  EXPECT_EQ(out[7], 1000);
}

TEST(Shared, AddressesStandInLocalArraysAndStructs) {
  const TestImage image = build(R"(
struct Pair { int count; float* tile; };
__global__ void k(float* out) {
  __shared__ float a[32], b[32];
  float* const both[2] = {a, b};
  float* turns[2] = {a, b};
  Pair pair{3, b};
  int t = threadIdx.x;
  turns[0][t] = t, turns[1][t] = 100 + t;
  __syncthreads();
  out[t] = both[t & 1][31 - t] + pair.count * pair.tile[t];
})");
  std::vector<float> out(32);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (int t = 0; t < 32; ++t) ASSERT_EQ(out[t], (t & 1 ? 100 : 0) + 31 - t + 3 * (100 + t)) << t;
}

}  // namespace
}  // namespace kernelift::cpu
