// What helped one kernel is tried first on another.
#include "tuner/source/chain_proposer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/rule_proposer.h"
#include "tuner/source/tests/rule_text.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

Candidate original_of(const std::string& text) {
  Candidate original;
  original.source = text, original.tier = "baseline";
  return original;
}

/// The first proposal of a rule on the kernel, which stands for a winner.
Candidate winner_on(const std::string& text, const std::string& rule) {
  History history;
  history.add({1, original_of(text), fake_ok(1), {}, {}, 0});
  for (auto& proposal : RuleProposer(facts(), arguments()).propose(history, 100))
    if (proposal.candidate.proposer == "rules/" + rule) return proposal.candidate;
  ADD_FAILURE() << rule << " finds nothing";
  return {};
}

const std::string kLoop =
    "__global__ void k(float *y, int n) {\n  float all = 0;\n  for (int i = 0; i < n; ++i)\n    all += y[i];\n"
    "  y[0] = all;\n}\n";
const std::string kOtherLoop =
    "__global__ void k(float *y, int m) {\n  float all = 1;\n  for (int j = 0; j < m; ++j)\n    all *= y[j];\n"
    "  y[0] = all;\n}\n";

TEST(ChainProposer, ProposesTheSameRewriteWithTheSameParametersFirst) {
  const Candidate winner = winner_on(kLoop, "unroll");
  const Mep mep;
  ChainProposer proposer(mep, facts(), arguments(), {{"k of another file", winner.steps}});
  History history;
  EXPECT_TRUE(proposer.propose(history, 1).empty()) << "the original is not measured yet";
  history.add({1, original_of(kOtherLoop), fake_ok(1), {}, {}, 0});
  auto proposals = proposer.propose(history, 5);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals[0].parents, std::vector<int64_t>{1});
  ASSERT_EQ(proposals[0].candidate.steps.size(), 1u);
  EXPECT_EQ(proposals[0].candidate.steps[0].rule, "unroll");
  EXPECT_EQ(proposals[0].candidate.steps[0].parameters, winner.steps[0].parameters);
  EXPECT_THAT(proposals[0].candidate.steps[0].place, HasSubstr("j"));
  EXPECT_THAT(proposer.take_notes().at(0), HasSubstr("which helped k of another file"));
  EXPECT_TRUE(proposer.propose(history, 5).empty()) << "once";
}

TEST(ChainProposer, LeavesOutWhatDoesNotApplyAndProposesNothingIfNothingDoes) {
  Step unknown;
  unknown.origin = Step::Origin::Rule, unknown.rule = "no_such_rule";
  Step model;
  model.origin = Step::Origin::Model;
  std::vector<Step> steps{unknown, model};
  const Mep mep;
  History history;
  history.add({1, original_of(kOtherLoop), fake_ok(1), {}, {}, 0});
  EXPECT_TRUE(ChainProposer(mep, facts(), arguments(), {{"a", steps}}).propose(history, 5).empty());
  steps.push_back(winner_on(kLoop, "unroll").steps[0]);
  EXPECT_EQ(ChainProposer(mep, facts(), arguments(), {{"a", steps}}).propose(history, 5).size(), 1u);
}

TEST(ChainProposer, RewritesNothingOfAWholeUnit) {
  RuleContext unit = facts();
  unit.own_lines = {0, 1};
  const Mep mep;
  History history;
  history.add({1, original_of(kOtherLoop), fake_ok(1), {}, {}, 0});
  EXPECT_TRUE(
      ChainProposer(mep, unit, arguments(), {{"a", winner_on(kLoop, "unroll").steps}}).propose(history, 5).empty());
}

}  // namespace
}  // namespace kernelift::tuner
