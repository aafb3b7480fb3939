// Besides values near the recorded answer, only sums that are nearer to the exact ones are accepted.
#include "sandbox/judge/nearer_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "sandbox/judge/rounding_envelope.h"

namespace kernelift::sandbox {
namespace {

constexpr ElementType kFloat{ElementType::Kind::Float, 4};
constexpr int kTerms = 20000;

std::span<const std::byte> bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span<const float>(values));
}

/// Sums of kTerms equal terms: rounding to nearest errs in the same direction in each addition.
const std::vector<float> kTermsOfRows = {0.1f, 0.3f, 0.7f, 1.3f};

template <class Sum>
std::vector<float> rows(Sum sum) {
  std::vector<float> results;
  for (float term : kTermsOfRows) results.push_back(sum(term));
  return results;
}
float to_nearest(float term) {
  float sum = 0;
  for (int i = 0; i < kTerms; ++i) sum += term;
  return sum;
}
/// Rounds up or down with the probability that makes the sum right on average.
float at_random(float term, std::mt19937& random) {
  float sum = 0;
  for (int i = 0; i < kTerms; ++i) {
    double exact = double(sum) + double(term);
    float below = static_cast<float>(exact);
    if (below > exact) below = std::nextafter(below, -INFINITY);
    float above = std::nextafter(below, INFINITY);
    double share = (exact - below) / (double(above) - below);
    sum = std::uniform_real_distribution<double>(0, 1)(random) < share ? above : below;
  }
  return sum;
}
/// Adds like a block of threads: 250 partial sums, then their sum.
float in_parts(float term) {
  constexpr int kParts = 250;
  float whole = 0;
  for (int part = 0; part < kParts; ++part) {
    float sum = 0;
    for (int i = 0; i < kTerms / kParts; ++i) sum += term;
    whole += sum;
  }
  return whole;
}

class NearerReferenceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(3);
    for (int run = 0; run < 3; ++run)
      nearer_.add(bytes(recorded_), bytes(rows([&](float term) { return at_random(term, random); })));
    ASSERT_TRUE(nearer_.settle(bytes(recorded_)));
  }
  bool right(const std::vector<float>& got) const {
    return Comparator(kFloat, FloatTolerance::standard(kFloat), &nearer_).compare(bytes(recorded_), bytes(got)).ok();
  }
  const std::vector<float> recorded_ = rows(to_nearest);
  NearerReference nearer_{kFloat};
};

TEST_F(NearerReferenceTest, AcceptsASumThatIsNearerToTheExactOneThanTheRecordedAnswer) {
  std::vector<float> parts = rows(in_parts);
  EXPECT_FALSE(Comparator(kFloat, FloatTolerance::standard(kFloat)).compare(bytes(recorded_), bytes(parts)).ok())
      << "the standard tolerance alone must not suffice";
  EXPECT_TRUE(right(parts));
  EXPECT_TRUE(right(rows([](float term) { return static_cast<float>(double(term) * kTerms); })));
  EXPECT_TRUE(right(recorded_));
}

TEST_F(NearerReferenceTest, RefusesValuesHalfwayBetweenTheRecordedAnswerAndTheExactOne) {
  EXPECT_FALSE(right(rows([](float term) { return (to_nearest(term) + in_parts(term)) / 2; })));
}

TEST_F(NearerReferenceTest, RefusesASumWithTheSameErrorOfOppositeSign) {
  EXPECT_FALSE(right(rows([](float term) { return 2 * in_parts(term) - to_nearest(term); })));
}

TEST_F(NearerReferenceTest, RefusesDroppedTermsAndAWrongConstant) {
  EXPECT_FALSE(right(rows([](float term) { return in_parts(term) - 8 * term; })));
  EXPECT_FALSE(right(rows([](float term) { return in_parts(term) * 1.0005f; })));
  EXPECT_FALSE(right(rows([](float) { return 0.0f; })));
}

TEST(NearerReference, DoesNotApplyWhereTheRecordedAnswerIsNearTheMean) {
  std::vector<float> recorded = {1, 2, 3};
  NearerReference nearer(kFloat);
  for (float noise : {1e-4f, -1e-4f, 2e-5f}) nearer.add(bytes(recorded), bytes({1 + noise, 2 - noise, 3 + noise}));
  EXPECT_FALSE(nearer.settle(bytes(recorded)));
}

TEST(NearerReference, DoesNotApplyWithTwoRunsOrWhereRunsAgreeOnAnotherAnswer) {
  std::vector<float> recorded = {1, 2, 3}, other = {1.5, 2, 3};
  NearerReference two(kFloat), agreed(kFloat);
  for (int run = 0; run < 3; ++run) {
    if (run < 2) two.add(bytes(recorded), bytes({1.001f + 1e-6f * float(run), 2, 3}));
    agreed.add(bytes(recorded), bytes(other));
  }
  EXPECT_FALSE(two.settle(bytes(recorded)));
  EXPECT_FALSE(agreed.settle(bytes(recorded))) << "equal runs were not rounded at random: another computation";
}

