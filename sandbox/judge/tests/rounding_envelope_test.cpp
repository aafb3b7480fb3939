// Which differences rounding excuses, on sums with cancellation that are computed here in several ways.
#include "sandbox/judge/rounding_envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kernelift::sandbox {
namespace {

constexpr ElementType kFloatType{ElementType::Kind::Float, 4};
constexpr int kRows = 512, kSummed = 256;

std::span<const std::byte> float_bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span<const float>(values));
}

float term(int row, int column) {
  return std::sin(static_cast<float>(row * 31 + column * 17)) * (1 + static_cast<float>(column % 7));
}

/// Row sums of terms of both signs; `sum` adds one row.
template <class Sum>
std::vector<float> field_of(Sum sum) {
  std::vector<float> results;
  for (int row = 0; row < kRows; ++row) results.push_back(sum(row));
  return results;
}
float in_order(int row) {
  float sum = 0;
  for (int i = 0; i < kSummed; ++i) sum += term(row, i);
  return sum;
}
float backwards(int row) {
  float sum = 0;
  for (int i = kSummed; i-- > 0;) sum += term(row, i);
  return sum;
}
float in_lanes(int row) {
  float lanes[8] = {};
  for (int i = 0; i < kSummed; ++i) lanes[i % 8] += term(row, i);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

FloatTolerance granted(const RoundingEnvelope& envelope, ElementType type = kFloatType) {
  FloatTolerance tolerance = FloatTolerance::standard(type);
  envelope.spread().grant(type, tolerance);
  return tolerance;
}

FloatTolerance derived() {
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes(field_of(in_order)), float_bytes(field_of(in_lanes)));
  return granted(envelope);
}

Comparison judge(const std::vector<float>& got, FloatTolerance tolerance) {
  return Comparator(kFloatType, tolerance).compare(float_bytes(field_of(in_order)), float_bytes(got));
}

TEST(RoundingEnvelope, AcceptsASumInAnotherOrderThatUlpsAloneRefuse) {
  auto candidate = field_of(backwards);
  EXPECT_FALSE(judge(candidate, FloatTolerance::standard(kFloatType)).ok());
  EXPECT_TRUE(judge(candidate, derived()).ok());
}

TEST(RoundingEnvelope, RefusesADroppedTerm) {
  EXPECT_FALSE(judge(field_of([](int row) { return in_order(row) - term(row, 100); }), derived()).ok());
}

TEST(RoundingEnvelope, RefusesALoopThatEndsOneShort) {
  EXPECT_FALSE(judge(field_of([](int row) { return in_order(row) - term(row, kSummed - 1); }), derived()).ok());
}

TEST(RoundingEnvelope, RefusesAHalfPrecisionIntermediate) {
  auto halved = field_of([](int row) {
    float sum = 0;
    for (int i = 0; i < kSummed; ++i) sum += static_cast<float>(static_cast<_Float16>(term(row, i)));
    return sum;
  });
  EXPECT_FALSE(judge(halved, derived()).ok());
}

TEST(RoundingEnvelope, IsEmptyForExactlyReproducibleResults) {
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes(field_of(in_order)), float_bytes(field_of(in_order)));
  EXPECT_EQ(granted(envelope).envelope, 0);
}

TEST(RoundingEnvelope, IsCappedWhereRoundingDecidesTheResult) {
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes({1.0f, 2.0f}), float_bytes({1.5f, 2.0f}));
  EXPECT_GT(envelope.spread().rms, 0.1);
  EXPECT_LE(granted(envelope).envelope, 1e-4);
}

TEST(RoundingEnvelope, IgnoresNonFiniteValues) {
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes({1.0f, INFINITY, NAN}), float_bytes({1.0f, 3.0f, 4.0f}));
  EXPECT_EQ(granted(envelope).envelope, 0);
}

TEST(RoundingEnvelope, LeavesIntegersExact) {
  RoundingEnvelope envelope({ElementType::Kind::Signed, 4});
  envelope.add(float_bytes({1.0f}), float_bytes({2.0f}));
  EXPECT_EQ(envelope.spread().rms, 0);
}

