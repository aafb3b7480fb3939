// Results within the error bounds of the original's sums, by their own length.
#include "sandbox/judge/length_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sandbox/judge/error_bounds.h"

namespace kernelift::sandbox {
namespace {

std::span<const std::byte> bytes_of(const std::vector<float>& floats) { return std::as_bytes(std::span(floats)); }

TEST(LengthBound, AdmitsWhatIsWithinTheErrorOfThePreciseValue) {
  const std::vector<float> answer{1, 2};
  const BesideLane beside{0, {{1.5, 0.25}, {2, NAN}}};
  const LengthBound bound(bytes_of(answer), beside);
  EXPECT_TRUE(bound.any());
  EXPECT_TRUE(bound.admits(0, 1, 1.75));
  EXPECT_TRUE(bound.admits(0, 1, 1.25));
  EXPECT_FALSE(bound.admits(0, 1, 1.0)) << "the original's own result is no reference here";
  EXPECT_FALSE(bound.admits(0, 1, 1.8));
  EXPECT_FALSE(bound.admits(1, 2, 2)) << "nothing is known of it";
  EXPECT_FALSE(bound.admits(2, 1, 1)) << "there is no such element";
  EXPECT_FALSE(LengthBound(bytes_of({1}), BesideLane{0, {{INFINITY, 1}}}).any());
}

TEST(LengthBound, BetweenTwoOthersIsAShareOfTheLesserErrorAroundTheAnswer) {
  const std::vector<float> answer{1, 2, 3};
  const LengthBound one(bytes_of(answer), BesideLane{0, {{9, 0.4}, {2, 0.4}, {3, NAN}}}),
      other(bytes_of(answer), BesideLane{0, {{1, 0.8}, {2, NAN}, {3, NAN}}});
  const LengthBound between = LengthBound::between(one, other);
  EXPECT_TRUE(between.any());
  EXPECT_TRUE(between.admits(0, 5, 5.1));
  EXPECT_FALSE(between.admits(0, 5, 5.11));
  EXPECT_FALSE(between.admits(1, 5, 5)) << "one of both does not know it";
  EXPECT_FALSE(
      LengthBound::between(other, LengthBound(bytes_of(answer), BesideLane{0, {{NAN, NAN}, {NAN, NAN}, {NAN, NAN}}}))
          .any());
}

TEST(LengthBound, OfAPartOfTheElementsSaysNothingOfTheOthers) {
  const std::vector<float> answer{1, 2, 3, 4};
  const LengthBound middle(bytes_of(answer), BesideLane{1, {{2.5, 0.25}, {3, 0.4}}}),
      last(bytes_of(answer), BesideLane{2, {{3, 0.8}, {4, 0.4}}}), first(bytes_of(answer), BesideLane{0, {{1, 0.4}}});
  EXPECT_TRUE(middle.admits(1, 2, 2.7));
  EXPECT_FALSE(middle.admits(0, 1, 1));
  EXPECT_FALSE(middle.admits(3, 4, 4));
  const LengthBound between = LengthBound::between(middle, last);
  EXPECT_TRUE(between.admits(2, 3, 3.09));
  EXPECT_FALSE(between.admits(2, 3, 3.11));
  EXPECT_FALSE(between.admits(1, 2, 2));
  EXPECT_FALSE(between.admits(3, 4, 4));
  EXPECT_FALSE(LengthBound::between(first, last).any());
}

TEST(LengthBound, CountsOnlyForThoseThatAreHeldToIt) {
  const std::vector<float> answer{1, 2}, got{1.7f, 2}, far{1.9f, 2};
  ErrorBounds bounds(ElementLayout::parse("float"));
  bounds.by_length.push_back(std::make_shared<LengthBound>(bytes_of(answer), BesideLane{0, {{1.5, 0.25}, {2, 0.1}}}));
  EXPECT_FALSE(bounds.compare(bytes_of(answer), bytes_of(got)).ok());
  EXPECT_TRUE(bounds.compare(bytes_of(answer), bytes_of(got), true).ok());
  EXPECT_FALSE(bounds.compare(bytes_of(answer), bytes_of(far), true).ok());
  EXPECT_TRUE(bounds.compare(bytes_of(answer), bytes_of(answer), true).ok()) << "the tolerance holds as well";
  bounds.forget_answer();
  EXPECT_FALSE(bounds.compare(bytes_of(answer), bytes_of(got), true).ok());
}

}  // namespace
}  // namespace kernelift::sandbox
