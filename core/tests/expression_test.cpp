// Claims about core/model/launch/expression.h.
#include "core/model/launch/expression.h"

#include <gtest/gtest.h>

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
