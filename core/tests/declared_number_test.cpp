// Conditions of kernel models over what C makes of the parameters: each value of the type is tried.
#include "core/model/kernel/declared_number.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"

namespace kernelift {
namespace {

std::string over(const char* condition, const char* type) {
  const auto made = over_declared(*Expression::parse(condition),
                                  {{"arg.a0", *DeclaredNumber::of(type)}, {"arg.a1", DeclaredNumber{32, false}}});
  return made ? made->text({{"arg.a0", "x"}, {"arg.a1", "n"}}) : "none";
}

TEST(DeclaredNumber, AnUnsignedParameterIsAskedForItsHighestBit) {
  EXPECT_EQ(over("arg.a0 >= 0", "unsigned int"), "x < 2147483648");
  EXPECT_EQ(over("arg.a0 >= 0", "unsigned char"), "x < 128");
  EXPECT_EQ(over("arg.a0 >= 0", "unsigned long"), "x <= 9223372036854775807");
  EXPECT_EQ(over("arg.a0 <= -1", "unsigned int"), "x >= 2147483648");
  EXPECT_EQ(over("arg.a1 <= 0 || arg.a0 >= 0", "unsigned int"), "n <= 0 || x < 2147483648");
  EXPECT_EQ(over("arg.a0 >= 0 && arg.a0 % 3 == 0", "unsigned int"), "x < 2147483648 && x % 3 == 0");
}

TEST(DeclaredNumber, LowestBitsAreThoseOfEitherNumber) {
  EXPECT_EQ(over("arg.a0 % 4 == 0", "unsigned int"), "x % 4 == 0");
  EXPECT_EQ(over("(arg.a0 - 1) % 256 >= 192", "unsigned int"), "x < 2147483648 && (x - 1) % 256 >= 192");
}

TEST(DeclaredNumber, WhatHasABoundIsNotAskedForItsSign) {
  EXPECT_EQ(over("arg.a0 <= 4294967295", "unsigned long"), "x <= 4294967295");
  EXPECT_EQ(over("arg.a0 >= 0 && arg.a0 < 300 && arg.a0 % 3 == 0", "unsigned int"), "x < 300 && x % 3 == 0");
  EXPECT_EQ(over("arg.a0 <= 4294967295", "unsigned int"), "x < 2147483648 && x <= 4294967295");
  const auto member = over_declared(*Expression::parse("arg.a0.o8 <= 5"), {{"arg.a0.o8", {64, true}}});
  EXPECT_EQ(member->text(), "arg.a0.o8 <= 9223372036854775807 && arg.a0.o8 <= 5");
}

TEST(DeclaredNumber, ASignedParameterStaysAsItIs) {
  EXPECT_EQ(over("arg.a0 >= 0 && arg.a0 % 3 == 0", "int"), "x >= 0 && x % 3 == 0");
  EXPECT_EQ(over("arg.a0 + arg.a2 >= 0", "int"), "none") << "what is not declared is not known";
}

/// Wherever the condition of C holds, that of the model does; and the other way round but for numbers with a sign of
/// which more than the sign is asked.
TEST(DeclaredNumber, HoldsNowhereElseForAnyValueOfTheType) {
  const DeclaredNumber type = *DeclaredNumber::of("unsigned char");
  for (auto* text : {"arg.a0 >= 0", "arg.a0 <= -1", "arg.a0 > -1 || arg.a0 % 8 == 0", "0 > arg.a0", "arg.a0 % 4 != 0",
                     "arg.a0 >= 5", "arg.a0 < 5", "!(arg.a0 < 5)", "arg.a0 == -3", "(arg.a0 - 1) % 16 >= 3",
                     "arg.a0 <= -1 && arg.a0 % 3 == 0", "arg.a0 >= 0 ? arg.a0 : 5", "arg.a0 < 9 && arg.a0 != 4",
                     "arg.a0 <= 127", "arg.a0 <= 128", "!(arg.a0 >= 0 && arg.a0 > 9)"}) {
    const Expression condition = *Expression::parse(text), made = *over_declared(condition, {{"arg.a0", type}});
    for (int64_t value = 0; value < 256; ++value) {
      const bool holds = *made.evaluate({{"arg.a0", value}}) != 0;
      const bool wanted = *condition.evaluate({{"arg.a0", type.as_signed(value)}}) != 0;
      EXPECT_TRUE(!holds || wanted) << text << " at " << value << ": " << made.text();
      if (value < 128) EXPECT_EQ(holds, wanted) << text << " at " << value << ": " << made.text();
    }
  }
}

TEST(DeclaredNumber, ModelsReadTheSignedNumberOfTheSameBits) {
  EXPECT_EQ(as_models_read("unsigned int", 0x80000000), -2147483648);
  EXPECT_EQ(as_models_read("unsigned short", 65535), -1);
  EXPECT_EQ(as_models_read("unsigned int", 7), 7);
  EXPECT_EQ(as_models_read("int", -7), -7);
  EXPECT_EQ(as_models_read("bool", 1), 1);
}

}  // namespace
}  // namespace kernelift
