// Constructs that a candidate may and may not contain, with the real front end in a real worker.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "sandbox/compile/compile_pool.h"

namespace kernelift::sandbox {
namespace {

class AdmissionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Constructs of the slice that only it may contain, and candidates that keep them.
    pool_ = pool_for(own_source()).release();
    ASSERT_NE(pool_, nullptr);
  }
  static void TearDownTestSuite() { delete pool_; }

  static std::string own_source() {
    return "#include <cuda_runtime.h>\n"
           "#pragma GCC diagnostic ignored \"-Wunused\"\n"
           "static int rounded(int n) { return (n + 31) / 32 * 32; }\n"
           "#ifdef SOMETHING_ELSE\nint never = 1;\n#endif\n" +
           std::string(kKernel);
  }
  /// For a kernel with another source of its own.
  static std::unique_ptr<CompilePool> pool_for(const std::string& own) {
    CompilePoolOptions options;
    options.few = true, options.workers = 1;
    auto pool = CompilePool::start(std::move(options));
    if (!pool.ok()) return ADD_FAILURE() << pool.error().message, nullptr;
    const CompileReply reply = (*pool)->compile_own(own);
    EXPECT_TRUE(reply.ok()) << reply.detail;
    return std::move(*pool);
  }
  static CompileReply compile(const std::string& extra, const std::string& kernel = kKernel) {
    return pool_->compile(extra + kernel, {});
  }
  static void expect_refused(const std::string& rule, const std::string& extra, const std::string& kernel = kKernel) {
    CompileReply reply = compile(extra, kernel);
    EXPECT_EQ(reply.outcome, Outcome::Refused) << extra << kernel << reply.detail;
    EXPECT_EQ(reply.stage, Stage::Admit);
    EXPECT_EQ(reply.detail.substr(0, reply.detail.find(':')), rule) << reply.detail;
    EXPECT_TRUE(reply.image.empty());
  }
  static void expect_admitted(const std::string& extra, const std::string& kernel = kKernel) {
    CompileReply reply = compile(extra, kernel);
    EXPECT_TRUE(reply.ok()) << extra << kernel << reply.detail;
  }
  static constexpr const char* kKernel = "__global__ void k(float* x) { x[threadIdx.x] += 1.0f; }\n";
  static CompilePool* pool_;
};
CompilePool* AdmissionTest::pool_ = nullptr;

TEST_F(AdmissionTest, RefusesAMacroThatAHeaderDefinesAlready) {
  for (const char* name : {"assert(x)", "INT_MAX", "NULL", "offsetof(a, b)"}) {
    const std::string define = "#define " + std::string(name) + " 1\n";
    expect_refused("macro", define);
    expect_refused("macro", "", kKernel + define);
  }
  expect_admitted("#define MY_TILE 16\n");
}

TEST_F(AdmissionTest, AdmitsDeviceCodeOfEveryKind) {
  expect_admitted(
      "struct Pair { float a, b; __device__ float sum() const { return a + b; } };\n"
      "template <int N> __device__ float power(float x) { float r = 1; for (int i = 0; i < N; ++i) r *= x; return r; "
      "}\n"
      "__device__ int counter; __constant__ float table[4]; constexpr int kSize = 4; const int kOther = kSize * 2;\n"
      "__device__ constexpr int twice(int n) { return 2 * n; }\n"
      "__device__ inline float both(float x) { return x; }\n#define TILE 16\nnamespace near { typedef float Real; }\n"
      "namespace other = near;\n",
      "__global__ void k(float* x) { __shared__ float s[twice(TILE)]; auto f = [&](float y) { return both(y) + "
      "power<3>(y); };\n"
      "  s[threadIdx.x % 32] = f(x[0]);\n#pragma unroll 4\n  for (int i = 0; i < 8; ++i) x[i] += Pair{s[i], 1}.sum(); "
      "}\n");
}

