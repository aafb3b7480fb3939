// A candidate that is right for some sizes only becomes a kernel beside the original.
#include "reintegrate/patch/kernel_beside.h"

#include <gtest/gtest.h>

namespace kernelift::reintegrate {
namespace {

const char* const kFile =
    "int before;\n"
    "__global__ void k(float* a, int n) {\n"
    "  if (threadIdx.x < n) a[threadIdx.x] = 1;\n"
    "}\n"
    "int after;\n";

struct Question {
  Mep mep;
  ScanIndex scan;
  OpenFile file;
  std::string text = kFile, candidate = kFile, begins_with = "__global__";
  bool visible = false;
  uint32_t first_line = 2, last_line = 0;

  Question() {
    mep.kernel_name = "app::k";
    scan.kernels.resize(1);
    scan.kernels[0].id = "1", scan.kernels[0].name = "app::k";
  }
  void replace(const std::string& from, const std::string& to) {
    const size_t at = candidate.find(from);
    ASSERT_NE(at, std::string::npos);
    candidate.replace(at, from.size(), to);
  }
  Result<KernelBeside> beside() {
    file.name = "a.cu", file.text = text, file.lines = split_lines(file.text);
    mep.origins.clear();
    for (uint32_t line = 1; line <= file.lines.size(); ++line) mep.origins.push_back({"a.cu", line});
    const size_t begin = text.find(begins_with), end = text.find("}\n", begin) + 1;
    for (auto& kernel : scan.kernels)
      if (kernel.definition.begin != 1)
        kernel.definition = {"a.cu", begin, end, first_line, last_line ? last_line : first_line + 2};
    old_ = split_lines(text), new_ = split_lines(candidate);
    return kernel_beside(mep, scan, scan.kernels[0], file, old_, new_, diff_lines(old_, new_), "Why.", visible);
  }
  std::string refusal() {
    auto made = beside();
    return made.ok() ? "" : made.error().message;
  }

 private:
  std::vector<TextLine> old_, new_;
};

TEST(KernelBeside, HasTheCandidatesTextAndDeclaresACopyOfTheOriginals) {
  Question q;
  q.replace("  if (threadIdx.x < n) a", "  a");
  auto made = q.beside();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->name, "k_tuned");
  EXPECT_EQ(made->at, std::string(kFile).find("\nint after"));
  EXPECT_EQ(made->text, "\n\n// Why.\nstatic __global__ void k_tuned(float* a, int n) {\n  a[threadIdx.x] = 1;\n}");
  EXPECT_EQ(made->copied,
            "\n\n// Why.\nstatic __global__ void k_tuned(float* a, int n) {\n  if (threadIdx.x < n) a[threadIdx.x] = "
            "1;\n}");
  EXPECT_TRUE(made->added.empty());
}

TEST(KernelBeside, IsRefusedWhereTheApplicationSetsWhatTheOriginalMayBeLaunchedWith) {
  Question q;
  q.replace("  if (threadIdx.x < n) a", "  a");
  q.scan.settings = {{{"1"}, {"host.cu", 0, 9, 12, 12}}};
  EXPECT_EQ(q.refusal(), "host.cu:12 sets an attribute of 'k' that a kernel beside it would not have");
  q.scan.settings[0].kernels = {"2"};
  EXPECT_EQ(q.refusal(), "");
  q.scan.pointers = {{{"1"}, {"host.cu", 0, 9, 15, 15}}};  // allow(k, 65536), which calls cudaFuncSetAttribute.
  EXPECT_EQ(q.refusal(),
            "host.cu:15 gives 'k' to other code, which may set or ask for what a kernel beside it would not have");
}

TEST(KernelBeside, LeavesWhatIsAddedAroundItAndTakesWhatIsAddedRightInFront) {
  Question q;
  q.text.replace(q.text.find("__global__"), 0, "// About k.\n"), q.candidate = q.text;
  q.replace("int before", "#include <x>\nint before");
  q.replace("// About k.", "__device__ int helper();\n// About k.");
  q.replace("  if (threadIdx.x < n) a[threadIdx.x] = 1;", "  float one = 1;\n  a[threadIdx.x] = one;");
  q.replace("int after", "#undef X\nint after");
  q.first_line = 3;
  auto made = q.beside();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->added.size(), 2u);
  EXPECT_EQ(made->text,
            "\n\n__device__ int helper();\n// Why.\n"
            "static __global__ void k_tuned(float* a, int n) {\n  float one = 1;\n  a[threadIdx.x] = one;\n}");
  EXPECT_EQ(made->copied.find("helper"), std::string::npos);
}

