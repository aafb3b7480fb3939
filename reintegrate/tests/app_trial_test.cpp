// The decision whether a whole application became faster.
#include "reintegrate/app_trial.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

AppTiming decide(TrialOptions options, std::vector<double> before, std::vector<double> after) {
  size_t a = 0, b = 0;
  bool patched = false;
  auto place = [&](bool which) { patched = which; return done(); };
  auto run = [&]() -> Result<double> { return patched ? after[b++ % after.size()] : before[a++ % before.size()]; };
  return *time_in_alternation(options, place, run, [](const AppTiming&) {});
}

TEST(AppTrial, SeesAClearGainAtTheFirstLook) {
  AppTiming timing = decide({}, {1.00, 1.02, 0.99}, {0.80, 0.81, 0.79});
  EXPECT_EQ(timing.after.size(), 6u);
  EXPECT_GT(timing.low, 1.2);
}

TEST(AppTrial, NeverCallsNoiseAGain) {
  AppTiming timing = decide({}, {1.0, 1.2, 0.9, 1.1, 0.95}, {1.1, 0.9, 1.2, 1.0, 0.95, 1.05});
  EXPECT_LE(timing.low, 1.01);
}

TEST(AppTrial, StopsEarlyWhenItIsSlower) {
  AppTiming timing = decide({}, {1.0, 1.01}, {1.3, 1.31});
  EXPECT_EQ(timing.after.size(), 6u);
  EXPECT_LT(timing.high, 1);
}

TEST(AppTrial, TakesSixPairsToBelieveAGainWhateverTheyCostAndThreeToRefuseIt) {
  TrialOptions options;
  options.time_limit = 0;
  EXPECT_EQ(decide(options, {1.0}, {0.5}).after.size(), 6u);
  EXPECT_EQ(decide(options, {1.0}, {1.1}).after.size(), 3u);
}

TEST(AppTrial, IsNotMisledByAMachineThatSlowsDown) {
  double now = 1;
  auto timed = time_in_alternation({}, [](bool) { return done(); }, [&]() -> Result<double> { return now *= 1.02; }, [](const AppTiming&) {});
  ASSERT_TRUE(timed.ok());
  EXPECT_LT(timed->low, 1);
  EXPECT_GT(timed->high, 1);
  EXPECT_NEAR(timed->speedup, 1, 0.015);
}

TEST(AppTrial, UsesTheExtremesOfFewPairs) {
  AppTiming timing{{1.0, 1.0, 1.0}, {0.5, 0.8, 1.25}};
  summarise(timing);
  EXPECT_DOUBLE_EQ(timing.low, 0.8);
  EXPECT_DOUBLE_EQ(timing.high, 2.0);
}

TEST(AppTrial, GivesTheSameIntervalForTheSameSamples) {
  AppTiming a{{1.0, 1.1, 1.2, 1.0, 1.1, 1.3}, {0.9, 0.8, 1.0, 0.9, 0.8, 0.9}}, b = a;
  summarise(a), summarise(b);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
}

TEST(AppTrial, ExpectsANarrowerIntervalOfSteadierRunsAndOfMorePairs) {
  std::vector<double> steady = {1.000, 1.001, 0.999}, unsteady = {1.0, 1.1, 0.9};
  TrialOptions few;
  few.time_limit = 10;
  EXPECT_EQ(outlook({}, steady).pairs, 12);
  EXPECT_EQ(outlook(few, steady).pairs, 6);
  EXPECT_LT(outlook({}, steady).noise, 0.002);
  EXPECT_GT(outlook({}, unsteady).noise, 0.05);
  EXPECT_GT(outlook(few, unsteady).noise, 1.3 * outlook({}, unsteady).noise);
}

TEST(AppTrial, ExpectsTheIntervalThatPairsOfSuchRunsGive) {
  AppTiming timing;
  for (int i = 0; i < 12; ++i) timing.before.push_back(1 + 0.02 * (i % 5 - 2)), timing.after.push_back(1 + 0.02 * ((i * 2) % 5 - 2));
  summarise(timing);
  double expected = 2 * outlook({}, timing.before).noise, measured = timing.high - timing.low;
  EXPECT_GT(measured, expected / 2);
  EXPECT_LT(measured, expected * 2);
}

TEST(AppTrial, PassesOnAFailedRun) {
  auto timed = time_in_alternation({}, [](bool) { return done(); }, []() -> Result<double> { return answer_is_no("it crashed"); }, [](const AppTiming&) {});
  ASSERT_FALSE(timed.ok());
  EXPECT_EQ(timed.error().message, "it crashed");
}

}  // namespace
}  // namespace kernelift
