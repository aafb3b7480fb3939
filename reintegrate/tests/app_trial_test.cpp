// Decides whether a whole application became faster.
#include "reintegrate/app_trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kernelift::reintegrate {
namespace {

AppTiming decide(TrialOptions options, std::vector<double> before, std::vector<double> after) {
  size_t a = 0, b = 0;
  bool patched = false;
  auto install = [&](bool which) {
    patched = which;
    return done();
  };
  auto run = [&]() -> Result<AppRun> {
    return AppRun(patched ? after[b++ % after.size()] : before[a++ % before.size()]);
  };
  return *time_in_alternation(options, install, run, [](const AppTiming&, int) {});
}

/// A machine's noise: the logarithm of a run's duration relative to the usual one.
using Noise = std::function<double(std::mt19937_64&)>;

/// Fraction of simulated trials that accept a patch which makes the application `gain` times as fast.
double share_accepted(const TrialOptions& options, double gain, const std::function<Noise()>& new_machine, int trials) {
  int accepted = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::mt19937_64 random(trial);
    Noise noise = new_machine();
    bool patched = false;
    auto install = [&](bool which) {
      patched = which;
      return done();
    };
    auto run = [&]() -> Result<AppRun> { return AppRun(std::exp(noise(random)) / (patched ? gain : 1)); };
    accepted += time_in_alternation(options, install, run, [](const AppTiming&, int) {})->low > options.smallest_gain;
  }
  return static_cast<double>(accepted) / trials;
}

Noise steady(double spread) {
  return [spread](std::mt19937_64& random) { return std::normal_distribution<>(0, spread)(random); };
}
/// One run in five competes with another program and takes up to half as long again.
Noise busy() {
  return [](std::mt19937_64& random) {
    std::uniform_real_distribution<> uniform;
    return std::normal_distribution<>(0, 0.01)(random) + (uniform(random) < 0.2 ? 0.4 * uniform(random) : 0);
  };
}
/// A machine that becomes slower in irregular steps.
Noise drifting() {
  return [level = 0.0](std::mt19937_64& random) mutable {
    level += std::exponential_distribution<>(300)(random);
    return level + std::normal_distribution<>(0, 0.01)(random);
  };
}

constexpr int kTrials = 1000;
constexpr double kPromised = 0.025;     // Largest fraction of patches without a gain that may be accepted.
constexpr double kChance = 3 * 0.0049;  // Three standard deviations of that fraction over kTrials trials.

TEST(AppTrial, AcceptsAPatchWithoutAGainInOneOfFortyTrialsAtMost) {
  TrialOptions options;
  options.time_limit = 120;  // Enough for 60 pairs: looks at 6, 10, 20, 40 and 60.
  double none = options.smallest_gain;
  EXPECT_LT(share_accepted(options, none, [] { return steady(0.02); }, kTrials), kPromised + kChance);
  EXPECT_LT(share_accepted(options, none, busy, kTrials), kPromised + kChance);
  EXPECT_LT(share_accepted(options, none, drifting, kTrials), kPromised + kChance);
  options.time_limit = 0;  // The fewest pairs: six.
  EXPECT_LT(share_accepted(options, none, busy, kTrials), kPromised + kChance);
}

TEST(AppTrial, AcceptsASmallGainOnlyWithTimeForManyPairs) {
  TrialOptions options;
  options.time_limit = 120;
  EXPECT_GT(share_accepted(options, 1.02, [] { return steady(0.015); }, 100), 0.9);
  EXPECT_GT(share_accepted(options, 1.04, busy, 100), 0.9);
  options.time_limit = 24;  // Enough for twelve pairs.
  EXPECT_LT(share_accepted(options, 1.02, [] { return steady(0.015); }, 100), 0.5);
}

TEST(AppTrial, TimesAsManyPairsAsTheTimeAllows) {
  TrialOptions options;
  options.time_limit = 99;
  EXPECT_EQ(decide(options, {1.00, 1.02, 0.98}, {1.01, 0.97, 0.99, 0.97}).after.size(), 50u);
  EXPECT_EQ(decide({}, {0.100, 0.130, 0.075}, {0.125, 0.074, 0.099, 0.082}).after.size(), 200u);
  EXPECT_EQ(decide(options, {20.0, 20.4}, {19.0, 19.1}).after.size(), 6u);
}

TEST(AppTrial, StopsAtTheFirstLookForAClearGain) {
  AppTiming timing = decide({}, {1.00, 1.02, 0.83}, {0.80, 0.84, 0.78});
  EXPECT_EQ(timing.after.size(), 10u);
  EXPECT_GT(timing.low, 1);
}

TEST(AppTrial, StopsAfterSixPairsIfEachRunWithThePatchIsFasterThanEachWithout) {
  AppTiming timing = decide({}, {1.00, 1.02, 0.99}, {0.80, 0.81, 0.79});
  EXPECT_EQ(timing.after.size(), 6u);
  EXPECT_GT(timing.low, 1.2);
  TrialOptions higher;
  higher.metric = *Metric::parse("FOM = ([0-9.]+)", "higher");
  EXPECT_EQ(decide(higher, {1.00, 1.02, 0.99}, {1.30, 1.31, 1.29}).after.size(), 6u);
}

