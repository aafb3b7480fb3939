// Medians and intervals of samples whose true values are known.
#include "sandbox/judge/timing/statistics.h"

#include <gtest/gtest.h>

#include <random>

namespace kernelift::sandbox {
namespace {

TEST(Statistics, TakesTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(std::vector<double>{}), 0);
}

TEST(Statistics, SpreadIsRobustAgainstOneOutlier) {
  EXPECT_NEAR(relative_spread(std::vector<double>{10, 11, 9, 10, 1000}), 0.1, 1e-12);
}

TEST(Statistics, GivesTheRatioOfMediansInsideItsInterval) {
  std::vector<double> a{2.0, 2.1, 1.9, 2.05, 2.0, 1.95}, b{1.0, 1.02, 0.98, 1.0, 1.01, 0.99};
  Ratio ratio = paired_ratio(a, b);
  EXPECT_NEAR(ratio.value, 2, 0.05);
  EXPECT_LE(ratio.low, ratio.value);
  EXPECT_GE(ratio.high, ratio.value);
}

TEST(Statistics, GivesTheSameIntervalTwice) {
  std::vector<double> a{2, 3, 2, 4, 2}, b{1, 1, 2, 1, 1};
  EXPECT_EQ(paired_ratio(a, b).low, paired_ratio(a, b).low);
}

TEST(Statistics, IntervalCoversTheTrueRatioAboutAsOftenAsItStates) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.05);
  int covered = 0;
  constexpr int kTrials = 300, kPairs = 30;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < kPairs; ++i) a.push_back(1.1 * noise(random)), b.push_back(noise(random));
    Ratio ratio = paired_ratio(a, b, trial);
    covered += ratio.low <= 1.1 && 1.1 <= ratio.high;
  }
  EXPECT_GE(covered, kTrials * 90 / 100);
  EXPECT_LT(covered, kTrials);
}

TEST(Statistics, LowerEndOfTwoPairsSeldomLiesAboveTheTruth) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.03);
  int above = 0, resampled = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (int pair = 0; pair < 2; ++pair)
      a.push_back(1.5 * std::exp(noise(random))), b.push_back(std::exp(noise(random)));
    above += low_of_few(a, b) > 1.5, resampled += paired_ratio(a, b).low > 1.5;
  }
  EXPECT_LT(above, kTrials * 4 / 100);
  EXPECT_GT(resampled, kTrials / 10) << "which is why";
  EXPECT_EQ(low_of_few(std::vector<double>{1}, std::vector<double>{1}), 0.5);
  EXPECT_EQ(low_of_few({}, {}), 0);
  EXPECT_DOUBLE_EQ(low_of_few(std::vector<double>{8, 12}, std::vector<double>{1, 1}), 4)
      << "two pairs tell no less than one";
}

TEST(Statistics, IsNotWidenedByNoiseThatHitsBothOfAPair) {
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) {
    double slow = i % 2 ? 3.0 : 1.0;
    a.push_back(1.2 * slow), b.push_back(slow);
  }
  EXPECT_NEAR(paired_ratio(a, b).relative_width(), 0, 1e-9);
}

}  // namespace
}  // namespace kernelift::sandbox
