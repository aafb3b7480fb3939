// Whether a size is the same at a launch as where its grid was computed.
#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "extractor/scan/scan.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::TestApp;

constexpr const char* kKernels = R"(
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Par { float* x; int n; };
__global__ void k(float* x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = n; }
__global__ void s(Par p) { p.x[blockIdx.x * blockDim.x + threadIdx.x] = p.n; }
static int N;
static void shrink() { N -= 300; }
static void shrink(Par& p) { p.n -= 300; }
static void trim(int& n) { n -= 300; }
static void trimp(int* n) { *n -= 300; }
static void through(int* n) { trim(*n); }
void elsewhere();
void elsewhere(int* n);
)";

/// The grids of the functions of a unit, by the functions' names.
std::map<std::string, std::optional<Expression>> grids_of(const std::string& text) {
  TestApp app;
  app.unit("a.cu", kKernels + text, {"-std=c++17"});
  std::map<std::string, std::optional<Expression>> grids;
  auto index = app.scan();
  for (auto& unit : index.units)
    for (auto& problem : unit.problems) ADD_FAILURE() << problem;
  for (auto& launch : index.launches) grids[launch.enclosing] = launch.grid[0];
  return grids;
}

/// Each function's grid is its own variable b, and not what b was computed from.
void expect_unknown(const std::string& text, size_t count) {
  auto grids = grids_of(text);
  EXPECT_EQ(grids.size(), count);
  for (auto& [function, grid] : grids)
    if (grid) EXPECT_EQ(grid, "b"_e) << function;
}

void expect_known(const std::string& text, size_t count) {
  auto grids = grids_of(text);
  EXPECT_EQ(grids.size(), count);
  for (auto& [function, grid] : grids) {
    ASSERT_TRUE(grid) << function;
    auto quotient = grid->as_quotient();
    EXPECT_TRUE(quotient && !grid->uses("b")) << function << ": " << grid->text();
  }
}

TEST(Effects, AGridIsNotComputedFromAVariableThatACallHasChangedSince) {
  expect_unknown(R"(
void copy(float* x, int* count, int m) { int b = (m + 255) / 256; cudaMemcpy(&m, count, sizeof(int), cudaMemcpyDeviceToHost); k<<<b, 256>>>(x, m); }
void later(float* x, int* count, int m, cudaStream_t t) { cudaMemcpyAsync(&m, count, sizeof(int), cudaMemcpyDeviceToHost, t); int b = (m + 255) / 256; cudaStreamSynchronize(t); k<<<b, 256>>>(x, m); }
void by_reference(float* x, int m) { int b = (m + 255) / 256; trim(m); k<<<b, 256>>>(x, m); }
void by_pointer(float* x, int m) { int b = (m + 255) / 256; trimp(&m); k<<<b, 256>>>(x, m); }
void two_deep(float* x, int m) { int b = (m + 255) / 256; through(&m); k<<<b, 256>>>(x, m); }
void other_name(float* x, int m) { int& r = m; int b = (m + 255) / 256; r = 5; k<<<b, 256>>>(x, m); }
void other_pointer(float* x, int m) { int* p = &m; int b = (m + 255) / 256; *p = 5; k<<<b, 256>>>(x, m); }
void kept(float* x, int m) { elsewhere(&m); int b = (m + 255) / 256; elsewhere(); k<<<b, 256>>>(x, m); }
void read(float* x, int m) { int b = (m + 255) / 256; if (scanf("%d", &m)) k<<<b, 256>>>(x, m); }
void swapped(float* x, int m, int o) { int b = (m + 255) / 256; std::swap(m, o); k<<<b, 256>>>(x, m); }
void read_only(float* x, int m) { const int& r = m; int b = (r + 255) / 256; m = 5; k<<<b, 256>>>(x, r); }
void argument(float* x, int m) { int b = (m + 255) / 256; k<<<b, 256>>>(x, m -= 300); }
void itself(float* x, int m) { int b = m / 256; m = m / 2; k<<<b, 256>>>(x, m); }
template <class F> void go(float* x, int m, F f) { int b = (m + 255) / 256; f(m); k<<<b, 256>>>(x, m); }
void all(float* x, int m) { go(x, m, [](int& one) { one -= 300; }); }
template <class F> void never(float* x, int m, F f) { int b = (m + 255) / 256; f(m); k<<<b, 256>>>(x, m); }
)",
                 15);
}