TEST(NearerReference, IsCappedLikeARoundingEnvelope) {
  std::vector<float> recorded = {1, 1};
  NearerReference nearer(kFloat), chaos(kFloat);
  for (float step : {0.0f, 1e-4f, 0.5e-4f}) nearer.add(bytes(recorded), bytes({2 + step, 2 + step}));
  ASSERT_TRUE(nearer.settle(bytes(recorded)));
  EXPECT_TRUE(nearer.admits(0, 1, 2.00005 + 9e-5));
  EXPECT_FALSE(nearer.admits(0, 1, 2.00005 + 11e-5));
  // The runs are far from the answer, but their spread is too large for a radius under the cap.
  for (float value : {2.0f, 2.1f, 2.05f}) chaos.add(bytes(recorded), bytes({value, value}));
  EXPECT_FALSE(chaos.settle(bytes(recorded)));
}

TEST(NearerReference, DoesNotApplyToIntegersAndInfinities) {
  NearerReference integers({ElementType::Kind::Signed, 4}), infinite(kFloat);
  std::vector<float> recorded = {1, INFINITY};
  for (float step : {1.0f, 1.001f, 1.0005f}) {
    integers.add(bytes(recorded), bytes({1 + step, 2}));
    infinite.add(bytes(recorded), bytes({1, step}));
  }
  EXPECT_FALSE(integers.settle(bytes(recorded)));
  EXPECT_FALSE(infinite.settle(bytes(recorded)));
}

TEST(NearerReference, AppliesPerFieldOfAStructAndIsNamedInTheText) {
  ErrorBounds bounds(ElementLayout::parse("{float@0,int@4}8"));
  struct Cell {
    float sum;
    int id;
  };
  auto cells = [](float sum) { return std::vector<Cell>{{sum, 7}, {2 * sum, 8}}; };
  auto raw = [](const std::vector<Cell>& all) { return std::as_bytes(std::span(all)); };
  std::vector<Cell> recorded = cells(1);
  LaneReferences references(bounds.layout);
  for (float sum : {1.001f, 1.001002f, 1.000999f}) references.add(raw(recorded), raw(cells(sum)));
  EXPECT_FALSE(bounds.compare(raw(recorded), raw(cells(1.001f))).ok());
  references.grant(raw(recorded), bounds);
  EXPECT_TRUE(bounds.compare(raw(recorded), raw(cells(1.001f))).ok());
  std::vector<Cell> other = cells(1.001f);
  other[1].id = 9;
  EXPECT_FALSE(bounds.compare(raw(recorded), raw(other)).ok());
  EXPECT_NE(bounds.text().find("nearer to the exact sums"), std::string::npos);
}

TEST(NearerReference, SumsInAnotherOrderMayDifferAsThoseDoThatAreRoundedAtRandom) {
  // Sums of 2048 terms of one sign: no order is better than the others, and none repeats the recorded one's rounding.
  constexpr int kRows = 512, kTermsOfEach = 2048;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> term(0.5f, 1.5f);
  std::vector<float> recorded, reordered, short_of_a_term, terms(kTermsOfEach);
  std::vector<std::vector<float>> runs(4);
  for (int row = 0; row < kRows; ++row) {
    for (float& one : terms) one = term(random);
    float sum = 0, parts[2] = {};
    for (float one : terms) sum += one;
    for (int i = 0; i < kTermsOfEach; ++i) parts[i % 2] += terms[i];
    recorded.push_back(sum), reordered.push_back(parts[0] + parts[1]), short_of_a_term.push_back(sum - terms[5]);
    for (auto& run : runs) {
      float rounded = 0;
      for (float one : terms) {
        const double exact = double(rounded) + double(one);
        float below = static_cast<float>(exact);
        if (below > exact) below = std::nextafter(below, -INFINITY);
        const float above = std::nextafter(below, INFINITY);
        const double up = (exact - below) / (double(above) - below);
        rounded = std::uniform_real_distribution<>(0, 1)(random) < up ? above : below;
      }
      run.push_back(rounded);
    }
  }
  ErrorBounds bounds(ElementLayout::parse("float"));
  EXPECT_FALSE(bounds.compare(bytes(recorded), bytes(reordered)).ok()) << "beyond 16 ULP";
  LaneReferences references(bounds.layout);
  for (auto& run : runs) references.add(bytes(recorded), bytes(run));
  references.grant(bytes(recorded), bounds);
  EXPECT_TRUE(bounds.compare(bytes(recorded), bytes(reordered)).ok()) << bounds.text();
  EXPECT_FALSE(bounds.compare(bytes(recorded), bytes(short_of_a_term)).ok());
  EXPECT_LT(bounds.tolerances[0].envelope, 1e-5);
}

}  // namespace
}  // namespace kernelift::sandbox