TEST_F(AdmissionTest, JudgesTheBodyOfALambdaThatTheDeviceRunsAsDeviceCode) {
  const std::string unit =
      "#include <cuda_runtime.h>\n"
      "template <class F> __global__ void each(F f) { f(threadIdx.x); }\n"
      "void host(float* x, int n) { each<<<1, 32>>>([=] __device__(int i) { x[i] = n; }); }\n"
      "template <class T> void both(T* x, T by) { each<<<1, 32>>>([=] __device__(int i) { x[i] += by; }); }\n"
      "void uses(float* x) { both(x, 2.0f); }\n";
  CompilePoolOptions options;
  options.few = true, options.workers = 1;
  auto pool = CompilePool::start(std::move(options));
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  auto own = (*pool)->compile_own(unit);
  ASSERT_TRUE(own.ok()) << own.detail;
  auto judged = [&](const std::string& from, const std::string& to) {
    std::string text = unit;
    text.replace(text.find(from), from.size(), to);
    return (*pool)->compile(text, {});
  };
  for (auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"x[i] = n;", "for (int k = 0; k < 2; ++k) x[i] = n;"}, {"x[i] += by;", "x[i] = x[i] + by;"}}) {
    auto reply = judged(from, to);
    EXPECT_TRUE(reply.ok()) << to << ": " << reply.detail;
  }
  for (auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"x[i] = n;", "x[i] = 2;"},             // Captures less.
           {"x[i] = n;", "int k = n; x[i] = k;"},  // Captures in another order.
           {"x[i] += by;", "T one = by; x[i] += one;"},
           {"[=] __device__(int i) { x[i] = n", "[x, n] __device__(int i) { x[i] = n"},
           {"each<<<1, 32>>>([=] __device__(int i) { x[i] = n", "each<<<1, 64>>>([=] __device__(int i) { x[i] = n"},
           {"void uses(float* x) {", "void uses(float* x) { ++x;"}}) {
    auto reply = judged(from, to);
    EXPECT_EQ(reply.outcome, Outcome::Refused) << to << ": " << reply.detail;
    EXPECT_EQ(reply.stage, Stage::Admit) << to;
  }
}

TEST_F(AdmissionTest, AdmitsConstructsThatTheSliceContains) { expect_admitted(own_source(), "// changed\n"); }

TEST_F(AdmissionTest, RefusesHostFunctions) {
  expect_refused("host-function", "void f() {}\n");
  expect_refused("linkage", "extern \"C\" int system(const char*);\n");
  expect_refused("linkage", "extern \"C\" __host__ __device__ int system(const char*) { return 0; }\n");
  expect_refused("host-function", "__host__ __device__ inline float both(float x) { return x; }\n");
  expect_refused("host-function", "struct S { int x; __host__ __device__ S() : x(1) {} };\n");
  expect_refused("host-function", "constexpr float fabs(int x) { return 0; }\n");
  expect_refused("host-function", "struct S { friend void f(S) {} };\n");
  expect_refused("host-function", "struct S { virtual void f() {} };\n");
  expect_refused("host-function", "template <class T> void f(T) {}\n");
  expect_refused("host-function", "static int rounded(int n) { return n; }\n");
}

TEST_F(AdmissionTest, RefusesInitialisersThatRunOnTheHost) {
  expect_refused("host-initialiser", "__device__ int f();\nstatic int x = f();\n");
  expect_refused("host-variable", "int x = 1;\n");
  expect_refused("host-initialiser", "struct S { __device__ S() {} };\nnamespace n { S s; }\n");
  // Of a device variable the host has a shadow, which another compiler may construct where clang folds.
  expect_refused("host-initialiser", "struct S { int n; __device__ constexpr S() : n(1) {} };\n__device__ S s;\n");
  expect_refused("host-initialiser", "__device__ constexpr int f() { return 1; }\n__constant__ int x[2] = {1, f()};\n");
  for (const char* made : {"__device__ const int x = __builtin_abs(f(3));\n", "__device__ const G x = same(kG);\n",
                           "struct D { int v = __builtin_popcount(f(3)); };\n__device__ D x{};\n"})
    expect_refused("host-initialiser", std::string("struct G { int n; };\nconstexpr G kG{1};\n"
                                                   "__device__ constexpr int f(int n) { return n; }\n"
                                                   "__device__ constexpr const G& same(const G& g) { return g; }\n") +
                                           made);
  expect_admitted("",
                  "__global__ void k(float* x) {\n  auto twice = [](auto v) { return v + v; };\n  x[0] = "
                  "twice(x[1]);\n}\n");
  expect_admitted("struct S { int n = 3; float x; };\n__device__ S s{1, 2.5f};\n__constant__ S t[2] = {{1, 1}};\n");
}

