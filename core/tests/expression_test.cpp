// Claims about core/model/launch/expression.h.
#include "core/model/launch/expression.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "core/model/launch/rounding_up.h"
#include "core/tests/expression_literal.h"

namespace kernelift {
namespace {

using Op = Expression::Op;

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
  EXPECT_EQ(cpp("ceil_div(gy, 4) * 2"), "(n / 8 + 3) / 4 * 2");
  EXPECT_EQ(cpp("ceil_div(gx * 3, gz)"), "(grid.x * 3 + sizes[i + 1] - 1) / sizes[i + 1]");
  EXPECT_EQ(cpp("bx * 2"), "(n + 1) * 2");
  EXPECT_EQ(cpp("by * 2"), "((int)n) * 2");
  EXPECT_EQ(cpp("gy"), "n / 8");
  EXPECT_EQ(cpp("min(gx, 5) + 1"), "(grid.x < 5 ? grid.x : 5) + 1");
  EXPECT_EQ(cpp("other - (gx - 1)"), "other - (grid.x - 1)");
}

TEST(Expression, ReadsOctalNumbersAsCDoes) {
  EXPECT_EQ(*Expression::parse("011 + 0x11 + 11u + 0")->evaluate({}), 9 + 17 + 11);
  for (auto* wrong : {"08", "0b11", "019"}) EXPECT_FALSE(Expression::parse(wrong).ok()) << wrong;
}

TEST(Expression, SimplifiesTheArithmeticOfLaunches) {
  auto simplified = [](const char* text) {
    return Expression::parse(text)->simplified({{"block_x", 16}, {"block_y", 32}}).text();
  };
  EXPECT_EQ(simplified("ceil_div(ceil_div(gx * 16, block_x), 2)"), "ceil_div(gx, 2)");
  EXPECT_EQ(simplified("ceil_div(gy * 16, block_y)"), "ceil_div(gy, 2)");
  EXPECT_EQ(simplified("block_x <= 16 && gx > 1"), "gx > 1");
  EXPECT_EQ(simplified("gx > 1 && block_x <= 16 || block_y == 1"), "gx > 1");
  EXPECT_EQ(simplified("block_x > 16 && 1 / gx > 0"), "0");
  EXPECT_EQ(simplified("ceil_div(gx * 48, block_y)"), "ceil_div(gx * 3, 2)");
  EXPECT_EQ(simplified("1 * (block_x * block_y) + 0"), "512");
  EXPECT_EQ(simplified("gx * 4 / 2"), "gx * 2");
  EXPECT_EQ(simplified("gx / 2 * 2"), "gx / 2 * 2");
  EXPECT_EQ(simplified("gx + 64 - 1 + 2"), "gx + 65");
  EXPECT_EQ(simplified("gx - 3 + 3"), "gx");
  EXPECT_EQ(simplified("block_x > 8 ? gx : gy"), "gx");
}

TEST(Expression, RoundsUpOnceWhereItWasRoundedSeveralTimes) {
  auto once = [](const char* text) { return rounded_up_once(*Expression::parse(text)).text(); };
  EXPECT_EQ(once("(((n + 7) / 8) + 7) / 8"), "ceil_div(n, 64)");
  EXPECT_EQ(once("ceil_div((n + 256 - 1) / 256, 4)"), "ceil_div(n, 1024)");
  EXPECT_EQ(once("ceil_div((n + B - 1) / B, 4)"), "ceil_div(n, B * 4)");
  EXPECT_EQ(once("(B - 1 + n) / B"), "ceil_div(n, B)");
  EXPECT_EQ(once("(w * h + (B - 1)) / B * 16"), "ceil_div(w * h, B) * 16");
  EXPECT_EQ(once("(n + 3 + 63) / 64"), "ceil_div(n + 3, 64)");
  EXPECT_EQ(once("n / 8 / (4 * 1)"), "n / 32");
  EXPECT_EQ(once("(n + 66) / 64"), "ceil_div(n + 3, 64)");
  EXPECT_EQ(once("(n + 6) / 8"), "(n + 6) / 8");
  EXPECT_EQ(once("(n - 2 + 63) / 64"), "(n + 61) / 64") << "n may be 0";
  EXPECT_EQ(once("ceil_div(n / 64, 4)"), "ceil_div(n / 64, 4)");
  EXPECT_EQ(once("(n - 1) / 8 + 1"), "(n - 1) / 8 + 1");
}

TEST(Expression, RoundedUpOnceHasTheSameValueForSizes) {
  std::mt19937 random(17);
  const char* const forms[] = {"(%s + %d - 1) / %d", "(%s + c - 1) / c", "ceil_div(%s, %d)", "%s / %d",
                               "(%s - 1) / %d + 1",  "%s * %d",          "(%s + %d) / 3",    "(c - 1 + %s) / c"};
  int compared = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = random() % 2 ? "a" : "(a + b * 2)";
    for (unsigned depth = 1 + random() % 3; depth > 0; --depth) {
      char made[200];
      const int divisor = 1 + static_cast<int>(random() % 9);
      std::snprintf(made, sizeof made, forms[random() % std::size(forms)], ("(" + text + ")").c_str(), divisor,
                    divisor);
      text = made;
    }
    auto parsed = Expression::parse(text);
    if (!parsed.ok()) continue;
    Bindings sizes{{"a", random() % 300}, {"b", random() % 20}, {"c", random() % 6}};
    auto value = parsed->evaluate(sizes);
    if (!value.ok()) continue;
    auto once = rounded_up_once(*parsed), simple = parsed->simplified();
    ASSERT_EQ(*once.evaluate(sizes), *value) << text << " as " << once.text();
    ASSERT_EQ(*simple.evaluate(sizes), *value) << text << " as " << simple.text();
    ++compared;
  }
  EXPECT_GT(compared, 2000);
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
    EXPECT_EQ(*again, *parsed) << text;
    EXPECT_EQ(again->text(), parsed->text());
  }
}