TEST(Effects, AGridIsNotComputedFromAMemberOrGlobalThatHasChangedSince) {
  expect_unknown(R"(
void member(Par p) { int b = (p.n + 255) / 256; p.n -= 300; s<<<b, 256>>>(p); }
void lent(Par p) { int b = (p.n + 255) / 256; shrink(p); s<<<b, 256>>>(p); }
void whole(Par p, Par q) { int b = (p.n + 255) / 256; p = q; s<<<b, 256>>>(p); }
void copied(Par p, Par* d) { int b = (p.n + 255) / 256; cudaMemcpy(&p, d, sizeof p, cudaMemcpyDeviceToHost); s<<<b, 256>>>(p); }
void behind(Par* p) { int b = (p->n + 255) / 256; shrink(*p); s<<<b, 256>>>(*p); }
void next(Par* p) { int b = (p->n + 255) / 256; ++p; k<<<b, 256>>>(p->x, p->n); }
void aliased(Par* p, Par* q) { int b = (p->n + 255) / 256; q->n = 5; k<<<b, 256>>>(p->x, p->n); }
void reference(float* x, const int& m) { int b = (m + 255) / 256; elsewhere(); k<<<b, 256>>>(x, m); }
void global(float* x) { int b = (N + 255) / 256; shrink(); k<<<b, 256>>>(x, N); }
void assigned(float* x) { int b = (N + 255) / 256; N -= 300; k<<<b, 256>>>(x, N); }
void unseen(float* x) { int b = (N + 255) / 256; elsewhere(); k<<<b, 256>>>(x, N); }
void back(float* x, int* h) { int b = (N + 255) / 256; std::for_each(h, h + 3, [](int) { shrink(); }); k<<<b, 256>>>(x, N); }
void stored(float* x, int n) { N = n; shrink(); int b = (N + 255) / 256; shrink(); k<<<b, 256>>>(x, n); }
struct Solver {
  int n; float* x;
  void trim() { n -= 300; }
  void directly() { int b = (n + 255) / 256; n -= 300; k<<<b, 256>>>(x, n); }
  void by_method() { int b = (n + 255) / 256; trim(); k<<<b, 256>>>(x, n); }
  void by_reference() { int b = (n + 255) / 256; ::trim(n); k<<<b, 256>>>(x, n); }
  void in_a_loop() { int b = (n + 255) / 256; for (int i = 0; i < 3; ++i) { k<<<b, 256>>>(x, n); n /= 2; } }
  virtual void step();
  void by_virtual() { int b = (n + 255) / 256; step(); k<<<b, 256>>>(x, n); }
};
)",
                 18);
}

TEST(Effects, ANameIsThatOfTheSameVariableAtTheLaunch) {
  expect_unknown(R"(
void hidden(float* x, int m) { int b = (m + 255) / 256; { int m = 7; k<<<b, 256>>>(x, m); } }
void ended(float* x, int n) { int b; { int N = n * 2; b = (N + 255) / 256; } k<<<b, 256>>>(x, N); }
void captured(float* x, int m) { int b = (m + 255) / 256; auto run = [b, x, m = m - 300] { k<<<b, 256>>>(x, m); }; run(); }
namespace a { int M; }
namespace c { int M; void other(float* x) { int b = (a::M + 255) / 256; k<<<b, 256>>>(x, M); } }
struct Made { int n; void run(float* x, int n) { int b = (this->n + 255) / 256; k<<<b, 256>>>(x, n); } };
)",
                 5);
}