TEST_F(AdmissionTest, RefusesConstantsThatTheHostKeepsThoughNothingUsesThem) {
  expect_refused("host-variable", "extern const int once = 1;\n");
  expect_refused("host-variable", "const volatile int once = 1;\n");
  expect_refused("host-variable", "struct S { static const int x; };\nconst int S::x = 3;\n");
  expect_admitted("const int kOne = 1; struct S { static constexpr int x = 3; }; inline constexpr int kTwo = 2;\n");
}

TEST_F(AdmissionTest, RefusesConstexprFunctionsThatHostCodeWouldFind) {
  // clang makes them functions of both sides. Operators are found by their operands.
  expect_refused("host-function", "constexpr int twice(int n) { return 2 * n; }\n");
  expect_refused("host-function", "template <int N> constexpr int twice() { return 2 * N; }\n");
  expect_refused("host-function", "struct S { int x; constexpr S operator+(S o) const { return {x + o.x}; } };\n");
  expect_refused("host-function", "struct S { int x; constexpr S() : x(1) {} };\n");
  expect_refused("host-function", "constexpr bool operator==(cudaError_t, cudaError_t) { return true; }\n");
  expect_refused("host-function", "constexpr int operator\"\"_s(unsigned long long) { return 1; }\n");
  expect_refused("hidden-name", "inline namespace near { constexpr float fabs(int x) { return 0; } }\n");
  expect_refused("hidden-name", "namespace { constexpr float fabs(int x) { return 0; } }\n");
  expect_refused("hidden-name", "namespace near { constexpr float fabs(int x) { return 0; } }\n");
  expect_refused("host-function", "long labs(int) = delete;\n");
  expect_admitted(
      "struct S { int x; __device__ constexpr S operator+(S o) const { return {x + o.x}; } };\n"
      "__device__ constexpr S operator-(S a, S b) { return {a.x - b.x}; }\n"
      "namespace near { __device__ constexpr int fresh(int x) { return x; } }\n");
}

TEST_F(AdmissionTest, RefusesConstantsThatOnlyThisCompilerMustFold) {
  expect_refused("host-initialiser", "static const int x = sizeof(long) == 8 ? 0 : system(\"true\");\n");
  expect_refused("host-initialiser", "struct S { int n = 3; };\nstatic const int x = S{}.n;\n");
  expect_refused("host-initialiser", "struct S { int n = 3; };\nstatic const S x{4};\n");
  expect_refused("host-initialiser", "__device__ constexpr int f() { return 1; }\nstatic const int x = f();\n");
  expect_admitted(
      "const int kOne = 1; static const unsigned kMask = (1u << kOne) - 1; enum { Two = 2 }; const long kThree{Two + "
      "1};\n"
      "struct S { static const int size = sizeof(float) * kOne; };\nconstexpr float kHalf = 0.5f; static const float "
      "kShare = 1.0f / kThree;\n");
}

TEST_F(AdmissionTest, RefusesToNameAFunctionOfTheHostInAnyBranch) {
  for (const char* text :
       {"template <int A> __device__ int f() { if constexpr (A > 9) return system(\"true\"); else return 0; }\n",
        "template <class T> __device__ int f(T t) { if (false) return t + system(\"true\"); return 0; }\n",
        "template <class T> __device__ auto f(T) { return &system; }\n", "struct S { int n = system(\"true\"); };\n",
        "__device__ int f(int n = sizeof(system(\"true\"))) { return n; }\n",
        "constexpr int x = true ? 0 : system(\"true\");\n"})
    expect_refused("host-call", text);
  expect_admitted(
      "template <class T> __device__ T f(T t) { return fabsf(t) + sqrt(t) + max(t, t) + abs(t) + expf(t); }\n",
      "__global__ void k(float* x) { memcpy(x, x + 1, 4); printf(\"%f\", f(x[0])); x[0] = powf(x[0], 2) + "
      "rsqrtf(x[1]); }\n");
}