TEST(KernelBeside, IsRefusedWhereAFunctionThatTheOriginalCallsGetsALine) {
  Question q;
  q.text.replace(q.text.find("int before"), 0, "__device__ int helper(int n) {\n  for (;;) n = n;\n  return n;\n}\n");
  q.candidate = q.text, q.first_line = 6;
  q.replace("  if (threadIdx.x < n) a", "  a");
  const Question as_it_is = q;
  q.replace("  for (;;)", "#pragma unroll 4\n  for (;;)");
  EXPECT_EQ(q.refusal(), "") << "a hint";
  q = as_it_is;
  q.replace("  return n;", "  if (n > 100) return 0;\n  return n;");
  EXPECT_EQ(q.refusal(),
            "the candidate changes '  return n;' outside of the kernel, which the original beside it uses too");
}

TEST(KernelBeside, ReadsATemplatesHeadAsTokens) {
  for (auto* head :
       {"template <class T, bool S = sizeof(T) <= 4>\n", "template <class T = A<A<int>>>  // of (a pair\n"}) {
    Question q;
    q.text.replace(q.text.find("__global__"), 0, head), q.candidate = q.text;
    q.begins_with = "template";
    q.replace("  if (threadIdx.x < n) a", "  a");
    q.last_line = 5;
    EXPECT_EQ(q.refusal(), "") << head;
  }
}

TEST(KernelBeside, TakesANameThatTheFileDoesNotUse) {
  Question q;
  q.text.replace(q.text.find("int after"), 9, "int k_tuned, k_tuned2;"), q.candidate = q.text;
  q.replace("  if (threadIdx.x < n) a", "  a");
  EXPECT_EQ(q.beside()->name, "k_tuned3");
}

TEST(KernelBeside, IsRefusedWhereTheOriginalWouldChangeOrCouldNotBeChosen) {
  Question q;
  q.replace("int before", "long before");
  EXPECT_NE(q.refusal().find("outside of the kernel"), std::string::npos) << q.refusal();
  q = {};
  q.replace("  if (threadIdx.x < n) a", "  a");
  q.scan.kernels.push_back(q.scan.kernels[0]), q.scan.kernels[1].id = "2", q.scan.kernels[1].definition.begin = 1;
  EXPECT_NE(q.refusal().find("several kernels of the name 'k'"), std::string::npos) << q.refusal();
  q.scan.kernels.pop_back(), q.scan.kernels[0].through_macro = true;
  EXPECT_NE(q.refusal().find("a macro writes"), std::string::npos) << q.refusal();
  q = {};
  q.text.replace(q.text.find("__global__ void"), 15, "__global__ extern \"C\" void"), q.candidate = q.text;
  q.replace("  if (threadIdx.x < n) a", "  a");
  EXPECT_NE(q.refusal().find("C linkage"), std::string::npos) << q.refusal();
}

TEST(KernelBeside, OfATemplateIsATemplateOfItsUnitAlone) {
  Question q;
  q.mep.kernel_name = q.scan.kernels[0].name = "app::k<Pair<int, 2>>";
  const std::string head = "template <class T, bool B = (sizeof(T) > 4)>  ";
  q.text.insert(q.text.find("__global__"), head), q.candidate = q.text;
  q.replace("  if (threadIdx.x < n) a", "  a");
  q.begins_with = "template";
  // Another instance is the same text.
  ASSERT_TRUE(q.beside().ok()) << q.refusal();
  q.scan.kernels.push_back(q.scan.kernels[0]), q.scan.kernels[1].id = "2", q.scan.kernels[1].name = "app::k<int>";
  auto made = q.beside();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->text,
            "\n\n// Why.\n" + head + "static __global__ void k_tuned(float* a, int n) {\n  a[threadIdx.x] = 1;\n}");
}

TEST(KernelBeside, ThatOtherUnitsLaunchIsVisibleToThem) {
  Question q;
  q.replace("  if (threadIdx.x < n) a", "  a");
  q.visible = true;
  EXPECT_EQ(q.beside()->text, "\n\n// Why.\n__global__ void k_tuned(float* a, int n) {\n  a[threadIdx.x] = 1;\n}");
}

TEST(DeclarationBeside, FollowsThatOfTheFirstKernel) {
  auto made = [](const std::string& text, bool visible = true) {
    auto declaration = declaration_beside(text, "k", "k_tuned", visible);
    return declaration ? text.substr(0, declaration->at) + declaration->text + text.substr(declaration->at) : "none";
  };
  EXPECT_EQ(
      made("int x;\nextern __global__ void k(float* a,\n  int n = (1));\nint y;\n"),
      "int x;\nextern __global__ void k(float* a,\n  int n = (1));\nextern __global__ void k_tuned(float* a,\n  int "
      "n = (1));\nint y;\n");
  EXPECT_EQ(made("template <int N>\n__global__ void k(int);", false),
            "template <int N>\n__global__ void k(int);\ntemplate <int N>\nstatic __global__ void k_tuned(int);");
  for (auto* none :
       {"__global__ void k(int) { f(); }", "void k(int);", "__global__ void kk(int);", "// __global__ void k(int);\n",
        "#define D __global__ void k(int);\n", "__global__ void g(int) {} void f() { k(1); }"})
    EXPECT_EQ(made(none), "none");
}

}  // namespace
}  // namespace kernelift::reintegrate