TEST(Effects, AGridThatIsComputedOnceStaysUnderstood) {
  expect_known(R"(
void steps(float* x, float* h, int n, int times) {
  const int b = (n + 255) / 256;
  bool stop = false, *d_stop;
  cudaMalloc(&d_stop, 1);
  for (int i = 0; i < times && !stop; ++i) {
    k<<<b, 256>>>(x, n);
    cudaMemcpy(&stop, d_stop, 1, cudaMemcpyDeviceToHost);
    cudaMemcpy(h, x, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%d\n", n);
  }
}
void read(float* x) { int n; if (scanf("%d", &n) != 1) return; int b = (n + 255) / 256; cudaMemset(x, 0, n); k<<<b, 256>>>(x, n); }
static bool parse(char** argv, int* n, int& m) { *n = atoi(argv[1]); if (m > 7) m = 7; return *n > m; }
static void fill(int* h, int n) { for (int i = 0; i < n; ++i) h[i] = rand(); }
void parsed(char** argv, float* x, int* h) { int n, m; parse(argv, &n, m); int b = (n + 255) / 256; fill(h, n); trim(m); k<<<b, 256>>>(x, n); }
void lent(float* x, int* h) { int n; elsewhere(&n); int b = (n + 255) / 256; cudaMemcpy(x, h, n, cudaMemcpyHostToDevice); k<<<b, 256>>>(x, n); }
static void check(cudaError_t e) { if (e) { fprintf(stderr, "%d\n", e); exit(1); } }
void set(char** argv, float* x, int* h) { N = atoi(argv[1]); int b = (N + 255) / 256; check(cudaMalloc(&x, N)); fill(h, N); k<<<b, 256>>>(x, N); k<<<b, 256>>>(x, N); }
void members(Par p, float* d) { int b = (p.n + 255) / 256; p.x = d; check(cudaMalloc(&p.x, 4)); s<<<b, 256>>>(p); }
void locally(float* x, int n) { int b = (n + 255) / 256; elsewhere(); k<<<b, 256>>>(x, n); }
void referred(float* x, const int& n) { int b = (n + 255) / 256; std::vector<float> h(n); check(cudaMemset(x, 0, n)); k<<<b, 256>>>(x, n); }
void config(float* x, int n) {
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3((n + 255) / 256), c.blockDim = dim3(256);
  cudaLaunchKernelEx(&c, k, x, n);
}
#define CHECKED(what) do { if (what) exit(1); } while (0)
#define ALL(...) do { __VA_ARGS__ } while (0)
void once(float* x, int n) { ALL({ int b = (n + 255) / 256; CHECKED(cudaMemset(x, 0, n)); k<<<b, 256>>>(x, n); elsewhere(&n); n = 5; }); }
void afterwards(float* x, Par p) { int b = (p.n + 255) / 256; elsewhere(); k<<<b, 256>>>(x, p.n); shrink(p); elsewhere(&p.n); }
void array(float* x, int n) { int b = (n + 255) / 256; void* args[] = {&x, &n}; for (int i = 0; i < 3; ++i) cudaLaunchKernel((void*)k, dim3(b), dim3(256), args, 0, 0); }
class Solver {
 public:
  explicit Solver(int n) : n_(n), size_(n) { dim3 b((n_ + 255) / 256); cudaMalloc(&x_, n_); k<<<b, 256>>>(x_, n_); }
  void run(int* h) { dim3 b((n_ + 255) / 256); fill(h, n_); note(); for (int i = 0; i < 3; ++i) { k<<<b, 256>>>(x_, n_); } check(cudaGetLastError()); }
  void fixed() { int b = (size_ + 255) / 256; elsewhere(); k<<<b, 256>>>(x_, size_); }
 private:
  void note() { ++launched_; }
  int n_, launched_ = 0;
  const int size_;
  float* x_;
};
)",
               15);
}

constexpr const char* kEnding = R"(
struct Halver { ~Halver() { N /= 2; } };
struct Holder { Halver inner; };
struct Temporary { int n; Temporary(int n) : n(n) {} ~Temporary() { N /= 2; } int get() const { return n; } };
struct Counter { int i; int operator*() const { return i; } Counter& operator++() { ++i; N -= 1; return *this; }
                 bool operator!=(const Counter& o) const { return i != o.i; } };
struct Steps { int n; Counter begin() const { return {0}; } Counter end() const { return {n}; } };
struct Timer { long begin = 0; Timer() {} ~Timer() { printf("%ld", begin); } };
struct Size { int n, m; };
struct Box { Size s; };
)";

