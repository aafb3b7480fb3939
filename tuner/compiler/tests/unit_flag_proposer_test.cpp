// Tests of the search over the compiler's flags for one file.
#include "tuner/compiler/unit_flag_proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

History of_original() {
  History history;
  Candidate original;
  original.source = "x", original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  return history;
}

/// What is tried on a kernel with this landscape, in order.
std::vector<UnitFlags> tried(
    UnitFlagProposer::Options options,
    const std::function<double(const UnitFlags&)>& speedup = [](auto&) { return 1.0; }) {
  History history = of_original();
  UnitFlagProposer proposer(options);
  std::vector<UnitFlags> seen;
  while (true) {
    auto proposals = proposer.propose(history, 1);
    if (proposals.empty()) return seen;
    const Candidate& candidate = proposals[0].candidate;
    seen.push_back(candidate.recipe.unit_flags);
    proposer.learn({static_cast<int64_t>(seen.size()) + 1,
                    candidate,
                    fake_ok(speedup(candidate.recipe.unit_flags)),
                    std::nullopt,
                    {1},
                    0});
  }
}

TEST(UnitFlagProposer, TriesEachAloneAndThenThoseTogetherThatHelped) {
  auto seen = tried({}, [](const UnitFlags& flags) {
    return 1 + 0.2 * flags.fast_math + 0.1 * (flags.most_registers == 64) - 0.1 * (flags.cache_loads == "cg");
  });
  EXPECT_EQ(seen.front(), (UnitFlags{.fast_math = true}));
  EXPECT_THAT(seen, Contains(UnitFlags{.fast_math = true, .most_registers = 64}));
  for (auto& flags : seen) EXPECT_FALSE(flags.cache_loads == "cg" && flags.fast_math) << flags.text();
}

TEST(UnitFlagProposer, OnlyArithmeticMeansSomethingToTheCpuDevice) {
  EXPECT_THAT(tried({.on_cpu = true}), ElementsAre(UnitFlags{.fast_math = true}, UnitFlags{.fused = false}));
}

TEST(UnitFlagProposer, KeepsPrecisionWhereItIsToldTo) {
  for (auto& flags : tried({.keep_precision = true})) EXPECT_FALSE(flags.fast_math);
}

TEST(UnitFlagProposer, BeginsWithWhatSuitsTheBound) {
  EXPECT_GT(tried({.bound = Bound::Latency}).front().most_registers, 0);
  EXPECT_FALSE(tried({.bound = Bound::Memory}).front().cache_loads.empty());
}

TEST(UnitFlagProposer, NamesWhatBecomesLessPrecise) {
  History history = of_original();
  auto proposal = UnitFlagProposer({}).propose(history, 1).at(0);
  EXPECT_THAT(proposal.candidate.note(), HasSubstr("-use_fast_math, which lowers the precision"));
  RunTrial trial;
  trial.candidate = proposal.candidate;
  EXPECT_TRUE(trial.applicable()) << "the application's own compiler takes it";
}

}  // namespace
}  // namespace kernelift::tuner
