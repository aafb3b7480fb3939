// Which conditionals of a function a patch reaches from outside of them.
#include "reintegrate/patch/conditionals.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

const std::string kText =
    "__global__ void k(float* a, int n) {\n"  // 1
    "  int i = threadIdx.x;\n"                // 2
    "  for (int j = 0; j < n; ++j) {\n"       // 3
    "#if __CUDA_ARCH__ >= 800\n"              // 4
    "    a[i] = fast(a[i]);\n"                // 5
    "#else\n"                                 // 6
    "    a[i] = slow(a[i]);\n"                // 7
    "#endif\n"                                // 8
    "  }\n"                                   // 9
    "  a[0] = unrelated;\n"                   // 10
    "}\n";

/// `from`, which is in `text` once, becomes `to`.
ByteEdit edit(const std::string& text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return {"k.cu", at, at + from.size(), to, {}};
}
ByteEdit before_line(const std::string& text, const std::string& line, const std::string& added) {
  size_t at = text.find(line);
  return {"k.cu", at, at, added, {}};
}
std::vector<ReachedConditional> reached(const std::string& text, const std::vector<ByteEdit>& edits,
                                        bool relaunched = false) {
  return conditionals_reached(text, 1, static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')), edits,
                              relaunched);
}

TEST(Conditionals, AreReachedByAChangeAroundThemOfWhatTheyUse) {
  auto found = reached(kText, {before_line(kText, "  for (int j", "  float sum = a[i];\n"),
                               edit(kText, "    a[i] = fast(a[i]);", "    sum = fast(sum);")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].by_architecture);
  EXPECT_EQ(found[0].word, "a");
  EXPECT_EQ(place_of(found[0], "k.cu"), "k.cu:4-8 (#if __CUDA_ARCH__ >= 800)");
}

TEST(Conditionals, AreNotReachedFromWithinABranch) {
  EXPECT_TRUE(reached(kText, {edit(kText, "    a[i] = fast(a[i]);", "    a[i] = fast(a[i] * 1.0f);")}).empty());
  EXPECT_TRUE(reached(kText, {before_line(kText, "    a[i] = fast", "    int a2 = a[i];\n"),
                              before_line(kText, "#else", "    a[i] = a2;\n")})
                  .empty());
}

TEST(Conditionals, AreNotReachedByPromisesHintsAndOtherThings) {
  EXPECT_TRUE(reached(kText, {before_line(kText, "  for (int j", "  #pragma unroll 4\n")}).empty());
  EXPECT_TRUE(reached(kText, {edit(kText, "k(float* a, int n)", "k(float* __restrict__ a, int n)")}).empty());
  EXPECT_TRUE(reached(kText, {edit(kText, "unrelated", "another")}).empty());
  EXPECT_EQ(reached(kText, {edit(kText, "  a[0] = unrelated;", "  a[0] = 1;")}).size(), 1u);
}

TEST(Conditionals, AreReachedByEditsOfTheirDirectivesButNotWhereAllIsReplaced) {
  EXPECT_EQ(reached(kText, {edit(kText, "#if __CUDA_ARCH__ >= 800\n    a[i] = fast(a[i]);", "    a[i] = 1;")}).size(),
            1u);
  size_t begin = kText.find("#if"), end = kText.find("  }\n");
  EXPECT_TRUE(reached(kText, {edit(kText, kText.substr(begin, end - begin), "    a[i] = fast(a[i]);\n")}).empty());
}

TEST(Conditionals, AreReachedByAnotherLaunchWhereTheySpeakOfThreads) {
  EXPECT_TRUE(reached(kText, {}, true).empty());
  std::string text = kText;
  text.replace(text.find("slow(a[i])"), 10, "slow(blockDim.x)");
  EXPECT_EQ(reached(text, {}, true).size(), 1u);
}

TEST(Conditionals, AreReachedByControlFlowWhereTheyLeaveOrComeTogether) {
  std::string text = kText;
  text.replace(text.find("    a[i] = slow(a[i]);"), 22, "    __syncthreads();");
  text.replace(text.find("    a[i] = fast(a[i]);"), 22, "    ;");
  auto found = reached(text, {before_line(text, "  for (int j", "  if (q) return;\n")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].word, "control flow");
}

TEST(Conditionals, DependOnTheGpuThroughMacrosToo) {
  auto by_architecture = [](const std::string& head, const std::string& condition) {
    std::string text = head + "void k() {\n" + condition + "\n  a = 1;\n#endif\n  a = 2;\n}\n";
    auto found = conditionals_reached(text, 1 + static_cast<uint32_t>(std::count(head.begin(), head.end(), '\n')), 99,
                                      {edit(text, "a = 2", "a = 3")}, false);
    return found.size() == 1 && found[0].by_architecture;
  };
  EXPECT_TRUE(by_architecture("#define NEW (__CUDA_ARCH__ >= 800)\n", "#if NEW"));
  EXPECT_TRUE(by_architecture("#if __CUDA_ARCH__ >= 800\n#define HAS 1\n#endif\n#define MORE HAS + 1\n", "#if MORE"));
  EXPECT_TRUE(by_architecture("", "# ifdef __gfx90a__"));
  EXPECT_FALSE(by_architecture("#define NEW 1\n", "#if NEW"));
  EXPECT_FALSE(by_architecture("", "#ifdef DEBUG"));
}

TEST(Conditionals, OfTextThatIsCutAnywhereAreReadWithoutHarm) {
  for (size_t size = 0; size <= kText.size(); ++size) {
    std::string text = kText.substr(0, size);
    for (size_t at = 0; at <= size; at += 7)
      (void)conditionals_reached(text, 1, 11, {{"k.cu", at, size, "a", {}}}, true);
  }
}

}  // namespace
}  // namespace kernelift
