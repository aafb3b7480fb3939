// Constructs that a candidate may and may not contain, with the real front end in a real worker.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "sandbox/compile/compile_pool.h"

namespace kernelift::sandbox {
namespace {

class AdmissionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    CompilePoolOptions options;
    options.few = true, options.workers = 1;
    auto pool = CompilePool::start(std::move(options));
    ASSERT_TRUE(pool.ok()) << pool.error().message;
    pool_ = pool->release();
    // Constructs of the slice that only it may contain, and candidates that keep them.
    auto own = pool_->compile_own(own_source());
    ASSERT_TRUE(own.ok()) << own.detail;
  }
  static void TearDownTestSuite() { delete pool_; }

  static std::string own_source() {
    return "#include <cuda_runtime.h>\n"
           "#pragma GCC diagnostic ignored \"-Wunused\"\n"
           "static int rounded(int n) { return (n + 31) / 32 * 32; }\n"
           "#ifdef SOMETHING_ELSE\nint never = 1;\n#endif\n" +
           std::string(kKernel);
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
      "constexpr int twice(int n) { return 2 * n; }\n"
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
}

TEST_F(AdmissionTest, RefusesConstantsThatTheHostKeepsThoughNothingUsesThem) {
  expect_refused("host-variable", "extern const int once = 1;\n");
  expect_refused("host-variable", "const volatile int once = 1;\n");
  expect_refused("host-variable", "struct S { static const int x; };\nconst int S::x = 3;\n");
  expect_admitted("const int kOne = 1; struct S { static constexpr int x = 3; }; inline constexpr int kTwo = 2;\n");
}

TEST_F(AdmissionTest, RefusesConstexprFunctionsThatHostCodeWouldFind) {
  // clang makes them functions of both sides. Operators are found by their operands.
  expect_refused("host-function", "constexpr bool operator==(cudaError_t, cudaError_t) { return true; }\n");
  expect_refused("host-function", "constexpr int operator\"\"_s(unsigned long long) { return 1; }\n");
  expect_refused("hidden-name", "inline namespace near { constexpr float fabs(int x) { return 0; } }\n");
  expect_refused("hidden-name", "namespace { constexpr float fabs(int x) { return 0; } }\n");
  expect_refused("hidden-name", "namespace near { constexpr float fabs(int x) { return 0; } }\n");
  expect_refused("host-function", "long labs(int) = delete;\n");
  expect_admitted(
      "struct S { int x; constexpr S operator+(S o) const { return {x + o.x}; } };\n"
      "__device__ constexpr S operator-(S a, S b) { return {a.x - b.x}; }\n"
      "namespace near { constexpr int fresh(int x) { return x; } }\n");
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

TEST_F(AdmissionTest, RefusesCodeThatOnlyOtherCompilersRead) {
  expect_refused("inactive-code", "#ifndef __CUDA_ARCH__\nstatic int x = system(\"true\");\n#endif\n");
  expect_refused("conditional", "#ifdef __clang__\n#else\nint host() { return 1; }\n#endif\n");
  expect_refused("inactive-code",
                 "#if __CUDA_ARCH__ >= 100\n#else\nint host() { return 1; }\n#endif\n"
                 "#if __CUDA_ARCH__ > 9000\nint host() { return 1; }\n#endif\n");
}

TEST_F(AdmissionTest, RefusesLineDirectives) {
  expect_refused("line", "#line 1 \"/usr/include/stdio.h\"\nvoid f() {}\n");
}

TEST_F(AdmissionTest, NamesFileAndLine) {
  EXPECT_NE(compile("\n\nvoid helper() {}\n").detail.find("kernel.cu:3"), std::string::npos);
}

}  // namespace
}  // namespace kernelift::sandbox