TEST_F(AdmissionTest, RefusesToAskWhatTheApplicationHas) {
  expect_refused("absent-name", "template <class T> __device__ int f(T v) { return damp(v); }\n");
  expect_refused("detection", "template <class T> __device__ auto f(T v) -> decltype(damp(v), 0) { return 1; }\n");
  for (const char* text : {"template <class T> __device__ auto f(T v) -> decltype(v + v, 0) { return 1; }\n",
                           "template <class T> __device__ int f(T v) { return sizeof(v + v); }\n",
                           "template <class T> __device__ int f(T v) { return noexcept(-v); }\n"})
    expect_refused("detection", text);
  expect_admitted(
      "template <class T> __device__ int f(T v) { decltype(v) w = v; return sizeof(w) + sizeof(T) + g(w); }\n"
      "struct S { int x; };\n__device__ int g(S s) { return s.x; }\n"
      "template <class T> __device__ decltype(T::x) h(T v) { return v.x; }\n");
}

TEST_F(AdmissionTest, RefusesMacrosOfHeadersThatAnotherBuildMayDefineOtherwise) {
  expect_refused("value", "", "__global__ void k(float* x) { int n = 1; assert((n = 2) > 0); x[0] = n; }\n");
  expect_refused("value", "__device__ long x = __cplusplus;\n");
  expect_refused("value", "__device__ int x = EOF;\n");
  expect_refused("value", "#define LAST EOF\n__device__ int x = LAST;\n");
  expect_admitted("__device__ float b = INFINITY, c = M_PI; __device__ long d = INT_MAX + LONG_MIN;\n");
}

TEST_F(AdmissionTest, RefusesReservedNamesThatNoHeaderDeclaresForTheDevice) {
  for (const char* text : {"__device__ int __fresh;\n", "__device__ int f() { int __local = 1; return __local; }\n",
                           "__device__ bool b = __is_same(int, long);\n",
                           "template <class T, T... I> struct S {};\n"
                           "__device__ __make_integer_seq<S, int, 4>* p;\n"})
    expect_refused("reserved", text);
  expect_refused("absent-name", "template <class T> __device__ T f(T t) { return __unheard_of(t); }\n");
  expect_refused("value", "__device__ int f() { return __linux; }\n");
  expect_admitted("",
                  "__global__ void k(float* x) { x[0] = __ldg(x) + __expf(x[1]) + __popc(3) + __float_as_int(x[2]) + "
                  "__shfl_down_sync(~0u, x[0], 1) + __fmaf_rn(x[0], 2, 1); __stcs(x, __ldcs(x + 1)); __syncwarp(); "
                  "__syncthreads(); "
                  "__threadfence(); x[2] += __ballot_sync(~0u, 1) + __clz(2) + __brev(3) + __fdividef(x[0], 3); }\n");
}

TEST_F(AdmissionTest, RefusesToSayMoreOfAHeadersTemplates) {
  auto folder = TemporaryFolder::create("kernelift-admission");
  ASSERT_TRUE(folder.ok());
  const std::string_view lib =
      "template <class T> struct Box { T x; Box(T t) : x(t) {} int get() const { return 3; } "
      "static constexpr int size = 1; };\n";
  ASSERT_TRUE(write_atomically(folder->path() / "lib.h", lib).ok());
  CompilePoolOptions options;
  options.few = true, options.workers = 1, options.frontend.folder = folder->path().string();
  options.readable = {folder->path()};
  auto pool = CompilePool::start(std::move(options));
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  const std::string own = "#include \"lib.h\"\n" + std::string(kKernel);
  ASSERT_TRUE((*pool)->compile_own(own).ok());
  EXPECT_TRUE((*pool)->compile(own + "__device__ int size = Box<int>::size;\n", {}).ok());
  for (const char* more :
       {"template <class T> Box(T) -> Box<long>;\n", "template <> constexpr int Box<int>::get() const { return 9; }\n",
        "template <> inline constexpr int Box<int>::size = 9;\n"}) {
    CompileReply reply = (*pool)->compile(own + more, {});
    EXPECT_EQ(reply.detail.substr(0, reply.detail.find(':')), "specialization") << more << reply.detail;
  }
}