TEST(Expression, IsBuiltOfNodes) {
  const Expression n = Expression::variable("n"), four = Expression::constant(4);
  EXPECT_EQ(ceil_div(n + four - Expression::constant(1), four * n), "ceil_div(n + 4 - 1, 4 * n)"_e);
  EXPECT_EQ((n + four) * n / (n - four), "(n + 4) * n / (n - 4)"_e);
  EXPECT_EQ(Expression::binary(Op::LessEqual, n, four), "n <= 4"_e);
  EXPECT_EQ(Expression::conditional(n, four, n), "n ? 4 : n"_e);
  EXPECT_EQ(Expression::unary(Op::Not, Expression::binary(Op::And, n, four)), "!(n && 4)"_e);
  EXPECT_EQ(Expression(), "0"_e);
  EXPECT_NE("a + b"_e, "b + a"_e);
  EXPECT_NE("a - (b - c)"_e, "a - b - c"_e);
}

TEST(Expression, HasOneFormForANegativeNumber) {
  const int64_t smallest = std::numeric_limits<int64_t>::min();
  for (int64_t value : {int64_t(-1), smallest + 1, smallest}) {
    EXPECT_EQ(Expression::constant(value).text(), std::to_string(value));
    EXPECT_EQ(*Expression::parse(std::to_string(value)), Expression::constant(value));
  }
  EXPECT_EQ("-5"_e, Expression::unary(Op::Negate, Expression::constant(5)));
  EXPECT_EQ("-(5)"_e.as_constant(), -5);
  EXPECT_EQ("-(-5)"_e.text(), "-(-5)");
  EXPECT_EQ("-0"_e.text(), "-0");
  EXPECT_EQ("-K"_e.substitute({{"K", Expression::constant(5)}}), Expression::constant(-5));
  EXPECT_NE(error_of("9223372036854775808").find("too large"), std::string::npos);
}

TEST(Expression, KnowsNames) {
  for (auto* name : {"n", "_x1", "p.width", "cfg::tile", "int", "v.sizes[0]", "v.rows[12].n"})
    EXPECT_TRUE(Expression::is_name(name)) << name;
  for (auto* text : {"", "1n", "a b", "a + b", "a[0]", "v.n[i]", "v.n[]", "v.n[0", "(a)", "::a", "static_cast"})
    EXPECT_FALSE(Expression::is_name(text)) << text;
}

