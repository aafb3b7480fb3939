// What rounding excuses and what it does not, on sums with cancellation computed here in several ways.
#include "sandbox/judge/rounding_envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kernelift {
namespace {

constexpr ElementType kFloat{ElementType::Kind::Float, 4};
constexpr int kRows = 512, kTerms = 256;

std::span<const std::byte> bytes(const std::vector<float>& values) { return std::as_bytes(std::span<const float>(values)); }

float term(int row, int column) {
  return std::sin(static_cast<float>(row * 31 + column * 17)) * (1 + static_cast<float>(column % 7));
}

/// Row sums of terms of both signs, each way of adding given as a function of (row).
template <class Sum>
std::vector<float> rows(Sum sum) {
  std::vector<float> results;
  for (int row = 0; row < kRows; ++row) results.push_back(sum(row));
  return results;
}
float in_order(int row) {
  float sum = 0;
  for (int i = 0; i < kTerms; ++i) sum += term(row, i);
  return sum;
}
float backwards(int row) {
  float sum = 0;
  for (int i = kTerms; i-- > 0;) sum += term(row, i);
  return sum;
}
float in_lanes(int row) {
  float lanes[8] = {};
  for (int i = 0; i < kTerms; ++i) lanes[i % 8] += term(row, i);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

FloatTolerance derived() {
  RoundingEnvelope envelope(kFloat);
  envelope.add(bytes(rows(in_order)), bytes(rows(in_lanes)));
  FloatTolerance tolerance = FloatTolerance::standard(kFloat);
  tolerance.envelope = envelope.granted();
  return tolerance;
}

Comparison judge(const std::vector<float>& got, FloatTolerance tolerance) {
  return Comparator(kFloat, tolerance).compare(bytes(rows(in_order)), bytes(got));
}

TEST(RoundingEnvelope, AcceptsASumInAnotherOrderThatUlpsAloneRefuse) {
  auto candidate = rows(backwards);
  EXPECT_FALSE(judge(candidate, FloatTolerance::standard(kFloat)).ok());
  EXPECT_TRUE(judge(candidate, derived()).ok());
}

TEST(RoundingEnvelope, RefusesADroppedTerm) {
  EXPECT_FALSE(judge(rows([](int row) { return in_order(row) - term(row, 100); }), derived()).ok());
}

TEST(RoundingEnvelope, RefusesALoopThatEndsOneShort) {
  EXPECT_FALSE(judge(rows([](int row) { return in_order(row) - term(row, kTerms - 1); }), derived()).ok());
}

TEST(RoundingEnvelope, RefusesAHalfPrecisionIntermediate) {
  auto halved = rows([](int row) {
    float sum = 0;
    for (int i = 0; i < kTerms; ++i) sum += static_cast<float>(static_cast<_Float16>(term(row, i)));
    return sum;
  });
  EXPECT_FALSE(judge(halved, derived()).ok());
}

TEST(RoundingEnvelope, GrantsNothingToWhatIsExactlyReproducible) {
  RoundingEnvelope envelope(kFloat);
  envelope.add(bytes(rows(in_order)), bytes(rows(in_order)));
  EXPECT_EQ(envelope.granted(), 0);
}

TEST(RoundingEnvelope, IsCappedWhereRoundingDecidesTheResult) {
  RoundingEnvelope envelope(kFloat);
  envelope.add(bytes({1.0f, 2.0f}), bytes({1.5f, 2.0f}));
  EXPECT_GT(envelope.spread(), 0.1);
  EXPECT_LE(envelope.granted(), 1e-4);
}

TEST(RoundingEnvelope, IgnoresWhatIsNotFinite) {
  RoundingEnvelope envelope(kFloat);
  envelope.add(bytes({1.0f, INFINITY, NAN}), bytes({1.0f, 3.0f, 4.0f}));
  EXPECT_EQ(envelope.granted(), 0);
}

TEST(RoundingEnvelope, LeavesIntegersExact) {
  RoundingEnvelope envelope({ElementType::Kind::Signed, 4});
  envelope.add(bytes({1.0f}), bytes({2.0f}));
  EXPECT_EQ(envelope.granted(), 0);
}

TEST(RoundingEnvelope, IsMeasuredByTheNeighbourhoodsOwnScale) {
  // Large numbers in the first block must not excuse an error in a block of tiny ones.
  constexpr size_t kBlock = kNeighbourhood / sizeof(float);
  std::vector<float> expected(2 * kBlock, 1e6f), got;
  std::fill(expected.begin() + kBlock, expected.end(), 1e-3f);
  FloatTolerance tolerance = FloatTolerance::standard(kFloat);
  tolerance.envelope = 1e-5;
  got = expected;
  got[3] += 5;
  EXPECT_TRUE(Comparator(kFloat, tolerance).compare(bytes(expected), bytes(got)).ok());
  got[kBlock + 3] *= 1.001f;
  EXPECT_EQ(Comparator(kFloat, tolerance).compare(bytes(expected), bytes(got)).mismatches, 1u);
}

TEST(RoundingEnvelope, IsNamedInWords) {
  FloatTolerance tolerance = FloatTolerance::standard(kFloat);
  tolerance.envelope = 3.1e-7;
  EXPECT_EQ(tolerance.text(kFloat), "rounding envelope 3.1e-07 of the buffer's scale, 16 ULP");
  EXPECT_EQ(tolerance.text({ElementType::Kind::Signed, 4}), "exact");
}

}  // namespace
}  // namespace kernelift
