// Tests of the searchers on synthetic landscapes: they beat random search, learn from failures and repeat no point.
#include "tuner/search/searcher.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tuner/search/auc_bandit.h"

namespace kernelift::tuner {
namespace {

Space landscape_space() {
  std::vector<int64_t> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  return *Space::create({{"a", ten}, {"b", ten}, {"c", ten}, {"d", {0, 1, 2}, 0, false}},
                        {*Expression::parse("a + b <= 14")});
}

/// A bowl with its bottom at (7, 2, 5, category 1); the corner a > 8 && c > 6 fails, like too many registers.
Observation bowl(const Point& point) {
  double a = point[0] - 7.0, b = point[1] - 2.0, c = point[2] - 5.0;
  Observation seen{point, !(point[0] > 8 && point[2] > 6),
                   1 + a * a / 10 + b * b / 20 + c * c / 15 + (point[3] == 1 ? 0 : 2)};
  return seen;
}

/// The points that a searcher asks for, in order.
std::vector<Point> asked_by(const std::string& strategy, uint64_t seed, int evaluations) {
  Space space = landscape_space();
  auto searcher = *make_searcher(strategy, space, seed);
  std::vector<Point> points;
  for (int i = 0; i < evaluations; ++i) {
    points.push_back(searcher->ask(1).at(0));
    searcher->tell(bowl(points.back()));
  }
  return points;
}

double best_after(const std::string& strategy, uint64_t seed, int evaluations) {
  double best = INFINITY;
  for (auto& point : asked_by(strategy, seed, evaluations))
    if (auto seen = bowl(point); seen.ok) best = std::min(best, seen.cost);
  return best;
}

double mean_best(const std::string& strategy) {
  double sum = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) sum += best_after(strategy, seed, 50);
  return sum / 8;
}

class Strategies : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Strategies, testing::ValuesIn(searcher_names()));

TEST_P(Strategies, NeverAskForAPointTwice) {
  Space space = landscape_space();
  auto searcher = *make_searcher(GetParam(), space, 5);
  std::set<Point> seen;
  for (int i = 0; i < 30; ++i)
    for (auto& point : searcher->ask(3)) {
      EXPECT_TRUE(seen.insert(point).second);
      EXPECT_TRUE(space.valid(point));
      searcher->tell(bowl(point));
    }
  EXPECT_EQ(seen.size(), 90u);
}

TEST_P(Strategies, CoverASmallSpaceExactly) {
  Space space = *Space::create({{"a", {0, 1, 2}}, {"b", {0, 1}}}, {});
  auto searcher = *make_searcher(GetParam(), space, 1);
  size_t asked = 0;
  for (auto points = searcher->ask(4); !points.empty(); points = searcher->ask(4))
    for (auto& point : points) ++asked, searcher->tell({point, true, 1.0 + point[0]});
  EXPECT_EQ(asked, 6u);
}

TEST_P(Strategies, SearchOnInASpaceWhereEverythingFails) {
  Space space = landscape_space();
  auto searcher = *make_searcher(GetParam(), space, 2);
  std::set<Point> seen;
  for (int i = 0; i < 60; ++i) {
    Point point = searcher->ask(1).at(0);
    EXPECT_TRUE(space.valid(point) && seen.insert(point).second);
    searcher->tell({point, false, 0});
  }
  EXPECT_EQ(searcher->best(), nullptr);
}

TEST_P(Strategies, AreDeterministicForASeed) {
  EXPECT_EQ(asked_by(GetParam(), 9, 40), asked_by(GetParam(), 9, 40));
  EXPECT_NE(asked_by(GetParam(), 9, 40), asked_by(GetParam(), 10, 40));
}

TEST(Searchers, BeatRandomSearchOnASmoothLandscape) {
  double random = mean_best("random");
  for (auto& strategy : {"local", "genetic", "bayesian", "portfolio"})
    EXPECT_LT(mean_best(strategy), random) << strategy;
}

TEST(Searchers, BayesianFindsTheBottomOfTheBowl) { EXPECT_LT(mean_best("bayesian"), 1.1); }

TEST(Searchers, BayesianLearnsWhatFails) {
  std::vector<int64_t> twenty;
  for (int i = 0; i < 20; ++i) twenty.push_back(i);
  Space space = *Space::create({{"a", twenty}, {"b", twenty}}, {});
  // Over several seeds, because rounding decides ties in a single run.
  constexpr int kSeeds = 8, kEarly = 12, kAsks = 60;
  int failed_early = 0, failed_late = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    auto searcher = *make_searcher("bayesian", space, seed);
    for (int i = 0; i < kAsks; ++i) {
      Point point = searcher->ask(1).at(0);
      bool ok = point[0] < 10;  // Half of the space fails; the cost does not show which.
      (i < kEarly ? failed_early : failed_late) += !ok;
      searcher->tell({point, ok, 10 + 0.1 * (point[1] - 10) * (point[1] - 10)});
    }
  }
  EXPECT_LT(failed_late / double(kSeeds * (kAsks - kEarly)), 0.4);
  EXPECT_GT(failed_early, kSeeds);
}

TEST(Searchers, UnknownNameListsTheKnownOnes) {
  Space space = landscape_space();
  auto searcher = make_searcher("psychic", space, 1);
  ASSERT_FALSE(searcher.ok());
  EXPECT_NE(searcher.error().message.find("bayesian"), std::string::npos);
}

TEST(AucBandit, PrefersTheArmThatImproves) {
  AucBandit bandit(2);
  for (int i = 0; i < 20; ++i) bandit.credit(0, false), bandit.credit(1, i % 2 == 0);
  EXPECT_EQ(bandit.ranking()[0], 1u);
}

TEST(AucBandit, ReturnsToANeglectedArm) {
  AucBandit bandit(2);
  bandit.credit(0, true), bandit.credit(1, false);
  for (int i = 0; i < 90; ++i) bandit.credit(0, false);
  EXPECT_EQ(bandit.ranking()[0], 1u);
}

}  // namespace
}  // namespace kernelift::tuner