TEST(Effects, WhatADestructorAStepOfALoopOrAssemblyWritesMayHaveChanged) {
  expect_unknown(std::string(kEnding) + R"(
void scope(float* x) { int b = (N + 255) / 256; { Halver h; } k<<<b, 256>>>(x, N); }
void part(float* x) { int b = (N + 255) / 256; { Holder h; } k<<<b, 256>>>(x, N); }
void computed_inside(float* x) { int b; { Halver h; b = (N + 255) / 256; } k<<<b, 256>>>(x, N); }
void again(float* x, int m) { int b = (N + 255) / 256; for (int i = 0; i < m; ++i) { Halver h; k<<<b, 256>>>(x, N); } }
void temporary(float* x, int m) { int b = (N + 255) / 256; int g = Temporary(m).get(); k<<<b, 256>>>(x, N); }
void loop(float* x, int m) { int b = (N + 255) / 256; for (int i : Steps{m}) printf("%d", i); k<<<b, 256>>>(x, N); }
void assembly(float* x, int m) { int b = (m + 255) / 256; asm("" : "+r"(m)); k<<<b, 256>>>(x, m); }
void memory(float* x) { int b = (N + 255) / 256; asm volatile("" ::: "memory"); k<<<b, 256>>>(x, N); }
void bytes(float* x, int m) { char* p = (char*)&m; int b = (m + 255) / 256; p[0] = 3; k<<<b, 256>>>(x, m); }
void whole(float* x, Box t) { Box b0; Box* pb = &b0; Size& r = pb->s; int b = (r.n + 255) / 256; b0 = t; k<<<b, 256>>>(x, r.n); }
)",
                 10);
}

TEST(Effects, AVariableChangesBehindCastsManagedMemoryAndOwnReferences) {
  expect_unknown(R"(
#include <array>
#include <functional>
#include <new>
struct A { int n; };
struct B : A { int m; B& self() { return *this; } A& base() { return *this; } };
__device__ __managed__ int gm;
__global__ void choose(int m) { gm = m; }
void cast(float* x, int n) { int b = (n + 255) / 256; *reinterpret_cast<int*>(&n) = 7; k<<<b, 256>>>(x, n); }
void other_type(float* x, int n) { int b = (n + 255) / 256; (unsigned&)n = 7; k<<<b, 256>>>(x, n); }
void reinterpreted(float* x, int n) { int b = (n + 255) / 256; reinterpret_cast<int&>(n) = 7; k<<<b, 256>>>(x, n); }
void base(float* x, B s) { int b = (s.n + 255) / 256; static_cast<A&>(s).n = 7; k<<<b, 256>>>(x, s.n); }
void member(float* x, B s) { int B::*f = &B::m; int b = (s.m + 255) / 256; s.*f = 7; k<<<b, 256>>>(x, s.m); }
void placed(float* x, int n) { int b = (n + 255) / 256; new (&n) int(7); k<<<b, 256>>>(x, n); }
void constant(float* x, int n) { const int& r = n; int b = (n + 255) / 256; const_cast<int&>(r) = 7; k<<<b, 256>>>(x, n); }
void fluent(float* x, B s) { int b = (s.n + 255) / 256; s.base().n = 7; k<<<b, 256>>>(x, s.n); }
void managed(float* x, int m) { int b = (gm + 255) / 256; choose<<<1, 1>>>(m); cudaDeviceSynchronize(); k<<<b, 256>>>(x, gm); }
void wrapped(float* x, int n) { std::array<std::reference_wrapper<int>, 1> v{n}; int b = (n + 255) / 256; v[0].get() = 7; k<<<b, 256>>>(x, n); }
)",
                 10);
}

TEST(Effects, WhatADestructorLeavesAloneIsKnown) {
  expect_known(std::string(kEnding) + R"(
void own(float* x, int m) { int b = (m + 255) / 256; { Halver h; } k<<<b, 256>>>(x, m); }
void timed(float* x) { Timer t; int b = (N + 255) / 256; { Timer u; } k<<<b, 256>>>(x, N); }
void later(float* x) { Halver h; int b = (N + 255) / 256; k<<<b, 256>>>(x, N); }
void vectors(float* x, const std::vector<int>& v) { int b = (N + 255) / 256; std::vector<int> w(v); for (int i : w) printf("%d", i); k<<<b, 256>>>(x, N); }
)",
               4);
}

