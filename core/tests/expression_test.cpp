// Claims about core/model/launch/expression.h.
#include "core/model/launch/expression.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace kernelift {
namespace {

int64_t value_of(const char* text, const Bindings& bindings = {}) {
  auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().message);
  if (!parsed.ok()) return -999;
  auto value = parsed->evaluate(bindings);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message);
  return value.ok() ? *value : -999;
}

std::string error_of(const char* text, const Bindings& bindings = {}) {
  auto parsed = Expression::parse(text);
  if (!parsed.ok()) return parsed.error().message;
  auto value = parsed->evaluate(bindings);
  return value.ok() ? "no error" : value.error().message;
}

TEST(Expression, ComputesLikeC) {
  EXPECT_EQ(value_of("1 + 2 * 3"), 7);
  EXPECT_EQ(value_of("10 - 4 - 3"), 3);
  EXPECT_EQ(value_of("-7 / 2"), -3);
  EXPECT_EQ(value_of("-7 % 2"), -1);
  EXPECT_EQ(value_of("1 << 4 | 1"), 17);
  EXPECT_EQ(value_of("6 & 3 == 3"), 0) << "== binds tighter than & in C";
  EXPECT_EQ(value_of("2 < 3 && 3 < 2 || 1"), 1);
  EXPECT_EQ(value_of("0 ? 1 : 2 ? 3 : 4"), 3);
  EXPECT_EQ(value_of("~0 + !5"), -1);
}

TEST(Expression, ReadsLaunchExpressionsAsTheyAreSpelled) {
  Bindings n{{"n", 1000}, {"BLOCK", 256}, {"p.width", 33}, {"cfg::tile", 8}};
  EXPECT_EQ(value_of("(n + BLOCK - 1) / BLOCK", n), 4);
  EXPECT_EQ(value_of("(unsigned int)(n / BLOCK) + 1u", n), 4);
  EXPECT_EQ(value_of("static_cast<int>(n) / 10", n), 100);
  EXPECT_EQ(value_of("std::max(1, p.width / cfg::tile)", n), 4);
  EXPECT_EQ(value_of("ceil_div(p.width, 8)", n), 5);
  EXPECT_EQ(value_of("0x10 + 1024UL"), 1040);
}

TEST(Expression, RefusesWhatHasNoValue) {
  EXPECT_NE(error_of("1 / 0").find("division by zero"), std::string::npos);
  EXPECT_NE(error_of("n + 1").find("'n' has no value"), std::string::npos);
  EXPECT_NE(error_of("9223372036854775807 + 1").find("overflow"), std::string::npos);
  EXPECT_NE(error_of("1 << 63").find("overflow"), std::string::npos);
  EXPECT_NE(error_of("-(-9223372036854775807 - 1)").find("overflow"), std::string::npos);
}

TEST(Expression, NamesTheColumnOfASyntaxError) {
  EXPECT_NE(error_of("1 + * 2").find("column 5"), std::string::npos);
  EXPECT_NE(error_of("(1 + 2").find("expected ')'"), std::string::npos);
  EXPECT_NE(error_of("size()").find("not a function"), std::string::npos);
  EXPECT_NE(error_of("1.5").find("only integers"), std::string::npos);
  EXPECT_NE(error_of("").find("ends too early"), std::string::npos);
  EXPECT_NE(error_of(std::string(5000, '(').c_str()).find("nested too deeply"), std::string::npos);
  std::string chain = "1";
  for (int i = 0; i < 200000; ++i) chain += "+1";
  EXPECT_NE(error_of(chain.c_str()).find("too long"), std::string::npos);
  for (auto narrow : {"static_cast<float>(n) / 2", "static_cast<unsigned char>(n)", "(short)n"})
    EXPECT_NE(error_of(narrow), "") << narrow;
}

TEST(Expression, PrintsTextThatParsesBackToTheSameExpression) {
  for (auto text : {"a - (b - c)", "(a + b) * c", "a ? b : c", "(a ? b : c) + 1", "-(a + b)", "min(a, b + 1) << 2",
                    "a && (b || c)", "-a * b"}) {
    auto parsed = Expression::parse(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->text(), text);
  }
  EXPECT_EQ(Expression::parse("((a)+((b*c)))")->text(), "a + b * c");
}

