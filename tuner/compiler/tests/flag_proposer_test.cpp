// Tests of the search over compiler flags: its order, and sets of fast-math flags that gave wrong results.
#include "tuner/compiler/flag_proposer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

TEST(FlagProposer, BeginsWithFlagsThatHelpTheKernelsBound) {
  auto first = [](Bound bound) {
    History history;
    Candidate original;
    original.source = "x", original.tier = "baseline";
    history.add({1, original, fake_ok(1), {}, {}, 0});
    return FlagProposer("random", 1, bound).propose(history, 1).at(0).candidate.recipe;
  };
  EXPECT_FALSE(first(Bound::Compute).fast_math.empty());
  Recipe waiting = first(Bound::Latency);
  EXPECT_TRUE(waiting.fast_math.empty());
  EXPECT_TRUE(waiting.unroll_threshold >= 0 || waiting.inline_threshold >= 0 || !waiting.options.empty())
      << waiting.text();
}

TEST(FlagProposer, GivesAModelsWinnerAFewRecipesThoughAnotherTextIsFaster) {
  History history;
  auto add = [&](int64_t id, const char* tier, double speedup, Step::Origin by, std::vector<int64_t> parents) {
    RunTrial trial{id, {}, fake_ok(speedup), {}, std::move(parents), 0};
    trial.candidate.source = std::to_string(id), trial.candidate.tier = tier;
    if (trial.candidate.tier == std::string("compiler")) trial.candidate.recipe.unroll_threshold = static_cast<int>(id);
    trial.candidate.add_step({.origin = by, .summary = "step"});
    history.add(std::move(trial));
  };
  add(1, "source", 2, Step::Origin::Text, {});
  EXPECT_EQ(compiler_base(history)->id, 1);
  add(2, "source", 1.5, Step::Origin::Model, {});
  EXPECT_EQ(compiler_base(history)->id, 2);
  for (int64_t id = 3; id <= 10; ++id) add(id, "compiler", 1.1, Step::Origin::Recipe, {2});
  EXPECT_EQ(compiler_base(history)->id, 1);
}

TEST(FlagProposer, DoesNotRepeatASetOfFastMathFlagsThatWasWrong) {
  History history;
  Candidate original;
  original.source = "x", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  // A kernel for which contract is always wrong, and afn only together with arcp.
  auto wrong = [](const Recipe& recipe) {
    auto has = [&](const char* flag) { return std::count(recipe.fast_math.begin(), recipe.fast_math.end(), flag) > 0; };
    return has("contract") || (has("afn") && has("arcp"));
  };
  for (auto* strategy : {"random", "portfolio"}) {
    FlagProposer proposer(strategy, 1);
    int failed = 0;
    std::set<Hash> seen;
    for (int i = 0; i < 300; ++i) {
      auto proposals = proposer.propose(history, 1);
      ASSERT_EQ(proposals.size(), 1u);
      const Candidate& candidate = proposals[0].candidate;
      EXPECT_TRUE(seen.insert(candidate.key()).second) << candidate.recipe.text();
      Verdict verdict = fake_ok(1);
      if (wrong(candidate.recipe)) verdict.outcome = Outcome::Wrong, ++failed;
      proposer.learn({i + 2, candidate, verdict, std::nullopt, {1}, 0});
    }
    EXPECT_GE(failed, 2) << strategy << ": both sets have to be found";
    EXPECT_LE(failed, 6) << strategy << ": at most a few supersets come before the sets themselves";
  }
}

TEST(FlagProposer, KeepsFastMathFlagsThatWereRight) {
  History history;
  Candidate original;
  original.source = "x", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  FlagProposer proposer("random", 1);
  int contracted = 0;
  for (int i = 0; i < 200; ++i) {
    auto proposals = proposer.propose(history, 1);
    ASSERT_EQ(proposals.size(), 1u);
    const Candidate& candidate = proposals[0].candidate;
    auto& flags = candidate.recipe.fast_math;
    if (i >= 100) contracted += std::count(flags.begin(), flags.end(), "contract") > 0;
    Verdict verdict = fake_ok(1);
    if (candidate.recipe.unroll_threshold == 3000)
      verdict.outcome = Outcome::Wrong;  // Not because of its fast-math flags.
    proposer.learn({i + 2, candidate, verdict, std::nullopt, {1}, 0});
  }
  EXPECT_GT(contracted, 20);
}

}  // namespace
}  // namespace kernelift::tuner
