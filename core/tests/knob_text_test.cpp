// Tests of finding the text of a knob's value.
#include "core/model/knob/knob_text.h"

#include <gtest/gtest.h>

#include "core/base/words.h"

namespace kernelift {
namespace {

std::string found(std::string source, const char* name, int64_t value) {
  auto range = find_knob(source, name, value);
  return range ? source.substr(range->begin, range->end - range->begin) : "<none>";
}

TEST(KnobText, FindsAMacrosValue) { EXPECT_EQ(found("#define TILE 16\nint x;", "TILE", 16), "16"); }
TEST(KnobText, IgnoresCommentsBesideTheValue) {
  EXPECT_EQ(found("#  define TILE /* was 8 */ 16 // TILE 4\n", "TILE", 16), "16");
}
TEST(KnobText, TakesNoAssignmentForADefinition) {
  EXPECT_EQ(found("void f() { cfg.STEP = 4; }", "STEP", 4), "<none>");
  EXPECT_EQ(found("void f() { STEP = 4; }", "STEP", 4), "<none>");
  EXPECT_EQ(found("enum {\n  OTHER = 2,\n  STEP = 4,\n};", "STEP", 4), "4");
  EXPECT_EQ(found("enum Sizes : int { STEP = 4 };", "STEP", 4), "4");
}
TEST(KnobText, TakesAParenthesisedExpressionWhole) {
  EXPECT_EQ(found("#define TILE (1 << 4)\n", "TILE", 16), "(1 << 4)");
}
TEST(KnobText, FindsAConstexprValue) { EXPECT_EQ(found("constexpr int kTile = 16;", "kTile", 16), "16"); }
TEST(KnobText, FindsABracedValue) { EXPECT_EQ(found("static constexpr unsigned kTile{16u};", "kTile", 16), "16u"); }
TEST(KnobText, FindsAnEnumerator) { EXPECT_EQ(found("enum { A = 1, TILE = 16 };", "TILE", 16), "16"); }
TEST(KnobText, DoesNotTakeALongerNameForTheKnob) { EXPECT_EQ(found("#define TILE_X 16\n", "TILE", 16), "<none>"); }
TEST(KnobText, RefusesAnotherValueThanTheScans) { EXPECT_EQ(found("#define TILE 32\n", "TILE", 16), "<none>"); }
TEST(KnobText, FindsANamespacesConstantByItsUnqualifiedName) {
  EXPECT_EQ(found("namespace app {\nconstexpr int kTile = 16;\n}", "app::kTile", 16), "16");
  EXPECT_EQ(
      found("namespace a {\nconstexpr int kTile = 16;\n}\nnamespace b {\nconstexpr int kTile = 16;\n}", "kTile", 16),
      "<none>");
}
TEST(KnobText, FindsAMemberInItsOwnClass) {
  const std::string text =
      "struct Small { static constexpr int BLOCK = 64; };\nstruct Large : Small { enum { BLOCK = 64, USED = "
      "Small::BLOCK }; };\n";
  auto small = find_knob(text, "Small::BLOCK", 64), large = find_knob(text, "app::Large::BLOCK", 64);
  ASSERT_TRUE(small && large);
  EXPECT_LT(small->begin, text.find("Large"));
  EXPECT_GT(large->begin, text.find("Large"));
  EXPECT_EQ(defined_value(text, "Large::BLOCK"), 64);
  EXPECT_EQ(defined_value(text, "BLOCK"), std::nullopt) << "spelled twice";
}
TEST(KnobText, RefusesAKnobSpelledTwice) {
  EXPECT_EQ(found("#ifdef A\n#define TILE 16\n#else\n#define TILE 16\n#endif\n", "TILE", 16), "<none>");
}
TEST(KnobText, IgnoresADefinitionInsideAComment) {
  EXPECT_EQ(found("// #define TILE 16\n#define TILE 16\n", "TILE", 16), "16");
}
TEST(KnobText, FindsNoWrongValueInTruncatedText) {
  std::string source = "/* c */ #define A (1 +\n\"str\\\"\" '\\'' constexpr int B{4 // x\n enum { A = 2";
  for (size_t cut = 0; cut <= source.size(); ++cut)
    for (auto& [name, value] : {std::pair("A", 2), std::pair("B", 4)}) {
      const std::string text = found(source.substr(0, cut), name, value);
      EXPECT_TRUE(text == "<none>" || text == std::to_string(value)) << cut << ": " << text;
    }
}
TEST(KnobText, MentionsIgnoresComments) {
  EXPECT_FALSE(mentions_word("// blockDim.x\nint blockDimx;", "blockDim"));
  EXPECT_TRUE(mentions_word("int i = blockDim.x;", "blockDim"));
}

TEST(NewConstants, AreThoseThatTheNewTextDefinesAndUses) {
  const char* const kAfter =
      "#define TILE 32\n#define SQUARE(x) ((x) * (x))\nconstexpr int STEP = 4, UNUSED = 7;\nenum { ROWS = 2 * 8 };\n"
      "const float SCALE = 2;\n__global__ void k(int n) { const int wide = n; int i = 3; f(TILE, STEP, ROWS, SCALE, "
      "wide, i, OLD); } // MORE = 3\n";
  EXPECT_EQ(new_constants("#define OLD 1\n", kAfter), (Bindings{{"TILE", 32}, {"STEP", 4}, {"ROWS", 16}}));
  EXPECT_EQ(new_constants(kAfter, kAfter), Bindings());
}

TEST(NumberLike, KeepsTheSuffixOfWhatItReplaces) {
  EXPECT_EQ(number_like("256", 512), "512");
  EXPECT_EQ(number_like("256ULL", 512), "512ULL");
  EXPECT_EQ(number_like("0x100u", 8), "8u");
  EXPECT_EQ(number_like("(4 * 64l)", 512), "512l");
  EXPECT_EQ(number_like("WIDTH", 512), "512");
}

}  // namespace
}  // namespace kernelift
