// Which values the comparator accepts as equal, for every element type.
#include "sandbox/judge/comparator.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace kernelift::sandbox {
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

TEST(Comparator, MeasuresTheScaleOfNumbersWhoseSquaresOverflow) {
  for (double size : {1e-307, 1e-160, 1.0, 1e160, 1e307}) {
    std::vector<double> values = {3 * size, -4 * size, 5 * size, 0, std::numeric_limits<double>::infinity()};
    double scale = scale_of(ElementType::parse("double"), std::as_bytes(std::span<const double>(values))).rms;
    EXPECT_NEAR(scale / size, std::sqrt(50.0 / 4), 1e-12) << size;
    FloatTolerance tolerance;
    tolerance.envelope = 1e-6, tolerance.denormals = true;
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

TEST(Comparator, DistinguishesInfinitiesBySignAndFromTheLargestNumber) {
  EXPECT_TRUE(compare<float>("float", {kInf}, {kInf}).ok());
  EXPECT_FALSE(compare<float>("float", {kInf}, {-kInf}).ok());
  EXPECT_FALSE(compare<float>("float", {kInf}, {std::numeric_limits<float>::max()}).ok());
  EXPECT_FALSE(compare<float>("float", {kInf}, {kNan}, {1e30, 1e30, 1e30}).ok());
}

TEST(Comparator, AcceptsNegativeZeroForZeroEvenWithoutTolerance) {
  EXPECT_TRUE(compare<float>("float", {0.0f}, {-0.0f}, {}).ok());
  EXPECT_TRUE(compare<double>("double", {-0.0}, {0.0}, {}).ok());
}

TEST(Comparator, TellsZerosOfBothSignsApartWhereTheSignIsAResult) {
  FloatTolerance tolerance = FloatTolerance::standard(ElementType::parse("float"));
  tolerance.zero_signs = true;
  auto result = compare<float>("float", {1.0f, 0.0f}, {1.0f, -0.0f}, tolerance);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.first->index, 1u);
  EXPECT_EQ(result.first->got, "-0");
  EXPECT_TRUE(compare<float>("float", {0.0f, -0.0f, 1.0f}, {0.0f, -0.0f, steps(1.0f, 1)}, tolerance).ok());
  EXPECT_FALSE(compare<uint16_t>("half", {0x8000}, {0x0000}, tolerance).ok());
}

TEST(Comparator, CountsDenormalsInTheirOwnSpacingOnceRoundingHasMovedOne) {
  float tiny = std::numeric_limits<float>::denorm_min();
  FloatTolerance moved = FloatTolerance::standard(ElementType::parse("float"));
  moved.denormals = true;
  EXPECT_TRUE(compare<float>("float", {0.0f}, {16 * tiny}, moved).ok());
  EXPECT_FALSE(compare<float>("float", {0.0f}, {17 * tiny}, moved).ok());
  EXPECT_TRUE(compare<float>("float", {8 * tiny}, {-8 * tiny}, moved).ok());
  EXPECT_FALSE(compare<float>("float", {0.0f}, {1e-30f}, moved).ok());
}

TEST(Comparator, HoldsIntegersInMemoryOfFloatsExactlyWhateverTheEnvelope) {
  auto as_float = [](int value) { return std::bit_cast<float>(value); };
  FloatTolerance wide = FloatTolerance::standard(ElementType::parse("float"));
  wide.envelope = 1e-6;
  for (int right : {1, 7, 8'000'000})
    for (int wrong : {right + 1, 0, 12}) {
      EXPECT_TRUE(compare<float>("float", {1.0f, as_float(right)}, {1.0f, as_float(right)}, wide).ok());
      EXPECT_FALSE(compare<float>("float", {1.0f, as_float(right)}, {1.0f, as_float(wrong)}, wide).ok())
          << right << " " << wrong;
      EXPECT_FALSE(compare<double>("double", {1.0, std::bit_cast<double>(int64_t(right))},
                                   {1.0, std::bit_cast<double>(int64_t(wrong))}, wide)
                       .ok());
    }
  EXPECT_TRUE(compare<float>("float", {as_float(7)}, {as_float(8)}, FloatTolerance::given(1e-3, 1e-6)).ok())
      << "the user's tolerance applies to denormals";
  // Below 6e-5 all half-precision numbers are denormals.
  EXPECT_TRUE(compare<uint16_t>("half", {0x0010}, {0x0011}).ok());
}

TEST(Comparator, IsNotMisledBySentinelsAmongTheNumbers) {
  // Sentinels in one element, or in most.
  for (double mark : {-9999.0, 1e30, static_cast<double>(std::numeric_limits<float>::max())})
    for (size_t marked : {size_t(1), size_t(100), size_t(1000)}) {
      std::vector<float> expected(1024), got;
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = i < marked ? static_cast<float>(mark) : 1 + 0.5f * std::sin(static_cast<float>(i));
      got = expected;
      FloatTolerance tolerance = FloatTolerance::standard(ElementType::parse("float"));
      tolerance.envelope = 4e-6, tolerance.typical = 1.6e-5;
      got[1020] += 4e-6f;
      EXPECT_TRUE(compare<float>("float", expected, got, tolerance).ok()) << mark << " " << marked;
      got[1020] += 1e-3f;
      EXPECT_EQ(compare<float>("float", expected, got, tolerance).mismatches, 1u) << mark << " " << marked;
    }
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

}  // namespace
}  // namespace kernelift::sandbox