TEST(Expression, WritesCppWithOnlyTheBracketsThatItNeeds) {
  std::map<std::string, std::string> names{
      {"gx", "grid.x"}, {"bx", "(n + 1)"}, {"gy", "n / 8"}, {"by", "(int)n"}, {"gz", "sizes[i + 1]"}};
  auto cpp = [&](const char* text) { return Expression::parse(text)->cpp(names); };
  EXPECT_EQ(cpp("ceil_div(gx, 2)"), "(grid.x + 1) / 2");
  EXPECT_EQ(cpp("ceil_div(gy, 4) * 2"), "((n / 8) + 3) / 4 * 2");
  EXPECT_EQ(cpp("ceil_div(gx * 3, gz)"), "(grid.x * 3 + sizes[i + 1] - 1) / sizes[i + 1]");
  EXPECT_EQ(cpp("bx * 2"), "(n + 1) * 2");
  EXPECT_EQ(cpp("by * 2"), "((int)n) * 2");
  EXPECT_EQ(cpp("gy"), "n / 8");
  EXPECT_EQ(cpp("min(gx, 5) + 1"), "(grid.x < 5 ? grid.x : 5) + 1");
  EXPECT_EQ(cpp("other - (gx - 1)"), "other - (grid.x - 1)");
}

TEST(Expression, SimplifiesTheArithmeticOfLaunches) {
  auto simplified = [](const char* text) {
    return Expression::parse(text)->simplified({{"block_x", 16}, {"block_y", 32}}).text();
  };
  EXPECT_EQ(simplified("ceil_div(ceil_div(gx * 16, block_x), 2)"), "ceil_div(gx, 2)");
  EXPECT_EQ(simplified("ceil_div(gy * 16, block_y)"), "ceil_div(gy, 2)");
  EXPECT_EQ(simplified("ceil_div(gx * 48, block_y)"), "ceil_div(gx * 3, 2)");
  EXPECT_EQ(simplified("1 * (block_x * block_y) + 0"), "512");
  EXPECT_EQ(simplified("gx * 4 / 2"), "gx * 2");
  EXPECT_EQ(simplified("gx / 2 * 2"), "gx / 2 * 2");
  EXPECT_EQ(simplified("block_x > 8 ? gx : gy"), "gx");
}

TEST(Expression, SimplifiedHasTheSameValue) {
  std::mt19937 random(11);
  const char* const operands[] = {"a", "b", "c", "0", "1", "2", "3", "4", "6", "16"};
  const char* const operators[] = {" * ", " / ", " + ", " - ", " % ", " << ", " ? 3 : "};
  std::function<std::string(int)> text = [&](int depth) -> std::string {
    if (depth == 0) return operands[random() % std::size(operands)];
    std::string left = text(depth - 1), right = text(depth - 1 - random() % depth);
    if (random() % 3 == 0) return "ceil_div(" + left + ", " + right + ")";
    return "(" + left + operators[random() % std::size(operators)] + right + ")";
  };
  int compared = 0;
  for (int i = 0; i < 5000; ++i) {
    auto parsed = Expression::parse(text(1 + random() % 4));
    ASSERT_TRUE(parsed.ok());
    Bindings all{{"a", random() % 50}, {"b", -int64_t(random() % 50)}, {"c", 1 + random() % 5}}, known{{"c", all["c"]}};
    auto value = parsed->evaluate(all);
    if (!value.ok()) continue;
    auto simple = parsed->simplified(known);
    auto same = simple.evaluate(all);
    ASSERT_TRUE(same.ok()) << parsed->text() << " as " << simple.text();
    ASSERT_EQ(*same, *value) << parsed->text() << " as " << simple.text();
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

TEST(Expression, SurvivesArbitraryText) {
  std::mt19937 random(7);
  const char alphabet[] = "ab01+-*/%()?:<>=!&|^~, .xu";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned j = random() % 24; j > 0; --j) text += alphabet[random() % (sizeof alphabet - 1)];
    auto parsed = Expression::parse(text);
    if (!parsed.ok()) continue;
    auto again = Expression::parse(parsed->text());
    ASSERT_TRUE(again.ok()) << text << " printed as " << parsed->text();
    EXPECT_EQ(again->text(), parsed->text());
  }
}

}  // namespace
}  // namespace kernelift