TEST(RoundingEnvelope, IsMeasuredByTheNeighbourhoodsOwnScale) {
  // Large numbers in the first block must not excuse an error in a block of tiny ones.
  constexpr size_t kBlock = kNeighbourhood / sizeof(float);
  std::vector<float> expected(2 * kBlock, 1e6f), got;
  std::fill(expected.begin() + kBlock, expected.end(), 1e-3f);
  FloatTolerance tolerance = FloatTolerance::standard(kFloatType);
  tolerance.envelope = 1e-5;
  got = expected;
  got[3] += 5;
  EXPECT_TRUE(Comparator(kFloatType, tolerance).compare(float_bytes(expected), float_bytes(got)).ok());
  got[kBlock + 3] *= 1.001f;
  EXPECT_EQ(Comparator(kFloatType, tolerance).compare(float_bytes(expected), float_bytes(got)).mismatches, 1u);
}

/// Two runs of sums by atomics: a sum that cancels moves far, large sums move by a few last places.
TEST(RoundingEnvelope, SpreadOfLargeSumsDoesNotExcuseErrorsOfSmallOnes) {
  constexpr size_t kBlock = kNeighbourhood / sizeof(float);
  std::vector<float> once(2 * kBlock, 1.0f), again;
  std::fill(once.begin() + kBlock, once.end(), 1e9f);
  once[5] = 1e-5f;
  again = once;
  again[5] = 1.2e-5f;
  for (size_t i = kBlock; i < 2 * kBlock; ++i) again[i] += 512;
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes(once), float_bytes(again));
  FloatTolerance tolerance = FloatTolerance::standard(kFloatType);
  envelope.spread().grant_of_runs(tolerance);
  EXPECT_EQ(tolerance.absolute, 0);
  EXPECT_TRUE(Comparator(kFloatType, tolerance).compare(float_bytes(once), float_bytes(again)).ok());
  std::vector<float> wrong = once;
  std::fill(wrong.begin(), wrong.begin() + kBlock, 0.0f);
  EXPECT_GE(Comparator(kFloatType, tolerance).compare(float_bytes(once), float_bytes(wrong)).mismatches, kBlock - 1);
}

/// A field of sums that cancel, with sentinels in elements without a value.
std::vector<float> with_sentinels(float sentinel, float (*sum)(int)) {
  std::vector<float> field = field_of(sum);
  for (size_t i = 0; i < field.size(); i += i % 3 ? 1 : 2) field[i] = sentinel;
  return field;
}

TEST(RoundingEnvelope, IsNotWidenedBySentinels) {
  // A neighbourhood without sentinels has an envelope; sentinels elsewhere must not widen it.
  for (float sentinel : {std::numeric_limits<float>::max(), 1e30f, -9999.0f}) {
    auto beside = [&](std::vector<float> plain, std::vector<float> other) {
      plain.resize(kNeighbourhood / sizeof(float), 1.0f);
      plain.insert(plain.end(), other.begin(), other.end());
      return plain;
    };
    auto field = beside(field_of(in_order), with_sentinels(sentinel, in_order));
    RoundingEnvelope envelope(kFloatType);
    envelope.add(float_bytes(field), float_bytes(beside(field_of(in_lanes), with_sentinels(sentinel, in_lanes))));
    Comparator judge(kFloatType, granted(envelope));
    EXPECT_TRUE(
        judge.compare(float_bytes(field), float_bytes(beside(field_of(backwards), with_sentinels(sentinel, backwards))))
            .ok())
        << sentinel;
    auto poisoned = field;
    for (size_t i = kNeighbourhood / sizeof(float); i < field.size(); ++i)
      if (field[i] != sentinel) poisoned[i] += 1e-3f * std::fabs(field[i]) + 1e-3f;
    EXPECT_GT(judge.compare(float_bytes(field), float_bytes(poisoned)).mismatches, 100u) << sentinel;
  }
}

