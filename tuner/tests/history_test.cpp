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

TEST(History, LetsARefusedLeaderLeadNoMoreNorItsCode) {
  History history;
  auto add = [&](int64_t id, double speedup, const std::string& source, const std::string& image) {
    RunTrial trial;
    trial.id = id, trial.candidate.source = source, trial.candidate.tier = id == 1 ? "baseline" : "source";
    trial.verdict = fake_ok(speedup), trial.verdict.image.identity = ImageIdentity::of(image);
    history.add(trial);
  };
  add(1, 1, "original", "a"), add(2, 5, "wrong elsewhere", "b"), add(3, 2, "right", "c");
  ASSERT_EQ(history.best()->id, 2);
  history.confirm(2, fake_failure(Outcome::Wrong, "at another size"));
  EXPECT_EQ(history.best()->id, 3);
  EXPECT_EQ(history.best_sources(1)[0]->id, 3) << "nothing more is made of it";
  ASSERT_EQ(history.winners(3, true).size(), 1u);
  add(4, 5, "the same code in other words", "b");
  EXPECT_EQ(history.best()->id, 3);
  EXPECT_EQ(history.refused(), std::vector<int64_t>{2});
  add(5, 1.9, "reduced", "c");
  history.confirm(5, fake_failure(Outcome::Unstable, "races"));
  EXPECT_EQ(history.best()->id, 1) << "its code was that of 3, which led";
  EXPECT_THAT(history.refused(), testing::ElementsAre(2, 5, 3));
}

TEST(History, RanksWhatWasConfirmedByItsConfirmedFigures) {
  History history;
  for (int64_t id = 1; id <= 3; ++id) {
    RunTrial trial;
    trial.id = id, trial.candidate.source = std::to_string(id), trial.candidate.tier = id == 1 ? "baseline" : "source";
    trial.verdict = fake_ok(static_cast<double>(id));
    history.add(trial);
  }
  history.confirm(3, fake_ok(1.5));
  EXPECT_EQ(history.best()->id, 2) << "3 was lucky when it was screened";
  EXPECT_EQ(history.winners(2, true).size(), 2u);
  history.confirm(2, fake_ok(1.0));
  EXPECT_EQ(history.best()->id, 3);
  EXPECT_EQ(history.winners(2, true).size(), 1u) << "2 does not gain";
}

}  // namespace
}  // namespace kernelift::tuner
