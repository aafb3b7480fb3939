// Device functions of a candidate that host code would find: nvcc looks names up without regard to who may call, in
// templates and initialisers of the host, too. clang alone sees no difference there.
#include "reintegrate/tests/host_proof_fixture.h"

namespace kernelift::reintegrate {
namespace {

class DeviceLookupTest : public HostProofTest {
 protected:
  void SetUp() override {
    HostProofTest::SetUp();
    std::string text = kApplication;
    auto replace = [&](const std::string& what, const std::string& instead) {
      text.replace(text.find(what), what.size(), instead);
    };
    replace("#include <cstdlib>\n", "#include <algorithm>\n#include <cstdlib>\n#include <vector>\n");
    replace("struct Options {\n  int verbose;\n};\n",
            "struct Options {\n  int verbose;\n  friend bool operator<(const Options& a, const Options& b) { return "
            "a.verbose < b.verbose; }\n};\n");
    replace("int main(", "template <class T> T* assigned(T& a, T& b) { a = b; return &a; }\nint main(");
    replace("  dim3 grid(",
            "  std::vector<Options> all(argc);\n  std::sort(all.begin(), all.end());\n"
            "  std::for_each(all.begin(), all.end(), [](auto& one) { one.verbose += 1; });\n"
            "  std::for_each(all.begin(), all.end(), [&](Options& one) { one.verbose += argc; });\n"
            "  std::printf(\"%p\\n\", (void*)assigned(all[0], options));\n  dim3 grid(");
    write("src/app.cu", text);
    slice_lines("src/app.cu", 5, kLast + 3);  // From Options on.
  }
  /// Makes the lines part of the application, and of the kernel's own source.
  void insert_lines(const std::string& lines) {
    std::string text = read("src/app.cu");
    text.insert(text.find("// The kernel.\n"), lines);
    write("src/app.cu", text);
    slice_lines("src/app.cu", 5, kLast + 3 + static_cast<int>(std::ranges::count(lines, '\n')));
  }
};

constexpr const char* kMessage = "which the candidate adds or changes";

TEST_F(DeviceLookupTest, FunctionsThatNoHostCodeNamesAreProven) {
  prepend(
      "static __device__ float halved(float x) { return x / 2; }\n"
      "__device__ inline float doubled(float x) { return x + x; }\n"
      "template <class T> __device__ T tripled(T x) { return 3 * x; }\n"
      "struct Pair {\n  float a, b;\n  __device__ Pair(float x) : a(x), b(__frcp_rn(x)) {}\n"
      "  __device__ Pair& operator+=(const Pair& other) { a += other.a; return *this; }\n};\n");
  candidate("a[i] = scaled(a[i])", "a[i] = tripled(halved(doubled((Pair(a[i]) += Pair(1)).a)))");
  EXPECT_PROVEN(verdict());
}

TEST_F(DeviceLookupTest, AnOverloadThatATemplateOfTheHostFindsIsRefused) {
  prepend(
      "template <int N = 0>\n__device__ constexpr void swap(Options& a, Options& b) {\n  int c = a.verbose;\n"
      "  a.verbose = b.verbose;\n  b.verbose = c;\n}\n");
  EXPECT_HAS(verdict(), kMessage);
}

TEST_F(DeviceLookupTest, AHiddenFriendIsRefused) {
  candidate("  int verbose;\n",
            "  int verbose;\n  friend __device__ constexpr void swap(Options& a, Options& b) { a = b; }\n");
  EXPECT_HAS(verdict(), kMessage);
}

TEST_F(DeviceLookupTest, OperatorsAndMembersThatTheHostFindsAreRefused) {
  for (std::string member : {"__device__ constexpr Options(Options&& other, int = 0) : verbose(other.verbose) {}",
                             "template <class T> __device__ constexpr Options& operator=(T&& other) { return *this; }",
                             "__device__ constexpr Options* operator&() { return this; }"}) {
    candidate("  int verbose;\n", "  int verbose;\n  " + member + "\n");
    EXPECT_NE(verdict(), "") << member;
    slice_lines("src/app.cu", 5, kLast + 3);
  }
}

TEST_F(DeviceLookupTest, AnOverloadOfAFunctionOfTheKernelIsRefused) {
  prepend("template <int N = 0> __device__ constexpr float scaled(double x) { return 0; }\n");
  EXPECT_PROVEN(verdict()) << "the host passes a float";
  slice_lines("src/app.cu", 5, kLast + 3);
  std::string text = read("src/app.cu");
  text.replace(text.find("scaled(first)"), 13, "scaled(first * 1.0)");
  write("src/app.cu", text);
  slice_lines("src/app.cu", 5, kLast + 3);
  prepend("template <int N = 0> __device__ constexpr float scaled(double x) { return 0; }\n");
  EXPECT_HAS(verdict(), kMessage);
}

TEST_F(DeviceLookupTest, AChangedConstantFunctionThatTheHostFoundBeforeIsRefused) {
  insert_lines("template <int N = 0> __device__ constexpr void swap(Options& a, Options& b) { a = b; }\n");
  candidate("{ a = b; }", "{ b = a; }");
  EXPECT_NE(verdict(), "");
}

TEST_F(DeviceLookupTest, AFunctionThatTheWholeProgramCouldLinkBecomesStaticOrIsRefused) {
  prepend("__device__ bool is_plausible(const float* x, int n) { return n > 0; }\n");
  candidate("if (i < n)", "if (i < n && is_plausible(a, n))");
  EXPECT_PROVEN(verdict());
  EXPECT_HAS(plan()->changes[0].after, "\nstatic __device__ bool is_plausible(const float* x, int n) {");
  EXPECT_HAS(behind_the_kernel("__device__ bool is_plausible(const float* x, int n) { return n > 0; }\n"),
             "'is_plausible' in src/app.cu would be a name of the whole program: declare it static");
}

TEST_F(DeviceLookupTest, AFunctionOfTheKernelsOwnStaysStatic) {
  insert_lines("static __device__ float blend(float x) { return x; }\n");
  candidate("static __device__ float blend", "__device__ float blend");
  EXPECT_HAS(verdict(), "'blend' in src/app.cu would be a name of the whole program");
}

TEST_F(DeviceLookupTest, AnotherKernelsTemplateIsStaticOrRefused) {
  const std::string advance = "template <class T> __global__ void advance(T* p) { p[threadIdx.x] = 6; }\n";
  prepend(advance);
  candidate("if (i < n)", "auto other = &advance<float>; if (i < n && other != nullptr)");
  EXPECT_HAS(verdict(), "'advance' in src/app.cu would be a name that other files of the program may have, too");
  slice_lines("src/app.cu", 5, kLast + 3);
  prepend("namespace {\n" + advance + "}\n");
  candidate("if (i < n)", "auto other = &advance<float>; if (i < n && other != nullptr)");
  EXPECT_PROVEN(verdict());
}

TEST_F(DeviceLookupTest, WhatClangFoldsIsAUseAllTheSame) {
  auto insert = [&](const std::string& what, const std::string& before) {
    std::string text = read("src/app.cu");
    text.insert(text.find(before), what);
    write("src/app.cu", text);
  };
  insert("__host__ __device__ constexpr int div_up(int a, int b) { return (a + b - 1) / b; }\n", "// The kernel.\n");
  insert("struct Settings { int steps = 100; };\nstatic Settings settings;\n", "// The kernel.\n");
  insert("static const int kBlocks = div_up(4000, 128);\n", "int main(");
  slice_lines("src/app.cu", 5, kLast + 6);
  candidate("return (a + b - 1) / b; }", "\n  return (a + b - 1) / b;  // Rounded up.\n}");
  EXPECT_PROVEN(verdict());
  slice_lines("src/app.cu", 5, kLast + 6);
  candidate("(a + b - 1) / b", "a / b + (a % b != 0)");
  EXPECT_HAS(verdict(), "host code ('kBlocks') uses 'div_up', " + std::string(kMessage));
  slice_lines("src/app.cu", 5, kLast + 6);
  prepend("template <int N = 0> __device__ constexpr int div_up(int a, short b) { return 32; }\n");
  EXPECT_PROVEN(verdict()) << "nothing calls it with a short";
  slice_lines("src/app.cu", 5, kLast + 6);
  candidate("struct Settings { int steps = 100; };",
            "__device__ constexpr int slow(int n) { return n; }\nstruct Settings { int steps = slow(100); };");
  EXPECT_HAS(verdict(), "uses 'slow', ");
}

TEST_F(DeviceLookupTest, WhatAKnownDeviceFunctionCallsIsAUse) {
  std::string text = read("src/app.cu");
  text.insert(text.find("// The kernel.\n"),
              "__device__ constexpr int twice(int n) { return 2 * n; }\n"
              "template <int N = 0> __device__ constexpr void swap(Options& a, Options& b) {\n"
              "  int c = a.verbose;\n  a.verbose = b.verbose;\n  b.verbose = c + 0 * twice(c);\n}\n");
  write("src/app.cu", text);
  slice_lines("src/app.cu", 5, kLast + 9);
  candidate("return 2 * n;", "return n + n;");
  EXPECT_HAS(verdict(), "uses 'twice', ");
}

TEST_F(DeviceLookupTest, AFileThatIsIncludedWithinANamespaceIsReadLikeAnyOther) {
  std::string text = read("src/app.cu");
  const size_t begin = text.find("struct Options"), end = text.find("static int smaller");
  write("src/part.h", text.substr(begin, end - begin));
  text.replace(begin, end - begin, "namespace app {\n#include \"part.h\"\n}\nusing namespace app;\n");
  write("src/app.cu", text);
  SourcePatch patch;
  const std::string part = read("src/part.h");
  auto verdict_with = [&](const std::string& added) {
    std::string after = part;
    after.insert(after.find("// The kernel."), added);
    patch.changes = {{root / "src/part.h", "src/part.h", part, after, false, part, part}};
    auto proof = prove_host_half({request.mep, &*request.scan, patch, request.host});
    return proof.ok() ? std::string() : proof.error().message;
  };
  EXPECT_PROVEN(verdict_with("static __device__ float halved(float x) { return x / 2; }\n"));
  EXPECT_HAS(verdict_with("template <int N = 0> __device__ constexpr void swap(Options& a, Options& b) { a = b; }\n"),
             kMessage);
  EXPECT_HAS(verdict_with("__device__ float helper(float x) { return x; }\n"), "a name of the whole program");
}

TEST_F(DeviceLookupTest, AnOperatorThatCompilersRewriteDifferentlyIsRefused) {
  prepend("__device__ inline bool operator!=(const Options& a, const Options& b) { return a.verbose != b.verbose; }\n");
  EXPECT_HAS(verdict(), "reversing ==");
}

TEST_F(DeviceLookupTest, AFunctionThatAMacroNamesIsRefused) {
  prepend("#define MAKE_HELPER(name) static __device__ float name(float x) { return x; }\nMAKE_HELPER(mine)\n");
  EXPECT_HAS(verdict(), "is named by a macro");
}

}  // namespace
}  // namespace kernelift::reintegrate
