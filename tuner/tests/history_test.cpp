// Tests of the history's rankings: sources, winners and hopefuls.
#include "tuner/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

TEST(History, DoesNotConfirmEqualCodeTwice) {
  History history;
  for (int64_t id = 1; id <= 6; ++id) {
    RunTrial trial;
    trial.id = id, trial.candidate.tier = "compiler", trial.candidate.steps = {Step::described(std::to_string(id))};
    trial.candidate.recipe.unroll_threshold = static_cast<int>(id);
    trial.verdict = fake_ok(2.0 - 0.1 * static_cast<double>(id));
    if (id <= 4) trial.verdict.image.identity = ImageIdentity{id <= 3 ? 77u : 78u};
    if (id == 3) trial.candidate.launches = {CandidateLaunch::as_recorded("k")};
    history.add(std::move(trial));
  }
  std::vector<int64_t> chosen;
  for (auto* trial : history.winners(4, false)) chosen.push_back(trial->id);
  EXPECT_THAT(chosen, testing::ElementsAre(1, 3, 4, 5))
      << "another launch counts as other code, and so does code without an identity";
}

TEST(History, CountsEqualCodeOnceAmongTheSources) {
  History history;
  for (int64_t id = 1; id <= 4; ++id) {
    RunTrial trial;
    trial.id = id, trial.candidate.tier = "source", trial.candidate.source = std::string(static_cast<size_t>(id), ' ');
    trial.verdict = fake_ok(2.0 - 0.1 * static_cast<double>(id));
    trial.verdict.image.identity = ImageIdentity{id <= 3 ? 77u : 78u};
    history.add(std::move(trial));
  }
  std::vector<int64_t> chosen;
  for (auto* trial : history.best_sources(3)) chosen.push_back(trial->id);
  EXPECT_THAT(chosen, testing::ElementsAre(1, 4));
}

TEST(History, KeepsAModelsWinnerAmongTheSources) {
  History history;
  auto add = [&](int64_t id, double speedup, bool model) {
    RunTrial trial;
    trial.id = id, trial.candidate.tier = "source", trial.candidate.source = std::string(static_cast<size_t>(id), ' ');
    if (model) trial.candidate.add_step({.origin = Step::Origin::Model, .summary = "idea"});
    trial.verdict = fake_ok(speedup);
    history.add(std::move(trial));
  };
  add(1, 3, false), add(2, 2, false), add(3, 1, true);
  EXPECT_EQ(history.best_of_models(), nullptr) << "it gains nothing";
  EXPECT_EQ(history.best_sources(2)[1]->id, 2);
  add(4, 1.2, true), add(5, 1.5, true);
  EXPECT_EQ(history.best_of_models()->id, 5);
  EXPECT_EQ(history.best_sources(2)[1]->id, 5);
  std::vector<int64_t> chosen;
  for (auto* trial : history.best_sources(9)) chosen.push_back(trial->id);
  EXPECT_THAT(chosen, testing::ElementsAre(1, 2, 5, 4, 3)) << "each once";
}

TEST(History, OrdersHopefulsByWhatNoiseMayHide) {
  History history;
  auto add = [&](int64_t id, double speedup, double low, double high) {
    RunTrial trial;
    trial.id = id, trial.candidate.tier = "source", trial.candidate.source = std::string(static_cast<size_t>(id), ' ');
    trial.verdict = fake_noisy(speedup, low, high);
    history.add(std::move(trial));
  };
  add(1, 1.017, 1.004, 1.03);  // Surely faster, but possibly by less than the smallest gain.
  add(2, 1.17, 0.975, 1.4), add(3, 1.13, 0.986, 1.3), add(4, 1.005, 0.9, 1.1);
  EXPECT_TRUE(history.winners(4, true).empty());
  std::vector<int64_t> chosen;
  for (auto* trial : history.hopefuls(4, true)) chosen.push_back(trial->id);
  EXPECT_THAT(chosen, testing::ElementsAre(2, 3, 1));
  add(5, 1.03, 1.02, 1.04);
  ASSERT_EQ(history.winners(4, true).size(), 1u);
  EXPECT_EQ(history.winners(4, true)[0]->id, 5);
}

}  // namespace
}  // namespace kernelift::tuner
