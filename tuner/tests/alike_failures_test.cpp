// What a search does where all its candidates fail alike.
#include "tuner/alike_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

Verdict wrong_in(const std::string& buffer) {
  Verdict verdict = fake_failure(Outcome::Wrong);
  verdict.buffer = buffer;
  return verdict;
}

FakeEvaluator::Landscape all(const Verdict& verdict) {
  return [verdict](const Candidate& candidate) { return candidate.tier == "baseline" ? fake_ok(1) : verdict; };
}

class AlikeFailuresTest : public TunerTest {
 protected:
  TuneReport tuned(FakeEvaluator& evaluator) {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    options_.evaluations = 150;
    options_.progress = [&](const Progress& progress) {
      if (!progress.message.empty()) messages_.push_back(progress.message);
    };
    auto report = tune_into(run, evaluator);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return *report;
  }
  std::vector<std::string> messages_;
};

TEST_F(AlikeFailuresTest, EndTheSearchIfTheOriginalFailsAsWell) {
  FakeEvaluator evaluator(all(wrong_in("out")));
  evaluator.original = [] { return fake_failure(Outcome::Wrong, "3 of 8 elements differ"); };
  TuneReport report = tuned(evaluator);
  EXPECT_EQ(report.stopped_by, kOriginalFails);
  EXPECT_EQ(report.tried, AlikeFailures::kMany);
  EXPECT_THAT(report.unconfirmed,
              HasSubstr("the first 12 candidates that ran all failed alike (wrong in out), and so"));
  EXPECT_THAT(report.unconfirmed, HasSubstr("3 of 8 elements differ"));
  EXPECT_EQ(without_gain(report.tried, report.stopped_by), "not judged");
}

TEST_F(AlikeFailuresTest, EndTheSearchIfTheOriginalFailsOnlyWhenItIsJudgedAgain) {
  FakeEvaluator evaluator(all(wrong_in("out")));
  evaluator.original = [&] { return evaluator.original_asked == 1 ? fake_ok(1) : fake_failure(Outcome::Unstable); };
  EXPECT_EQ(tuned(evaluator).stopped_by, kOriginalFails);
}

TEST_F(AlikeFailuresTest, AreSaidAndEndTheSearchLaterIfTheOriginalPasses) {
  FakeEvaluator evaluator(all(wrong_in("out")));
  evaluator.original = [] { return fake_ok(1); };
  TuneReport report = tuned(evaluator);
  EXPECT_EQ(report.stopped_by, kAllFailAlike);
  EXPECT_EQ(report.tried, AlikeFailures::kMost);
  EXPECT_EQ(evaluator.original_asked, 2u) << "it is asked once, by two judgements";
  EXPECT_THAT(messages_, testing::Contains(HasSubstr("the original passes when it is judged likewise")));
}

TEST_F(AlikeFailuresTest, AreNotWhatOneCandidateHasInAnotherBuffer) {
  size_t seen = 0;
  FakeEvaluator evaluator([&](const Candidate& candidate) {
    return candidate.tier == "baseline" ? fake_ok(1) : wrong_in(++seen == 5 ? "other" : "out");
  });
  evaluator.original = [] { return fake_failure(Outcome::Wrong); };
  EXPECT_EQ(tuned(evaluator).stopped_by, "evaluations");
  EXPECT_EQ(evaluator.original_asked, 0u);
}

TEST_F(AlikeFailuresTest, AreNotRefutedByCandidatesThatWereNotRun) {
  size_t seen = 0;
  FakeEvaluator evaluator([&](const Candidate& candidate) {
    if (candidate.tier == "baseline") return fake_ok(1);
    Verdict same = fake_ok(1), uncompiled = fake_failure(Outcome::CompileFailed);
    same.timings[0].samples = 0, uncompiled.stage = Stage::Compile;
    return ++seen % 3 == 0 ? same : seen % 3 == 1 ? uncompiled : wrong_in("out");
  });
  evaluator.original = [] { return fake_failure(Outcome::Wrong); };
  TuneReport report = tuned(evaluator);
  EXPECT_EQ(report.stopped_by, kOriginalFails);
  EXPECT_GT(report.tried, 2 * AlikeFailures::kMany);
}

TEST_F(AlikeFailuresTest, DoNotEndASearchWhoseOriginalCannotBeAsked) {
  FakeEvaluator evaluator(all(fake_failure(Outcome::Crashed)));
  EXPECT_EQ(tuned(evaluator).stopped_by, "evaluations");
}

}  // namespace
}  // namespace kernelift::tuner
