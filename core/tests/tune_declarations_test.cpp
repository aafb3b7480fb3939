// Declarations for tuning in comments of a kernel's text: how they read, what is wrong with those that do not, and the
// text without them.
#include "core/model/candidate/tune_declarations.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kernelift {
namespace {

using Values = std::vector<int64_t>;

std::string error_of(const std::string& text) {
  auto read = TuneDeclarations::parse(text);
  return read.ok() ? "none" : read.error().message;
}

Values values_of(const std::string& set) {
  auto read = TuneDeclarations::parse("// kernelift: tune T in " + set + "\n");
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() && read->parameters.size() == 1 ? read->parameters[0].values : Values();
}

TEST(TuneDeclarations, ReadParametersConditionsAndLaunches) {
  auto read = TuneDeclarations::parse(
      "// a comment\n"
      "// kernelift: tune TILE in {16, 64, 32} where TILE * TILE <= 1024; launch grid.x = ceil_div(n, TILE), shared = "
      "TILE * 4\n"
      "#define TILE 32  // kernelift: where TILE >= U, U < 9\n"
      "/* // kernelift: tune NOT in {1} */ const char* s = \"// kernelift: tune NOR in {1}\";\n"
      "//kernelift: tune U in 1..8\r\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->parameters.size(), 2u);
  EXPECT_EQ(read->parameters[0].name, "TILE");
  EXPECT_EQ(read->parameters[0].values, (Values{16, 32, 64}));
  EXPECT_EQ(read->parameters[0].line, 2u);
  EXPECT_EQ(read->parameters[1].line, 5u);
  ASSERT_EQ(read->conditions.size(), 3u);
  EXPECT_EQ(read->conditions[1].holds.text(), "TILE >= U");
  ASSERT_EQ(read->launch.size(), 2u);
  EXPECT_EQ(read->launch[0].name, "grid.x");
  EXPECT_EQ(read->launch[0].size.text(), "ceil_div(n, TILE)");
  EXPECT_EQ(read->launch[1].name, "shared");
}

TEST(TuneDeclarations, SetsAreListsOrRanges) {
  EXPECT_EQ(values_of("{8, 1 << 4, 8}"), (Values{8, 16}));
  EXPECT_EQ(values_of("2..5"), (Values{2, 3, 4, 5}));
  EXPECT_EQ(values_of("16 .. 64 step 24"), (Values{16, 40, 64}));
  EXPECT_EQ(values_of("8..100 times 2"), (Values{8, 16, 32, 64}));
  EXPECT_EQ(values_of("-1..1"), (Values{-1, 0, 1}));
}

TEST(TuneDeclarations, MistakesAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"\n// kernelift: tun T in {1}", "line 2: 'tun' is no declaration; there are tune NAME in SET"},
      {"// kernelift:", "line 1: a declaration is missing"},
      {"// kernelift: tune T {1}", "has no set of values"},
      {"// kernelift: tune T in {}", "the set of values of 'T' is empty"},
      {"// kernelift: tune T in 5..4", "the set of values of 'T' is empty"},
      {"// kernelift: tune T in {1, x}", "'x' is no number"},
      {"// kernelift: tune T in {1, 2", "is no set of values"},
      {"// kernelift: tune T in {1 2}", "is no expression"},
      {"// kernelift: tune T in 1..9999", "at most 1024 values"},
      {"// kernelift: tune T in 0..8 times 2", "begins above 0"},
      {"// kernelift: tune T in 1..8 times 1", "leads to no further value"},
      {"// kernelift: tune T in 1..8 step 0", "leads to no further value"},
      {"// kernelift: tune 3 in {1}", "'3' is no name"},
      {"// kernelift: tune gx in {1}", "'gx' is a size of the recorded launch already"},
      {"// kernelift: tune T in {1}\n\n// kernelift: tune T in {2}", "line 3: 'T' is declared twice, first in line 1"},
      {"// kernelift: tune T in {1} where", "a condition is missing"},
      {"// kernelift: where T +", "is no expression"},
      {"// kernelift: launch grid.w = 1", "sets no size of a launch"},
      {"// kernelift: launch grid.x", "sets no size of a launch"},
      {"// kernelift: launch block.x = 1, block.x = 2", "'block.x' is declared twice"},
      {"// kernelift: launch block.x = (T", "is no expression"}};
  for (auto& [text, wrong] : kWrong)
    EXPECT_NE(error_of(text).find(wrong), std::string::npos) << text << ": " << error_of(text);
}

TEST(TuneDeclarations, LeaveNoTraceInTheTextWithoutThem) {
  const std::string text =
      "// kernelift: tune T in {1, 2}; launch block.x = T\n"
      "#define T 1  // kernelift: where T < 9\n"
      "  // kernelift: launch grid.x = 1\r\n"
      "int a; // kernelift: a remark? no: it is read as a declaration";
  EXPECT_EQ(without_declarations(text, ""), "#define T 1\nint a;");
  EXPECT_EQ(without_launch_declarations(text),
            "// kernelift: tune T in {1, 2}\n#define T 1  // kernelift: where T < 9\n"
            "int a; // kernelift: a remark? no: it is read as a declaration");
  EXPECT_EQ(without_declarations(text, text), text) << "those of the application stay";
  EXPECT_EQ(without_declarations("int a;\n", ""), "int a;\n");
  EXPECT_EQ(without_declarations("int a;\n// kernelift:", ""), "int a;\n");
  EXPECT_EQ(without_declarations("int a;\n// kernelift:", "// kernelift:"), "int a;\n// kernelift:");
}

TEST(TuneDeclarations, AreReadInTextsOfAnyLength) {
  const std::string text = "/* c */ // kernelift: tune A in 1..8 step 2 where A < 3; launch shared = A\n\"s\\\"// '";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    auto read = TuneDeclarations::parse(text.substr(0, cut));
    EXPECT_TRUE(read.ok() || read.error().message.starts_with("line 1: ")) << cut;
    EXPECT_EQ(without_declarations(text.substr(0, cut), "").find("kernelift: tune A"), std::string::npos);
  }
}

}  // namespace
}  // namespace kernelift
