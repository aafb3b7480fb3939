// When a race stops, on synthetic samples.
#include "sandbox/judge/timing/race.h"

#include <gtest/gtest.h>

#include <random>

namespace kernelift::sandbox {
namespace {

/// Runs a race against a candidate that takes `ratio` of the baseline's time, with the given noise.
Race run(double ratio, double sigma, unsigned seed = 1, RaceRules rules = {}) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, sigma);
  Race race(rules);
  for (int rounds; (rounds = race.next_rounds()) > 0;) {
    std::vector<double> a, b;
    for (int i = 0; i < rounds; ++i) a.push_back(1e-4 * noise(random)), b.push_back(1e-4 * ratio * noise(random));
    race.add(a, b);
  }
  return race;
}

TEST(Race, GivesUpOnAHopelessCandidateAfterTheEarlyRounds) {
  Race race = run(1.5, 0.02);
  EXPECT_EQ(race.stopped(), Race::Stop::CannotWin);
  EXPECT_EQ(race.baseline().size(), 2u);
}

TEST(Race, KeepsMeasuringASlowerCandidateWhenTheOriginalIsUnsteadyToo) {
  Race steady{RaceRules{}}, unsteady{RaceRules{}};
  steady.add({1, 1}, {1.3, 1.3});
  EXPECT_EQ(steady.stopped(), Race::Stop::CannotWin);
  unsteady.add({1, 1.4}, {1.3, 1.8});
  EXPECT_EQ(unsteady.stopped(), Race::Stop::None);
}

TEST(Race, SettlesAClearWinnerHoweverWideItsInterval) {
  RaceRules rules;
  rules.early_rounds = 1, rules.first_rounds = 2, rules.clear = 1.2, rules.most_seconds = 100;
  Race clear{rules}, unclear{rules};
  clear.add({1, 1.3}, {0.2, 0.3});
  EXPECT_EQ(clear.stopped(), Race::Stop::Settled);
  unclear.add({1, 1.3}, {0.9, 0.9});
  EXPECT_EQ(unclear.stopped(), Race::Stop::None);
}

TEST(Race, IsNotDecidedByANarrowIntervalOfFewPairs) {
  RaceRules rules;
  rules.early_rounds = rules.first_rounds = 1, rules.most_rounds = 3, rules.clear = 1.05, rules.most_seconds = 100;
  for (double seconds : {0.97, 1.0, 1.02}) {
    Race race{rules};
    race.add({1}, {seconds});
    EXPECT_EQ(race.stopped(), Race::Stop::None) << seconds;
  }
  Race slower{rules};
  slower.add({1}, {1.1});
  EXPECT_EQ(slower.stopped(), Race::Stop::CannotWin);
}

TEST(Race, OfOnePairTellsALargeGainFromALargerOne) {
  RaceRules rules;
  rules.early_rounds = rules.first_rounds = 1, rules.most_rounds = 3, rules.clear = 1.05, rules.most_seconds = 100;
  Race fifteen{rules}, hundreds{rules}, small{rules};
  fifteen.add({1.1}, {0.07}), hundreds.add({1.1}, {0.0019}), small.add({1.1}, {0.9});
  EXPECT_EQ(hundreds.stopped(), Race::Stop::Settled);
  EXPECT_GT(fifteen.speedup().low, 7);
  EXPECT_LT(fifteen.speedup().low, 8);
  EXPECT_GT(hundreds.speedup().low, fifteen.speedup().high) << "the better one leads the search";
  EXPECT_DOUBLE_EQ(small.speedup().low, 1.05 * 1.01);
}

TEST(Race, OfFewPairsSeldomReportsAGainForEqualCandidates) {
  RaceRules rules;
  rules.early_rounds = rules.first_rounds = 1, rules.most_rounds = 3, rules.clear = 1.05, rules.most_seconds = 100;
  RaceRules confirming = rules;
  confirming.first_rounds = 2, confirming.most_rounds = 6, confirming.clear = 1.2;
  int screened = 0, confirmed = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    screened += run(1.0, 0.005, seed, rules).speedup().low > rules.smallest_gain;
    confirmed += run(1.0, 0.01, seed, confirming).speedup().low > rules.smallest_gain;
  }
  EXPECT_LE(screened, 12);
  EXPECT_LE(confirmed, 4);
}

TEST(Race, GivesUpOnASlowerCandidateAfterTheFirstRounds) {
  Race race = run(1.05, 0.005);
  EXPECT_EQ(race.stopped(), Race::Stop::CannotWin);
  EXPECT_EQ(race.baseline().size(), 6u);
}

TEST(Race, NeverAcceptsAGainAfterTheEarlyRoundsAlone) {
  RaceRules rules;
  rules.most_seconds = 1e-9;
  EXPECT_GE(run(0.5, 0.01, 1, rules).baseline().size(), 6u);
}

TEST(Race, SettlesAClearWinnerEarly) {
  Race race = run(0.5, 0.005);
  EXPECT_EQ(race.stopped(), Race::Stop::Settled);
  EXPECT_LE(race.baseline().size(), 20u);
}

TEST(Race, SpendsMoreOnACloseCallThanOnALoser) {
  EXPECT_GT(run(0.97, 0.05).baseline().size(), run(1.5, 0.05).baseline().size());
}

TEST(Race, StopsAtItsBudget) {
  RaceRules rules;
  rules.most_seconds = 0.005;
  EXPECT_EQ(run(0.98, 0.2, 3, rules).stopped(), Race::Stop::Budget);
}

TEST(Race, OverrunsItsBudgetByNoMoreThanAPair) {
  RaceRules rules;
  rules.most_seconds = 0.01;  // Pairs take about 0.2 ms: 50 of them, where strides alone would lead to 60 or more.
  rules.most_rounds = 1000;
  size_t pairs = run(0.98, 0.2, 3, rules).baseline().size();
  EXPECT_GE(pairs, 30u);
  EXPECT_LE(pairs, 60u);
}

TEST(Race, SoonGivesUpCandidatesThatCannotComeNearTheBestSoFar) {
  RaceRules rules;
  rules.smallest_gain = 2;  // Close to the best speedup so far.
  Race slow = run(1 / 1.5, 0.02, 1, rules), near = run(1 / 2.1, 0.02, 1, rules);
  EXPECT_EQ(slow.stopped(), Race::Stop::CannotWin);
  EXPECT_EQ(slow.baseline().size(), 2u) << "faster than the original, but not by enough";
  EXPECT_EQ(near.stopped(), Race::Stop::Settled);
}

TEST(Race, EndsWhenNoSamplesCome) {
  Race race{RaceRules{}};
  race.add({}, {});
  EXPECT_EQ(race.next_rounds(), 0);
}

TEST(Race, SeldomReportsAGainForEqualCandidates) {
  int gains = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Race race = run(1.0, 0.03, seed);
    gains += race.speedup().low > RaceRules{}.smallest_gain;
  }
  EXPECT_LE(gains, 10);
}

TEST(PhysicsFloor, IsSharedByCoresAndNeverAboveTheMeasuredWrite) {
  EXPECT_LT(physics_floor(1e-3, 1), 1e-3);
  EXPECT_DOUBLE_EQ(physics_floor(1e-3, 4), physics_floor(1e-3, 1) / 4);
  EXPECT_EQ(physics_floor(1e-3, 0), 0);
}

}  // namespace
}  // namespace kernelift::sandbox