TEST(Effects, AConfigurationThatACallMayChangeIsNotKnown) {
  auto grids = grids_of(R"(
void tweak(cudaLaunchConfig_t& c);
void lent(float* x, int n) { cudaLaunchConfig_t c = {}; c.gridDim = dim3((n + 255) / 256), c.blockDim = 256; tweak(c); cudaLaunchKernelEx(&c, k, x, n); }
void after(float* x, int n) { cudaLaunchConfig_t c = {}; c.gridDim = dim3((n + 255) / 256), c.blockDim = 256; n -= 300; cudaLaunchKernelEx(&c, k, x, n); }
)");
  ASSERT_EQ(grids.size(), 2u);
  EXPECT_EQ(grids["lent"], std::nullopt);
  EXPECT_EQ(grids["after"], std::nullopt);
}

TEST(Effects, ANarrowingConversionIsPartOfTheGrid) {
  auto grids = grids_of(R"(
void byte(float* x, int m) { unsigned char b = (m + 255) / 256; k<<<b, 256>>>(x, m); }
void word(float* x, int m) { k<<<(unsigned short)(m / 256), 256>>>(x, m); }
void negative(float* x, int m) { k<<<(short)(m / 256), 256>>>(x, m); }
void inner(float* x, int m) { int b = static_cast<unsigned char>(m) / 2 + 1; k<<<b, 256>>>(x, m); }
static int half(unsigned char n) { return n / 2; }
void passed(float* x, int m) { k<<<half(m), 256>>>(x, m); }
void truth(float* x, int m) { bool b = m / 256; k<<<b, 256>>>(x, m); }
void condition(float* x, int m) { k<<<m / 256 + (m % 256 ? 1 : 0) + !(m & 1), 256>>>(x, m); }
void wide(float* x, long m) { int b = (int)((size_t)m / 256); k<<<b, 256>>>(x, m); }
void small(float* x, int m) { const unsigned char b = 64; k<<<m / b, b>>>(x, m); }
void cut(float* x, int m) { unsigned char b = m / 256.0; k<<<b, 256>>>(x, m); }
)");
  EXPECT_EQ(grids["byte"], "(m + 255) / 256 & 255"_e);
  EXPECT_EQ(grids["word"], "m / 256 & 65535"_e);
  EXPECT_EQ(grids["negative"], "((m / 256 & 65535) ^ 32768) - 32768"_e);
  EXPECT_EQ(grids["inner"], "(m & 255) / 2 + 1"_e);
  EXPECT_EQ(grids["passed"], "(m & 255) / 2"_e);
  EXPECT_EQ(grids["truth"], "m / 256 != 0"_e);
  EXPECT_EQ(grids["condition"], "m / 256 + (m % 256 ? 1 : 0) + !(m & 1)"_e);
  EXPECT_EQ(grids["wide"], "m / 256"_e);
  EXPECT_EQ(grids["small"], "m / b"_e);
  EXPECT_EQ(grids["cut"], "b"_e);
}

TEST(Effects, AnArgumentThatAnotherOneChangesMayNotBeEvaluatedOnceMore) {
  TestApp app;
  app.unit("a.cu", R"(
__global__ void k(float* p, int n, int s) {}
int update(int& s, int n) { s = 9; return n; }
const float* look(const int& s);
void run(float* p, int n, int s, int (*next)(int)) {
  k<<<1, 64>>>(p, update(s, n), s);
  k<<<2, 64>>>(p, (n == 1 ? s = 9 : 0, 1), s);
  auto bump = [&] { s = 9; return n; };
  k<<<3, 64>>>(p, bump(), s);
}
void plain_too(float* p, int n, int (*next)(int)) { k<<<4, 64>>>(p, next(n), n); }
void plain(float* p, int n, int s, int (*next)(int)) { k<<<5, 64>>>(p, next(n), s); })");
  auto index = app.scan();
  ASSERT_EQ(index.launches.size(), 5u);
  for (auto& launch : index.launches) {
    const bool plain = launch.enclosing.starts_with("plain");
    EXPECT_EQ(launch.unrepeatable_arguments.contains(2), !plain) << launch.grid[0]->text();
  }
}

}  // namespace
}  // namespace kernelift::extractor