TEST_F(AdmissionTest, RefusesNamesThatHideAHeadersInTheirNamespace) {
  expect_refused("hidden-name", "namespace near { struct dim3 { int x, y; }; }\n");
  expect_refused("hidden-name", "namespace near { constexpr int cudaSuccess = 1; }\n");
  expect_refused("hidden-name", "namespace near { enum { cudaSuccess = 1 }; }\n");
  expect_refused("hidden-name", "namespace near { using dim3 = int; }\n");
  expect_refused("hidden-name", "namespace near { namespace std { struct X {}; } }\n");
  expect_refused("hidden-name", "namespace near { template <class T> using float2 = T; }\n");
  expect_admitted("namespace near { struct S { int dim3; }; __device__ float fabs(S s) { return s.dim3; } }\n");
}

TEST_F(AdmissionTest, RefusesAttributesThatAffectLinkingOrStartup) {
  expect_refused("attribute", "__attribute__((constructor)) __device__ void f() {}\n");
  expect_refused("attribute", "__device__ __attribute__((section(\".init_array\"))) int x;\n");
  expect_refused("asm-label", "__device__ int f() asm(\"system\");\n");
}

TEST_F(AdmissionTest, RefusesAssembly) {
  expect_refused("file-scope-asm", "asm(\".incbin \\\"/etc/passwd\\\"\");\n");
  expect_refused("inline-asm", "", "__global__ void k(float* x) { asm volatile(\"trap;\"); x[0] = 1; }\n");
}

TEST_F(AdmissionTest, RefusesPromisesThatNobodyChecks) {
  for (const char* promise : {"__builtin_assume(n > 128);", "if (n < 128) __builtin_unreachable();"})
    expect_refused("promise", "", "__global__ void k(float* x, int n) { " + std::string(promise) + " x[0] = n; }\n");
}

TEST_F(AdmissionTest, RefusesToReadFiles) {
  expect_refused("include", "#include \"/etc/passwd\"\n");
  expect_refused("include", "#define WHERE \"/etc/passwd\"\n#include WHERE\n");
  expect_refused("probe", "#if __has_include(\"/root/.ssh/id_rsa\")\n#endif\n");
  expect_refused("embed", "__device__ unsigned char x[] = {\n#embed \"/etc/passwd\"\n};\n");
}

TEST_F(AdmissionTest, NoSpellingHidesAFileThatIsRead) {
  expect_refused("embed", "__device__ unsigned char x[] = {\n#em\\\nbed \"/etc/passwd\"\n};\n");
  expect_refused("embed", "__device__ unsigned char x[] = {\n%:embed \"/etc/passwd\"\n};\n");
  expect_refused("embed", "#if 0\n#embed \"/etc/passwd\"\n#endif\n");
  expect_refused("include", "#inc\\\nlude \"/etc/passwd\"\n");
  expect_refused("trigraph", "?\?=include \"/etc/passwd\"\n");
}

TEST_F(AdmissionTest, DecidesBeforeTheFrontEndReadsAnything) {
  // Nothing of the text compiles; that it is refused by admission shows that it was not tried.
  expect_refused("embed", "this does not compile\n#embed \"/etc/passwd\"\n");
  CompileReply reply = compile("this does not compile\n#embed \"/etc/passwd\"\n");
  EXPECT_EQ(reply.frontend_seconds, 0);
}

TEST_F(AdmissionTest, RefusesMacrosThatMeanSomethingElse) {
  expect_refused("macro", "#define cudaGetLastError() cudaSuccess\n");
  expect_refused("macro", "#define rounded 1\n");
  expect_refused("macro", "#define main hidden\n");
  expect_refused("macro", "#define __global__\n");
  expect_admitted("#define TILE 32\n");
}