TEST(RoundingEnvelope, KeepsTheNoiseBesideAPeak) {
  // The spectrum of a sine: two bins, and rounding errors in all others. Also the decreasing cosine coefficients of a
  // smooth block.
  for (float fall : {0.0f, 0.97f}) {
    auto spectrum = [&](unsigned seed) {
      std::vector<float> bins(1024);
      for (size_t i = 0; i < bins.size(); ++i) {
        seed = seed * 1664525u + 1013904223u;
        bins[i] = 512 * std::pow(fall, static_cast<float>(i)) * (i % 2 ? 1.0f : -1.0f) +
                  2e-5f * (static_cast<float>(seed >> 8) * 0x1p-24f - 0.5f);
      }
      bins[7] = -512, bins[1017] = 512;
      return bins;
    };
    RoundingEnvelope envelope(kFloatType);
    for (unsigned way : {2, 3, 4}) envelope.add(float_bytes(spectrum(1)), float_bytes(spectrum(way)));
    Comparator judge(kFloatType, granted(envelope));
    for (unsigned way = 5; way < 50; ++way)
      EXPECT_TRUE(judge.compare(float_bytes(spectrum(1)), float_bytes(spectrum(way))).ok()) << fall << " " << way;
    auto wrong = spectrum(5);
    wrong[9] += 512 * 1e-5f;
    EXPECT_FALSE(judge.compare(float_bytes(spectrum(1)), float_bytes(wrong)).ok());
  }
}

TEST(RoundingEnvelope, IgnoresDifferencesThatTheBoundInUlpsCovers) {
  // Pressures of 1e6 between velocities of 1: the last place of one is a tenth of the other.
  std::vector<float> state(1024, 1.0f), again;
  for (size_t i = 0; i < state.size(); i += 4) state[i] = 1e6f;
  again = state;
  for (size_t i = 0; i < state.size(); i += 4) again[i] = std::nextafter(state[i], 2e6f);
  for (size_t i = 1; i < state.size(); i += 4) again[i] = state[i] - 2e-6f;
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes(state), float_bytes(again));
  Comparator judge(kFloatType, granted(envelope));
  EXPECT_TRUE(judge.compare(float_bytes(state), float_bytes(again)).ok());
  again[1] = 1.001f;
  EXPECT_EQ(judge.compare(float_bytes(state), float_bytes(again)).mismatches, 1u);
}

TEST(RoundingEnvelope, LearnsWhetherDenormalsAreNumbers) {
  float tail = 3e-40f;
  RoundingEnvelope envelope(kFloatType);
  envelope.add(float_bytes({1.0f, tail}), float_bytes({1.0f, tail}));
  EXPECT_FALSE(granted(envelope).denormals);
  envelope.add(float_bytes({1.0f, tail}), float_bytes({1.0f, std::nextafter(tail, 1.0f)}));
  EXPECT_TRUE(granted(envelope).denormals);
  EXPECT_TRUE(Comparator(kFloatType, granted(envelope))
                  .compare(float_bytes({1.0f, tail}), float_bytes({1.0f, std::nextafter(tail, 0.0f)}))
                  .ok());
  EXPECT_FALSE(Comparator(kFloatType, FloatTolerance::standard(kFloatType))
                   .compare(float_bytes({tail}), float_bytes({std::nextafter(tail, 0.0f)}))
                   .ok());
}

TEST(RoundingEnvelope, IsNamedInWords) {
  FloatTolerance tolerance = FloatTolerance::standard(kFloatType);
  tolerance.envelope = 3.1e-7;
  EXPECT_EQ(tolerance.text(kFloatType), "rounding envelope 3.1e-07 of the buffer's scale, 16 ULP");
  tolerance.typical = 2e-6;
  EXPECT_EQ(tolerance.text(kFloatType),
            "rounding envelope 3.1e-07 of the buffer's scale, at most 2.0e-06 of its typical magnitude, 16 ULP");
  EXPECT_EQ(tolerance.text({ElementType::Kind::Signed, 4}), "exact");
}

}  // namespace
}  // namespace kernelift::sandbox