TEST(Expression, HasElementsOfMembersAsVariables) {
  const Expression rows = "v.sizes[0] * 2 + v.sizes[1]"_e;
  EXPECT_EQ(rows.variables(), (std::set<std::string>{"v.sizes[0]", "v.sizes[1]"}));
  EXPECT_EQ(*Expression::parse(rows.text()), rows);
  EXPECT_EQ(*rows.evaluate({{"v.sizes[0]", 3}, {"v.sizes[1]", 4}}), 10);
}

TEST(Expression, IsMatchedByItsNodes) {
  const Expression grid = "ceil_div(gx * 64, BLOCK) * 32 + s.n / 2"_e;
  EXPECT_EQ(grid.op(), Op::Add);
  ASSERT_EQ(grid.operands().size(), 2u);
  EXPECT_FALSE(grid.as_quotient() || grid.as_constant() || grid.as_variable());
  auto quotient = grid.operands()[1].as_quotient();
  ASSERT_TRUE(quotient);
  EXPECT_TRUE(quotient->dividend.is_variable("s.n") && quotient->divisor.is_constant(2) && !quotient->ceiling);
  auto first = grid.find([](auto& node) { return node.as_quotient().has_value(); });
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, "ceil_div(gx * 64, BLOCK)"_e);
  EXPECT_TRUE(first->as_quotient()->ceiling);
  EXPECT_TRUE(grid.contains(Op::CeilDiv) && grid.contains(Op::Divide) && !grid.contains(Op::Min));
  EXPECT_TRUE(grid.uses("BLOCK") && grid.uses("s.n") && !grid.uses("s") && !grid.uses("BLOC"));
  EXPECT_TRUE(grid.uses_any({"x", "gx"}) && !grid.uses_any({"x", "y"}) && !grid.uses_any({}));
  EXPECT_EQ(grid.variables(), (std::set<std::string>{"BLOCK", "gx", "s.n"}));
  EXPECT_EQ(Expression::binary_op("<<"), Op::ShiftLeft);
  EXPECT_EQ(Expression::binary_op("="), std::nullopt);
}

TEST(Expression, SubstitutesNodesForVariables) {
  const std::map<std::string, Expression> by{{"a", "b + 1"_e}, {"b", "a"_e}, {"ns::c", "7"_e}};
  auto substituted = [&](const char* text) { return Expression::parse(text)->substitute(by).text(); };
  EXPECT_EQ(substituted("a * 2"), "(b + 1) * 2");
  EXPECT_EQ(substituted("a + b"), "b + 1 + a") << "all at once";
  EXPECT_EQ(substituted("x ? ns::c : c"), "x ? 7 : c");
  EXPECT_EQ(substituted("a.x + ceil_div(aa, b)"), "a.x + ceil_div(aa, a)");
  const Expression grid = "ceil_div(gx * 64, BLOCK) * 32"_e;
  auto follows = [](const Expression& node) {
    return node.as_quotient() ? std::optional(Expression::variable("gx")) : std::nullopt;
  };
  EXPECT_EQ(grid.rewritten(follows), "gx * 32"_e);
}

TEST(Expression, DividesWhereNoRemainderIsLeft) {
  auto divided = [](const char* text, int64_t by) {
    auto part = Expression::parse(text)->divided_by(by);
    return part ? part->text() : "none";
  };
  EXPECT_EQ(divided("gx * 64", 16), "gx * 4");
  EXPECT_EQ(divided("64 * gx", 64), "gx");
  EXPECT_EQ(divided("a * 4 * (b * 6)", 8), "a * (b * 3)");
  EXPECT_EQ(divided("a * 8 + 4", 4), "a * 2 + 1");
  EXPECT_EQ(divided("n ? 4 * a : 8", 4), "n ? a : 2");
  EXPECT_EQ(divided("-(a * 6)", 3), "-(a * 2)");
  EXPECT_EQ(divided("-12", 4), "-3");
  EXPECT_EQ(divided("n", 1), "n");
  for (auto* text : {"n", "a * 2", "a * 4 + 2", "a / 4", "6", "n ? 4 : 6", "a << 2"})
    EXPECT_EQ(divided(text, 4), "none");
  EXPECT_EQ("ceil_div(gx * 16 + 16, 32)"_e.simplified(), "ceil_div(gx + 1, 2)"_e);
}

