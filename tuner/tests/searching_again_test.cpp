// What was in flight when the finalists were confirmed, if the search then goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/fake_time.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

class SearchingAgain : public TunerTest {
 protected:
  /// The first gain comes late, and much time is kept for its confirmation, which then takes little.
  TuneReport tuned() {
    begin(100, time_);
    auto report = tune_into(run_, evaluator_);
    EXPECT_TRUE(report.ok()) << report.error().message;
    EXPECT_GT(evaluator_.abandoned, 0u);
    EXPECT_GT(evaluator_.last_submitted, 75);
    return report.ok() ? *report : TuneReport();
  }

  RunStore run_ = std::move(*RunStore::create(file_, meta()));
  FakeTime time_;
  TimedEvaluator evaluator_{time_, {.evaluation = 1, .confirmation = 0.5, .told = 1}, [&](const Candidate& candidate) {
                              Verdict verdict = time_.seconds() < 40 ? fake_ok(1) : landscape(candidate);
                              if (verdict.ok() && verdict.speedup() > 1) verdict.evaluate_seconds = 40;
                              return verdict;
                            }};
};

TEST_F(SearchingAgain, TakesWhatWorkersHeldForNoMachineThatJudgesNoMore) {
  evaluator_.in_hand = 3;
  TuneReport report = tuned();
  EXPECT_EQ(report.stopped_by, "time");
  EXPECT_TRUE(report.best && report.best->confirmed);
}

TEST_F(SearchingAgain, TriesWhatWasAbandonedOnceMore) {
  (void)tuned();
  int again = 0;
  for (auto& [key, times] : evaluator_.submissions) {
    EXPECT_LE(times, 3) << "more often than the search was interrupted";
    again += times > 1;
  }
  EXPECT_GT(again, 0);
  auto trials = run_.history();
  ASSERT_TRUE(trials.ok());
  std::set<Hash> stored;
  for (auto& trial : *trials) EXPECT_TRUE(stored.insert(trial.candidate.key()).second);
}

TEST_F(SearchingAgain, StoresACandidateOnceWhoseQuestionIsNotAnswered) {
  evaluator_.answers_questions = false;
  (void)tuned();
  auto trials = run_.history();
  ASSERT_TRUE(trials.ok());
  std::set<Hash> stored;
  for (auto& trial : *trials) {
    EXPECT_FALSE(trial.candidate.source.empty()) << "trial " << trial.id;
    EXPECT_TRUE(stored.insert(trial.candidate.key()).second) << "trial " << trial.id;
  }
}

TEST_F(SearchingAgain, AsksOnceMoreForWhatHadNoVerdict) {
  std::map<Hash, int> asked;
  FakeEvaluator evaluator([&](const Candidate& candidate) -> Evaluation {
    const bool unlucky =
        candidate.tier == "params" && candidate.values.contains("B") && candidate.values.at("B") == 256;
    if (unlucky && ++asked[candidate.key()] == 1) return NotJudged{"the device was busy"};
    return landscape(candidate);
  });
  evaluator.confirms = landscape;
  options_.evaluations = 60;
  auto report = tune_into(run_, evaluator);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_FALSE(asked.empty());
  for (auto& [key, times] : asked) EXPECT_EQ(times, 2);
  EXPECT_EQ(report->best->candidate.values.at("B"), 256);
}

}  // namespace
}  // namespace kernelift::tuner
