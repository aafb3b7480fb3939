// What counts as equal, case by case.
#include "sandbox/judge/comparator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kernelift {
namespace {

template <class T>
Comparison compare(const char* type, std::vector<T> expected, std::vector<T> got, FloatTolerance tolerance) {
  return Comparator(ElementType::parse(type), tolerance)
      .compare(std::as_bytes(std::span<const T>(expected)), std::as_bytes(std::span<const T>(got)));
}
template <class T>
Comparison compare(const char* type, std::vector<T> expected, std::vector<T> got) {
  return compare(type, expected, got, FloatTolerance::standard(ElementType::parse(type)));
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

float steps(float from, int count) {
  for (int i = 0; i < std::abs(count); ++i) from = std::nextafter(from, count > 0 ? kInf : -kInf);
  return from;
}

TEST(Comparator, AcceptsRearrangedRoundingAndRefusesMore) {
  EXPECT_TRUE(compare<float>("float", {1.0f}, {steps(1.0f, 16)}).ok());
  EXPECT_FALSE(compare<float>("float", {1.0f}, {steps(1.0f, 17)}).ok());
}

TEST(Comparator, KnowsTheScaleOfNumbersWhoseSquaresAreNoNumbers) {
  for (double size : {1e-307, 1e-160, 1.0, 1e160, 1e307}) {
    std::vector<double> values = {3 * size, -4 * size, 5 * size, 0, std::numeric_limits<double>::infinity()};
    double scale = scale_of(ElementType::parse("double"), std::as_bytes(std::span<const double>(values)));
    EXPECT_NEAR(scale / size, std::sqrt(50.0 / 4), 1e-12) << size;
    FloatTolerance tolerance;
    tolerance.envelope = 1e-6;
    EXPECT_TRUE(compare<double>("double", {size, 1e-9 * size}, {size, 2e-9 * size}, tolerance).ok()) << size;
    EXPECT_FALSE(compare<double>("double", {size, 1e-9 * size}, {size, 1e-5 * size}, tolerance).ok()) << size;
  }
}

TEST(Comparator, HoldsNegativeReferencesToTheSameBound) {
  EXPECT_TRUE(compare<float>("float", {-3.0f}, {steps(-3.0f, -16)}).ok());
  EXPECT_TRUE(compare<float>("float", {-3.0f}, {steps(-3.0f, 16)}).ok());
  EXPECT_FALSE(compare<float>("float", {-3.0f}, {3.0f}).ok());
  FloatTolerance relative{0, 0.01, 0};
  EXPECT_TRUE(compare<float>("float", {-100.0f}, {-100.5f}, relative).ok());
  EXPECT_FALSE(compare<float>("float", {-100.0f}, {-102.0f}, relative).ok());
  EXPECT_FALSE(compare<float>("float", {-100.0f}, {100.0f}, relative).ok());
}

TEST(Comparator, TreatsNaNAgainstNumberAsMismatch) {
  EXPECT_FALSE(compare<float>("float", {1.0f}, {kNan}).ok());
  EXPECT_FALSE(compare<float>("float", {kNan}, {1.0f}).ok());
  EXPECT_FALSE(compare<float>("float", {1.0f}, {kNan}, {1e30, 1e30, 1e30}).ok());
}

TEST(Comparator, TreatsAnyNaNAsEqualToNaN) {
  float other = -kNan;
  EXPECT_TRUE(compare<float>("float", {kNan}, {other}).ok());
}

TEST(Comparator, TellsInfinitiesBySignAndFromTheLargestNumber) {
  EXPECT_TRUE(compare<float>("float", {kInf}, {kInf}).ok());
  EXPECT_FALSE(compare<float>("float", {kInf}, {-kInf}).ok());
  EXPECT_FALSE(compare<float>("float", {kInf}, {std::numeric_limits<float>::max()}).ok());
  EXPECT_FALSE(compare<float>("float", {kInf}, {kNan}, {1e30, 1e30, 1e30}).ok());
}

TEST(Comparator, AcceptsNegativeZeroForZeroEvenWithoutTolerance) {
  EXPECT_TRUE(compare<float>("float", {0.0f}, {-0.0f}, {}).ok());
  EXPECT_TRUE(compare<double>("double", {-0.0}, {0.0}, {}).ok());
}

TEST(Comparator, CountsDenormalsInTheirOwnSpacing) {
  float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(compare<float>("float", {0.0f}, {16 * tiny}).ok());
  EXPECT_FALSE(compare<float>("float", {0.0f}, {17 * tiny}).ok());
  EXPECT_TRUE(compare<float>("float", {8 * tiny}, {-8 * tiny}).ok());
  EXPECT_FALSE(compare<float>("float", {0.0f}, {1e-30f}).ok());
}

TEST(Comparator, HoldsIntegersExactlyWhateverTheTolerance) {
  FloatTolerance loose{1e9, 1, 1e9};
  EXPECT_FALSE(compare<int>("int", {5}, {6}, loose).ok());
  EXPECT_FALSE(compare<uint8_t>("bool", {1}, {2}, loose).ok());
  EXPECT_FALSE(compare<uint8_t>("struct Cell", {1}, {2}, loose).ok());
}

TEST(Comparator, NamesElementValuesAndDistance) {
  auto result = compare<int>("int", {1, 2, 3, 4}, {1, 2, -3, 4});
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->index, 2u);
  EXPECT_EQ(result.first->offset, 8u);
  EXPECT_EQ(result.first->expected, "3");
  EXPECT_EQ(result.first->got, "-3");
  EXPECT_EQ(result.first->distance, 6);
}

TEST(Comparator, CountsEveryMismatchAndKeepsFirstAndWorst) {
  auto result = compare<double>("double", {1, 2, 3}, {1.5, 2, 30});
  EXPECT_EQ(result.mismatches, 2u);
  EXPECT_EQ(result.first->index, 0u);
  EXPECT_EQ(result.worst->index, 2u);
}

TEST(Comparator, ComparesATailShorterThanAnElement) {
  std::byte expected[6] = {}, got[6] = {};
  got[5] = std::byte{1};
  auto result = Comparator(ElementType::parse("float"), {}).compare(expected, got);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.first->offset, 4u);
}

TEST(Comparator, FindsAMismatchInTheLastElementOfManyBlocks) {
  std::vector<float> expected(100001, 2.0f), got = expected;
  got.back() = 3.0f;
  auto result = compare<float>("float", expected, got);
  EXPECT_EQ(result.mismatches, 1u);
  EXPECT_EQ(result.first->index, 100000u);
}

TEST(Comparator, ComparesHalfWithinTwoNeighbours) {
  EXPECT_TRUE(compare<uint16_t>("half", {0x3c00}, {0x3c02}).ok());
  EXPECT_FALSE(compare<uint16_t>("half", {0x3c00}, {0x3c03}).ok());
}

TEST(FloatTolerance, WidensOnlyWhenTheSpreadExceedsTheBound) {
  auto standard = FloatTolerance::standard(ElementType::parse("float"));
  EXPECT_EQ(standard.covering(3, 1e-3).absolute, 0);
  EXPECT_EQ(standard.covering(100, 1e-3).absolute, 2e-3);
}

}  // namespace
}  // namespace kernelift
