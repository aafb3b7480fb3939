// Which preprocessor conditionals of a function a patch affects from outside of them.
#include "reintegrate/patch/conditionals.h"

#include <gtest/gtest.h>

namespace kernelift::reintegrate {
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

/// Replaces the first `from` in `text` by `to`.
ByteEdit edit(const std::string& text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return {"k.cu", at, at + from.size(), to, {}};
}
ByteEdit before_line(const std::string& text, const std::string& line, const std::string& added) {
  size_t at = text.find(line);
  return {"k.cu", at, at, added, {}};
}
std::vector<AffectedConditional> affected(const std::string& text, const std::vector<ByteEdit>& edits,
                                          bool geometry_changes = false) {
  return affected_conditionals(text, 1, static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')), edits,
                               geometry_changes);
}

TEST(Conditionals, AreAffectedByAChangeAroundThemOfAVariableThatTheyUse) {
  auto found = affected(kText, {before_line(kText, "  for (int j", "  float sum = a[i];\n"),
                                edit(kText, "    a[i] = fast(a[i]);", "    sum = fast(sum);")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].by_architecture);
  EXPECT_EQ(found[0].word, "a");
  EXPECT_EQ(location_of(found[0], "k.cu"), "k.cu:4-8 (#if __CUDA_ARCH__ >= 800)");
}

TEST(Conditionals, AreNotAffectedByEditsInsideABranch) {
  EXPECT_TRUE(affected(kText, {edit(kText, "    a[i] = fast(a[i]);", "    a[i] = fast(a[i] * 1.0f);")}).empty());
  EXPECT_TRUE(affected(kText, {before_line(kText, "    a[i] = fast", "    int a2 = a[i];\n"),
                               before_line(kText, "#else", "    a[i] = a2;\n")})
                  .empty());
}

TEST(Conditionals, AreNotAffectedByQualifiersPragmasOrUnrelatedVariables) {
  EXPECT_TRUE(affected(kText, {before_line(kText, "  for (int j", "  #pragma unroll 4\n")}).empty());
  EXPECT_TRUE(affected(kText, {edit(kText, "k(float* a, int n)", "k(float* __restrict__ a, int n)")}).empty());
  EXPECT_TRUE(affected(kText, {edit(kText, "unrelated", "another")}).empty());
  EXPECT_EQ(affected(kText, {edit(kText, "  a[0] = unrelated;", "  a[0] = 1;")}).size(), 1u);
}

TEST(Conditionals, AreAffectedByEditsOfTheirDirectivesUnlessReplacedAsAWhole) {
  EXPECT_EQ(affected(kText, {edit(kText, "#if __CUDA_ARCH__ >= 800\n    a[i] = fast(a[i]);", "    a[i] = 1;")}).size(),
            1u);
  size_t begin = kText.find("#if"), end = kText.find("  }\n");
  EXPECT_TRUE(affected(kText, {edit(kText, kText.substr(begin, end - begin), "    a[i] = fast(a[i]);\n")}).empty());
}

TEST(Conditionals, AreAffectedByAnotherGeometryIfTheyUseThreadOrBlockSizes) {
  EXPECT_TRUE(affected(kText, {}, true).empty());
  std::string text = kText;
  text.replace(text.find("slow(a[i])"), 10, "slow(blockDim.x)");
  EXPECT_EQ(affected(text, {}, true).size(), 1u);
}

TEST(Conditionals, AreAffectedByChangedControlFlowIfTheySynchronise) {
  std::string text = kText;
  text.replace(text.find("    a[i] = slow(a[i]);"), 22, "    __syncthreads();");
  text.replace(text.find("    a[i] = fast(a[i]);"), 22, "    ;");
  auto found = affected(text, {before_line(text, "  for (int j", "  if (q) return;\n")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].word, "control flow");
}

TEST(Conditionals, DependOnTheArchitectureThroughMacrosToo) {
  auto by_architecture = [](const std::string& head, const std::string& condition) {
    std::string text = head + "void k() {\n" + condition + "\n  a = 1;\n#endif\n  a = 2;\n}\n";
    auto found = affected_conditionals(text, 1 + static_cast<uint32_t>(std::count(head.begin(), head.end(), '\n')), 99,
                                       {edit(text, "a = 2", "a = 3")}, false);
    return found.size() == 1 && found[0].by_architecture;
  };
  EXPECT_TRUE(by_architecture("#define NEW (__CUDA_ARCH__ >= 800)\n", "#if NEW"));
  EXPECT_TRUE(by_architecture("#if __CUDA_ARCH__ >= 800\n#define HAS 1\n#endif\n#define MORE HAS + 1\n", "#if MORE"));
  EXPECT_TRUE(by_architecture("", "# ifdef __gfx90a__"));
  EXPECT_FALSE(by_architecture("#define NEW 1\n", "#if NEW"));
  EXPECT_FALSE(by_architecture("", "#ifdef DEBUG"));
}

TEST(Conditionals, InTruncatedTextAreReportedWithinTheLinesOfTheFunction) {
  for (size_t size = 0; size <= kText.size(); ++size) {
    std::string text = kText.substr(0, size);
    const auto begin_of_condition = kText.find("#if") + 3;
    for (size_t at = 0; at <= size; at += 7)
      for (auto& one : affected_conditionals(text, 1, 11, {{"k.cu", at, size, "a", {}}}, true)) {
        EXPECT_GE(size, begin_of_condition) << "the text has no conditional yet";
        EXPECT_EQ(one.line, 4u);
        EXPECT_TRUE(one.end_line == 8 || one.end_line == 11) << one.end_line << ": its #endif, or the function's end";
        EXPECT_TRUE(kText.substr(kText.find("#if")).starts_with(one.condition)) << one.condition;
        EXPECT_EQ(one.word, "a");
      }
  }
}

TEST(Conditionals, NoCommentOrSpellingHidesADirective) {
  const std::string text =
      "__global__ void k(float* a, int n) {\n"
      "%:if \\\n"
      "    __CUDA_ARCH__ >= 800\n"
      "/*\n"
      "#endif of the old way\n"
      "*/\n"
      "  fast(a);\n"
      "#endif\n"
      "  // #if __CUDA_ARCH__ >= 900\n"
      "  a[0] = 1;\n"
      "}\n";
  auto found = affected(text, {edit(text, "a[0] = 1;", "a[0] = 2;")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].by_architecture);
  EXPECT_EQ(found[0].line, 2u);
  EXPECT_EQ(found[0].end_line, 8u);
  EXPECT_EQ(found[0].word, "a");
}

}  // namespace
}  // namespace kernelift::reintegrate