TEST_F(AdmissionTest, RefusesToChangeWhatNamesOfOthersMean) {
  expect_refused("using", "namespace far { struct X {}; }\nusing namespace far;\n");
  expect_refused("using", "namespace far { struct X {}; }\nusing far::X;\n");
  expect_refused("using", "enum class Far { X };\nusing enum Far;\n");
  expect_refused("namespace", "#include <cuda_runtime.h>\nnamespace std { __device__ int x; }\n");
  expect_admitted("namespace far { struct X {}; }\n",
                  "__global__ void k(float* x) { using namespace far; X y; (void)y; x[0] = 1; }\n");
}

TEST_F(AdmissionTest, RefusesPragmasThatDoNotOnlyAdviseTheOptimiser) {
  expect_refused("pragma", "#pragma push_macro(\"x\")\n");
  expect_refused("pragma", "_Pragma(\"GCC poison malloc\")\n");
  expect_refused("pragma", "#define P _Pragma(\"GCC poison malloc\")\nP\n");
}

TEST_F(AdmissionTest, RefusesPromisesThatTheKernelDoesNotMake) {
  expect_refused("promise", "",
                 "__global__ void k(float* x) { x[0] = *(float*)__builtin_assume_aligned(x + 1, 16); }\n");
  expect_refused("attribute", "__attribute__((pure)) __device__ int f();\n");
}

TEST_F(AdmissionTest, RefusesCodeThatOnlyOtherCompilersRead) {
  expect_refused("inactive-code", "#ifndef __CUDA_ARCH__\nstatic int x = system(\"true\");\n#endif\n");
  expect_refused("conditional", "#ifdef __clang__\n#else\nint host() { return 1; }\n#endif\n");
  expect_refused("inactive-code", "#define TILE 4\n#if TILE > 8\nint host() { return 1; }\n#endif\n");
  expect_refused("conditional", "#if __CUDA_ARCH__ == 900\n__device__ int only_there;\n#endif\n");
}

TEST_F(AdmissionTest, AdmitsTheKernelsOwnInactiveCodeAtAnyDepth) {
  const std::string begin = "__global__ void k(float* x) {\n  ", middle = "x[0] += 1;\n", end = "}\n";
  const std::string branch = "#ifdef ROUND // to nearest\n  x[1] = __fdiv_rn(x[0],  x[1]);\n#else\n";
  auto pool = pool_for(begin + branch + middle + "#endif\n" + end);
  ASSERT_NE(pool, nullptr);
  auto reply_to = [&](const std::string& text) { return pool->compile(text, {}); };
  const std::string deeper = "  #ifdef ROUND\n      x[1] = __fdiv_rn(x[0], x[1]);\n    #else\n";
  EXPECT_TRUE(
      reply_to(begin + "for (int i = 0; i < 1; ++i) {\n" + deeper + "    " + middle + "#endif\n}\n" + end).ok());
  const CompileReply other =
      reply_to(begin + "#ifdef ROUND\n  x[1] = __fdiv_rn(x[1], x[1]);\n#else\n" + middle + "#endif\n" + end);
  EXPECT_EQ(other.detail.substr(0, other.detail.find(':')), "inactive-code") << other.detail;
  const CompileReply joined =
      reply_to(begin + "#ifdef ROUND x[1] = __fdiv_rn(x[0], x[1]);\n#else\n" + middle + "#endif\n" + end);
  EXPECT_FALSE(joined.ok()) << "lines of directives are what they are";
}

TEST_F(AdmissionTest, RefusesLineDirectives) {
  expect_refused("line", "#line 1 \"/usr/include/stdio.h\"\nvoid f() {}\n");
}

TEST_F(AdmissionTest, NamesFileAndLine) {
  EXPECT_NE(compile("\n\nvoid helper() {}\n").detail.find("kernel.cu:3"), std::string::npos);
}

