// Claims about core/model/origin.h.
#include "core/model/origin.h"

#include <gtest/gtest.h>

#include <random>

namespace kernelift {
namespace {

using Root = Origin::Root;

TEST(Origin, IsWrittenAsArtefactsHoldIt) {
  EXPECT_EQ(Origin::of_argument(2).text(), "arg 2");
  EXPECT_EQ(Origin::of_argument(0, 16).text(), "arg 0 +16");
  EXPECT_EQ(Origin::of_argument_bytes(0).text(), "argument byte 0");
  EXPECT_EQ(Origin::of_variable("_ZL5table").text(), "variable _ZL5table");
  EXPECT_EQ(Origin::of_variable("app::table", 8).text(), "variable app::table +8");
  EXPECT_EQ(Origin::of_memory(0x7f1200000000, 0).text(), "0x7f1200000000 +0");
  EXPECT_EQ(Origin::alive().text(), "alive at the launch");
  EXPECT_EQ(Origin().text(), "");
  Origin other = Origin::of_argument(1, 8);
  other.variable = "lut";
  EXPECT_EQ(other.text(), "arg 1 +8, variable lut");
}

TEST(Origin, IsReadBack) {
  Origin to_variable = Origin::of_memory(0x1000, 24);
  to_variable.variable = "table<int, 2>";
  for (auto& origin : {Origin::of_argument(0), Origin::of_argument(12, 4), Origin::of_argument_bytes(7),
                       Origin::of_variable("a b", 3), Origin::of_variable("table<int, 2>"),
                       Origin::of_memory(~uint64_t(0), 8), Origin::alive(), Origin(), to_variable})
    EXPECT_EQ(Origin::parse(origin.text()), origin) << origin.text();
  EXPECT_TRUE(Origin::parse("").empty());
  EXPECT_FALSE(Origin::parse("somewhere").empty());
}

TEST(Origin, OfAnArgumentIsTheWholeOfItOrAMember) {
  EXPECT_TRUE(Origin::parse("arg 2").is_whole_argument());
  for (auto* text : {"arg 2 +8", "arg 2, variable lut"}) {
    EXPECT_EQ(Origin::parse(text).argument, 2) << text;
    EXPECT_FALSE(Origin::parse(text).is_whole_argument()) << text;
  }
  for (auto* text : {"argument byte 2", "variable arg 2", "0x2 +2", "arg", "arg ", "arg -1", "arg 99999999999"})
    EXPECT_EQ(Origin::parse(text).argument, -1) << text;
}

TEST(Origin, KeepsTextsThatItDoesNotKnow) {
  for (auto* text : {"arg 02", "arg 2 +0", "arg 2 + 8", "arg 2 +8 +8", "arg  2", "0x10", "0x +8", "0X10 +8", "variable",
                     "argument byte x", "argument byte 07", "alive at the launch!", ", variable x", "the stack"})
    EXPECT_EQ(Origin::parse(text).text(), text);
  EXPECT_EQ(Origin::parse("arg 02").root, Root::Text);
  EXPECT_EQ(Origin::parse("arg 2 +0").argument, -1);
  const std::string words[] = {
      "arg ", "argument byte ", "variable ", "0x", " +", "alive at the launch", ", variable ", "0", "1", "f", "-",
      " ",    "table",          "\xff"};
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned j = random() % 7; j > 0; --j) text += words[random() % std::size(words)];
    ASSERT_EQ(Origin::parse(text).text(), text);
    ASSERT_EQ(Origin::parse(text), Origin::parse(Origin::parse(text).text()));
  }
}

}  // namespace
}  // namespace kernelift
