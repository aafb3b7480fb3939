// Searches for parameters, of the original and of a rewrite of it, over a landscape in memory.
#include <gtest/gtest.h>

#include "tuner/space/parameter_proposer.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

/// Proposes a single rewrite of the text.
class OneRewrite : public Proposer {
 public:
  std::string name() const override { return "one-rewrite"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t) override {
    if (std::exchange(done_, true)) return {};
    Proposal proposal{history.baseline()->candidate, {history.baseline()->id}};
    proposal.candidate.source += "// rewritten\n", proposal.candidate.tier = tier(),
                                                   proposal.candidate.proposer = name();
    return {proposal};
  }

 private:
  bool done_ = false;
};

std::vector<std::unique_ptr<Proposer>> a_rewrite_and_parameters(const Mep& mep) {
  std::vector<std::unique_ptr<Proposer>> both;
  both.push_back(std::make_unique<OneRewrite>());
  both.push_back(std::make_unique<ParameterProposer>(mep, "portfolio", 1));
  return both;
}

class BrokenKnobTest : public TunerTest, public testing::WithParamInterface<std::pair<Outcome, Stage>> {};

TEST_P(BrokenKnobTest, IsFrozenForEverySource) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  Verdict failure = fake_failure(GetParam().first);
  failure.stage = GetParam().second;
  FakeEvaluator evaluator([&](const Candidate& candidate) {
    auto unroll = candidate.values.find("U");
    if (unroll != candidate.values.end() && unroll->second != 1) return failure;
    return candidate.source.find("rewritten") != std::string::npos ? fake_ok(1.1) : landscape(candidate);
  });
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, a_rewrite_and_parameters(mep_.mep), options_);
  EXPECT_EQ(report->outcomes[name(failure.outcome)], 1u) << "tried once for all sources";
  EXPECT_EQ(report->best->candidate.values.at("B"), 256);
}

INSTANTIATE_TEST_SUITE_P(ThatChanges, BrokenKnobTest,
                         testing::Values(std::pair{Outcome::Wrong, Stage::Verify},  // the results
                                         std::pair{Outcome::LaunchFailed,
                                                   Stage::Load}));  // the size of what the record fills

TEST_F(TunerTest, KeepsTuningTheOriginalIfARewriteGainsLittle) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  // The rewrite is 10 % faster, and no knob improves it; the original's knobs gain 50 %.
  FakeEvaluator evaluator([](const Candidate& candidate) {
    return candidate.source.find("rewritten") != std::string::npos ? fake_ok(1.1) : landscape(candidate);
  });
  options_.evaluations = 24;
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, a_rewrite_and_parameters(mep_.mep), options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->best->figures().speedup(), 1.25);
}

TEST_F(TunerTest, LeavesTheParametersOfWhatIsFarBehind) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  int of_original = 0, of_rewrite = 0;
  FakeEvaluator evaluator([&](const Candidate& candidate) {
    const bool rewritten = candidate.source.find("rewritten") != std::string::npos;
    ++(rewritten ? of_rewrite : of_original);
    return rewritten ? fake_ok(10 * landscape(candidate).speedup()) : landscape(candidate);
  });
  options_.evaluations = 24;
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, a_rewrite_and_parameters(mep_.mep), options_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->best->figures().speedup(), 12);
  EXPECT_LT(4 * of_original, of_rewrite) << of_original << " and " << of_rewrite;
}

}  // namespace
}  // namespace kernelift::tuner
