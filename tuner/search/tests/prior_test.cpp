// Tests of what searchers inherit from earlier runs, on small synthetic spaces: help where it is right, no harm where
// it is wrong, and spaces that differ.
#include "tuner/search/prior.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Tunable> parameters() {
  std::vector<int64_t> sizes{16, 32, 48, 64, 96, 128, 192, 256};
  return {{"bx", sizes}, {"by", {1, 2, 4, 8}}, {"tile", {1, 2, 3, 4, 5, 6}}, {"layout", {0, 1, 2}, 0, false}};
}

/// A bowl whose bottom lies at bx = 128, by = 2, tile = 4, layout 1; `shift` moves it along bx, as another GPU would.
Observation bowl_of_two(const Point& point, double shift = 0) {
  double a = point[0] - 5.0 - shift, b = point[1] - 1.0, c = point[2] - 3.0;
  return {point, !(point[0] > 6 && point[2] > 4), 1 + a * a / 4 + b * b / 2 + c * c / 3 + (point[3] == 1 ? 0 : 2)};
}

template <class Cost>
EarlierRun earlier(const Space& space, Cost cost) {
  EarlierRun run{"earlier", space.parameters()};
  for (uint64_t rank = 0; rank < static_cast<uint64_t>(space.count()); ++rank)
    run.trials.push_back(cost(space.at(rank)));
  return run;
}

std::shared_ptr<const Prior> prior_of(const Space& space, const std::vector<EarlierRun>& runs) {
  std::vector<std::string> notes;
  return std::make_shared<const Prior>(Prior::of(space, runs, notes));
}

/// Mean over seeds of the evaluations that the default strategy needs to come within a tenth of the lowest cost.
double evaluations_needed(const Space& space, const std::shared_ptr<const Prior>& prior) {
  constexpr int kSeeds = 8, kMost = 120;
  double sum = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    auto searcher = *make_searcher("portfolio", space, seed, prior);
    int asked = 0;
    for (bool found = false; !found && asked < kMost; ++asked) {
      Observation seen = bowl_of_two(searcher->ask(1).at(0));
      searcher->tell(seen);
      found = seen.ok && seen.cost < 1.1;
    }
    sum += asked;
  }
  return sum / kSeeds;
}

TEST(Prior, OfASimilarRunSavesMostEvaluations) {
  Space space = *Space::create(parameters(), {});
  auto prior = prior_of(space, {earlier(space, [](const Point& point) { return bowl_of_two(point, -1); })});
  EXPECT_LT(evaluations_needed(space, prior), 0.7 * evaluations_needed(space, nullptr));
}

TEST(Prior, ThatMisleadsCostsFewEvaluations) {
  Space space = *Space::create(parameters(), {});
  EarlierRun inverted = earlier(space, [](const Point& point) {
    Observation seen = bowl_of_two(point);
    seen.cost = 1 / seen.cost;
    return seen;
  });
  EarlierRun shuffled = earlier(space, [](const Point& point) { return bowl_of_two(point); });
  Random random(7);
  for (size_t i = shuffled.trials.size(); i > 1; --i) {
    auto& other = shuffled.trials[random() % i];
    std::swap(shuffled.trials[i - 1].cost, other.cost), std::swap(shuffled.trials[i - 1].ok, other.ok);
  }
  const double alone = evaluations_needed(space, nullptr);
  EXPECT_LT(evaluations_needed(space, prior_of(space, {inverted})), 1.5 * alone + 5);
  EXPECT_LT(evaluations_needed(space, prior_of(space, {shuffled})), 1.5 * alone + 5);
}

TEST(Prior, PromisesTheEarlierOptimumFirst) {
  Space space = *Space::create(parameters(), {});
  EarlierRun run = earlier(space, [](const Point& point) { return bowl_of_two(point); });
  run.trials.push_back(bowl_of_two({5, 1, 3, 1}));
  EXPECT_THAT(prior_of(space, {run})->promising(0)[0], ElementsAre(5, 1, 3, 1));
}

TEST(Prior, MatchesParametersByNameAndValuesByWhatTheyAre) {
  Space theirs = *Space::create(parameters(), {});
  EarlierRun run = earlier(theirs, [](const Point& point) { return bowl_of_two(point); });
  // Another order, other values of bx, no layout, and a parameter that the earlier run lacks.
  Space space =
      *Space::create({{"tile", {2, 4, 6}}, {"vector", {1, 2, 4}}, {"bx", {32, 120, 512}}, {"by", {1, 2}}}, {});
  std::vector<std::string> notes;
  Prior prior = Prior::of(space, {run}, notes);
  ASSERT_EQ(prior.sources(), 1u);
  auto& best = prior.promising(0)[0];
  EXPECT_EQ(best[0], 1) << "tile 4";
  EXPECT_EQ(best[2], 1) << "bx 120, next to 128";
  EXPECT_EQ(best[3], 1) << "by 2";
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("does not know vector"), HasSubstr("other values of tile, bx"),
                                       HasSubstr("also has layout"))));
}

TEST(Prior, IgnoresARunWithNothingInCommonAndSaysSo) {
  Space space = *Space::create(parameters(), {});
  EarlierRun other{"other.json", {{"rows", {1, 2, 4}}}, {{{0}, true, 1.0}, {{1}, true, 2.0}}};
  EarlierRun failed = earlier(space, [](const Point& point) { return Observation{point, false, 0}; });
  std::vector<std::string> notes;
  EXPECT_EQ(Prior::of(space, {other, failed}, notes).sources(), 0u);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("other.json is not inherited"), HasSubstr("none of its trials")));
}

TEST(Prior, OfAnEqualSpaceIsInheritedWithoutRemarks) {
  Space space = *Space::create(parameters(), {});
  std::vector<std::string> notes;
  Prior prior = Prior::of(space, {earlier(space, [](const Point& point) { return bowl_of_two(point); })}, notes);
  EXPECT_EQ(prior.sources(), 1u);
  EXPECT_THAT(notes, IsEmpty());
}

}  // namespace
}  // namespace kernelift::tuner