/// What of a kernel's own declarations host code may see.
TEST_F(AdmissionTest, WhatHostCodeSeesOfTheKernelsDeclarationsStaysAsItIs) {
  const std::string own =
      "struct Base {};\nstruct Params : Base { float scale = 2.0f; int n; };\nusing Real = float;\n"
      "enum { kWidth = 4 };\nconstexpr int kTile = 16;\n__device__ const float kEps = 0.5f;\n"
      "__constant__ float table[2] = {1, 2};\n"
      "template <int N = 4> struct Times { __device__ static int of(int x) { return N * x; } };\n"
      "__global__ void k(float* x, Params p) { x[threadIdx.x] += p.scale * kEps * table[kWidth % 2] * "
      "Times<>::of(kTile); "
      "}\n";
  const auto pool = pool_for(own);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = own;
    EXPECT_NE(text.find(from), text.npos) << from;
    return pool->compile(text.replace(text.find(from), from.size(), to), {});
  };
  for (auto [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"scale = 2.0f", "scale = sizeof(int) == 4 ? 2.0f : 3.0f"},
                                                        {"float scale", "double scale"},
                                                        {"int n;", "int n, m;"},
                                                        {"Params : Base", "Params"},
                                                        {"Real = float", "Real = decltype(1.0f)"},
                                                        {"kWidth = 4", "kWidth = sizeof(float)"},
                                                        {"kTile = 16", "kTile = 4 * sizeof(float)"},
                                                        {"kEps = 0.5f", "kEps = 0.75f"},
                                                        {"{1, 2}", "{1, 3}"},
                                                        {"N = 4", "N = sizeof(int)"}}) {
    const CompileReply reply = with(from, to);
    EXPECT_EQ(reply.outcome, Outcome::Refused) << to << reply.detail;
    EXPECT_EQ(reply.detail.substr(0, 11), "declaration") << to << reply.detail;
  }
  EXPECT_TRUE(with("kTile = 16", "kTile = 32").ok()) << "what the host makes of a number is compared";
  EXPECT_TRUE(
      with("struct Base", "struct Other { Real x = 1; };\nconstexpr int kOther = kTileless;\nstruct Base").outcome !=
      Outcome::Ok);
  const CompileReply more = with("using Real = float;", "using Real = float;\nstruct Other { Real x = 1; };\n");
  EXPECT_TRUE(more.ok()) << "new names are new: " << more.detail;
}

TEST_F(AdmissionTest, ALambdaOfTheDeviceMayHaveLambdasInItAndNamesNoOtherConstants) {
  const std::string
      head =
          "template <class F> __global__ void each(F f, int n) { if (threadIdx.x < n) f(threadIdx.x); }\n"
          "struct Counted { float v = 2; constexpr Counted() {} constexpr Counted(const Counted& c) : v(c.v) {} };\n"
          "void run(float* p, int n) {\n  constexpr Counted c;\n  each<<<1, 32>>>([=] __device__(int i) { ",
      tail = " }, n);\n}\n";
  const auto pool = pool_for(head + "p[i] += 1;" + tail);
  const CompileReply inner =
      pool->compile(head + "auto more = [](auto x) { return x + 1; }; p[i] = more(p[i]);" + tail, {});
  EXPECT_NE(inner.outcome, Outcome::Refused) << inner.detail;
  const CompileReply constant = pool->compile(head + "p[i] += c.v - 1;" + tail, {});
  EXPECT_EQ(constant.outcome, Outcome::Refused) << "nvcc captures it: " << constant.detail;
}

TEST_F(AdmissionTest, NoTextLearnsWhichCompilerReadsIt) {
  for (const char* body : {"if (sizeof(threadIdx) != 1) return;", "auto i = threadIdx; x[i.x] = 1;",
                           "decltype(blockDim) d; x[0] = sizeof d;"})
    expect_refused("detection", "",
                   "__global__ void k(float* x) { " + std::string(body) + " x[threadIdx.x] += 1.0f; }\n");
  expect_refused("variable-type",
                 "template <int N> struct Pick { using type = double; };\n__shared__ Pick<1>::type seen;\n");
  expect_admitted("__shared__ float seen[32];\n__device__ unsigned counter[4];\n");
}

}  // namespace
}  // namespace kernelift::sandbox