TEST(AppTrial, StatesThatTheSpeedupIsByPairsAndTheTimesAreMedians) {
  // The typical pair's speedup need not be the quotient of the medians.
  AppTiming timing{{1, 1, 1, 1, 1, 1}, {0.8, 0.8, 0.8, 0.8, 0.8, 0.8}, 1.741, 1.408, 1.239, 1.225, 1.253};
  EXPECT_EQ(timing.text(), "1.239x [1.225, 1.253] pair by pair; 1.741 s -> 1.408 s, medians of 6 pairs");
}

TEST(AppTrial, DoesNotTakeNoiseForAGain) {
  AppTiming timing = decide({}, {1.0, 1.2, 0.9, 1.1, 0.95}, {1.1, 0.9, 1.2, 1.0, 0.95, 1.05});
  EXPECT_LE(timing.low, 1.01);
}

TEST(AppTrial, StopsEarlyWhenThePatchIsSlower) {
  AppTiming timing = decide({}, {1.0, 1.01}, {1.3, 1.31});
  EXPECT_EQ(timing.after.size(), 6u);
  EXPECT_LT(timing.high, 1);
}

TEST(AppTrial, NeedsSixPairsToAcceptAGainAndThreeToRefuseItWhateverTheTimeLimit) {
  TrialOptions options;
  options.time_limit = 0;
  EXPECT_EQ(decide(options, {1.0}, {0.5}).after.size(), 6u);
  EXPECT_EQ(decide(options, {1.0}, {1.1}).after.size(), 3u);
}

TEST(AppTrial, EndsOnceNoPairsToComeCouldMakeTheGainCertain) {
  TrialOptions options;
  options.time_limit = 0;  // Six pairs, and all of them would have to show a gain: the second does not.
  EXPECT_EQ(decide(options, {1.02, 1.0, 1.02, 1.0, 1.0, 1.0}, {1.0}).after.size(), 3u);
  options.time_limit = 120;  // One pair of sixty decides nothing.
  EXPECT_GT(decide(options, {1.02, 1.02, 1.0, 1.02, 1.02, 1.02, 1.02}, {1.0}).after.size(), 6u);
}

TEST(AppTrial, FindsNoGainOnAMachineThatSlowsDown) {
  double now = 1;
  auto timed = time_in_alternation(
      {}, [](bool) { return done(); }, [&]() -> Result<AppRun> { return AppRun(now *= 1.02); },
      [](const AppTiming&, int) {});
  ASSERT_TRUE(timed.ok());
  EXPECT_LE(timed->low, 1);
  EXPECT_GE(timed->high, 1);
  EXPECT_NEAR(timed->speedup, 1, 0.015);
}

TEST(AppTrial, ReportsTheExtremesAsIntervalOfTooFewPairs) {
  AppTiming timing{{1.0, 1.0, 1.0}, {0.5, 0.8, 1.25}};
  summarise(timing);
  EXPECT_DOUBLE_EQ(timing.low, 0.8);
  EXPECT_DOUBLE_EQ(timing.high, 2.0);
}

TEST(AppTrial, BoundsTheIntervalByTheSignedRankDistribution) {
  // From tables: with ten pairs the 9th smallest of 55 averages has an error probability of 2.4 %, the 10th of 3.2 %.
  AppTiming timing;
  for (double step : {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12})
    timing.before.push_back(std::exp(step)), timing.after.push_back(1);
  summarise(timing, 0.0245);
  EXPECT_NEAR(std::log(timing.low), 0.06, 1e-9);
  summarise(timing, 0.001);
  EXPECT_NEAR(std::log(timing.low), 0.01, 1e-9);
  EXPECT_NEAR(std::log(timing.high), 5.12, 1e-9);
}

TEST(AppTrial, ForecastsANarrowerIntervalForSteadierRunsAndMorePairs) {
  std::vector<AppRun> steady = {1.000, 1.001, 0.999}, unsteady = {1.0, 1.1, 0.9};
  TrialOptions few;
  few.time_limit = 10;
  EXPECT_EQ(forecast({}, steady).pairs, 200);
  EXPECT_EQ(forecast(few, steady).pairs, 6);
  EXPECT_LT(forecast({}, steady).noise, 0.002);
  EXPECT_GT(forecast(few, unsteady).noise, 0.05);
  EXPECT_GT(forecast(few, unsteady).noise, 1.3 * forecast({}, unsteady).noise);
}

TEST(AppTrial, ForecastsTheWidthOfTheIntervalWithinAFactorOfTwo) {
  TrialOptions options;
  options.time_limit = 48;
  std::mt19937_64 random(1);
  AppTiming timing;
  std::vector<AppRun> runs;
  Noise noise = steady(0.02);
  for (int i = 0; i < 9; ++i) runs.push_back(std::exp(noise(random)));
  for (int i = 0; i < 24; ++i)
    timing.before.push_back(std::exp(noise(random))), timing.after.push_back(std::exp(noise(random)));
  summarise(timing);
  double expected = 2 * forecast(options, runs).noise, measured = timing.high - timing.low;
  EXPECT_GT(measured, expected / 2);
  EXPECT_LT(measured, expected * 2);
}

TEST(AppTrial, ReturnsTheErrorOfAFailedRun) {
  auto timed = time_in_alternation(
      {}, [](bool) { return done(); }, []() -> Result<AppRun> { return answer_is_no("it crashed"); },
      [](const AppTiming&, int) {});
  ASSERT_FALSE(timed.ok());
  EXPECT_EQ(timed.error().message, "it crashed");
}

}  // namespace
}  // namespace kernelift::reintegrate