/// A tree of every operation, with small and with extreme numbers.
Expression random_tree(std::mt19937& random, int depth) {
  const int64_t numbers[] = {0, 1, 2, -1, 64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  const char* const names[] = {"a", "b.c", "d::e", "min", "x1"};
  auto part = [&] { return random_tree(random, depth - 1); };
  if (depth == 0 || random() % 5 == 0)
    return random() % 2 ? Expression::constant(numbers[random() % std::size(numbers)])
                        : Expression::variable(names[random() % std::size(names)]);
  const int first = static_cast<int>(Op::Negate), last = static_cast<int>(Op::Conditional);
  const Op op = static_cast<Op>(first + static_cast<int>(random() % static_cast<unsigned>(last - first + 1)));
  if (op <= Op::Complement) return Expression::unary(op, part());
  if (op == Op::Conditional) return Expression::conditional(part(), part(), part());
  return Expression::binary(op, part(), part());
}

TEST(Expression, IsReadBackFromItsTextAsTheSameTree) {
  std::mt19937 random(23);
  for (int i = 0; i < 20000; ++i) {
    const Expression tree = random_tree(random, 1 + static_cast<int>(random() % 6));
    auto back = Expression::parse(tree.text());
    ASSERT_TRUE(back.ok()) << tree.text() << ": " << back.error().message;
    ASSERT_EQ(*back, tree);
    ASSERT_EQ(back->text(), tree.text());
  }
}

TEST(Expression, SaysWhatIsWrongWithDamagedText) {
  std::mt19937 random(29);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = random_tree(random, 4).text();
    const size_t at = random() % text.size();
    if (i % 3 == 0) text.resize(at);
    else if (i % 3 == 1) text[at] = static_cast<char>(random());
    else text.insert(at, 1, "()?:,<"[random() % 6]);
    auto parsed = Expression::parse(text);
    if (parsed.ok()) {
      ASSERT_EQ(*Expression::parse(parsed->text()), *parsed) << text;
      continue;
    }
    ASSERT_NE(parsed.error().message.find(" at column "), std::string::npos) << parsed.error().message;
    ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Expression, QuotesWholeCharacters) {
  EXPECT_NE(Expression::parse("(n + 255) \xc3\xb7 256").error().message.find("'\xc3\xb7'"), std::string::npos);
}

TEST(Expression, AcceptsOnlyWhatItCanReadAgain) {
  int accepted = 0, refused = 0;
  for (int length = 1; length < 300; ++length) {
    std::string minus = std::string(static_cast<size_t>(length), '!') + "x", choice;
    for (int i = 0; i < length; ++i) choice += "c ? ";
    choice += "x";
    for (int i = 0; i < length; ++i) choice += " : y";
    for (auto& text : {minus, choice}) {
      auto parsed = Expression::parse(text);
      ++(parsed.ok() ? accepted : refused);
      if (parsed.ok()) ASSERT_TRUE(Expression::parse(parsed->text()).ok()) << text;
      else EXPECT_NE(parsed.error().message.find("nested too deeply"), std::string::npos) << text;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(Expression, KnowsWhetherItsTextIsTooLargeToBeRead) {
  Expression doubled = Expression::variable("n"), nested = doubled;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(doubled.reads_back(), i < 13) << i;
    doubled = doubled + doubled;
    nested = Expression::unary(Op::Not, nested);
  }
  EXPECT_EQ(doubled.size(), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(nested.size(), 101u);
  EXPECT_FALSE(nested.reads_back());
}

}  // namespace
}  // namespace kernelift
