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
  std::string text = kFile, candidate = kFile;

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
    const size_t begin = text.find("__global__"), end = text.find("}\n", begin) + 1;
    scan.kernels[0].definition = {"a.cu", begin, end, 2, 4};
    old_ = split_lines(text), new_ = split_lines(candidate);
    return kernel_beside(mep, scan, scan.kernels[0], file, old_, new_, diff_lines(old_, new_), "Why.");
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

TEST(KernelBeside, LeavesWhatIsAddedAroundIt) {
  Question q;
  q.replace("__global__", "__device__ int helper();\n__global__");
  q.replace("  if (threadIdx.x < n) a[threadIdx.x] = 1;", "  float one = 1;\n  a[threadIdx.x] = one;");
  q.replace("int after", "#undef X\nint after");
  auto made = q.beside();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->added.size(), 2u);
  EXPECT_NE(made->text.find("void k_tuned(float* a, int n) {\n  float one = 1;\n  a[threadIdx.x] = one;\n}"),
            std::string::npos)
      << made->text;
  EXPECT_EQ(made->text.find("helper"), std::string::npos);
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
  q.scan.kernels[0].is_template = true;
  EXPECT_NE(q.refusal().find("is a template"), std::string::npos) << q.refusal();
  q.scan.kernels[0].is_template = false, q.scan.kernels.push_back(q.scan.kernels[0]), q.scan.kernels[1].id = "2";
  EXPECT_NE(q.refusal().find("several kernels of the name 'k'"), std::string::npos) << q.refusal();
  q.scan.kernels.pop_back(), q.scan.kernels[0].through_macro = true;
  EXPECT_NE(q.refusal().find("a macro writes"), std::string::npos) << q.refusal();
  q = {};
  q.text.replace(q.text.find("__global__ void"), 15, "__global__ extern \"C\" void"), q.candidate = q.text;
  q.replace("  if (threadIdx.x < n) a", "  a");
  EXPECT_NE(q.refusal().find("C linkage"), std::string::npos) << q.refusal();
}

}  // namespace
}  // namespace kernelift::reintegrate
