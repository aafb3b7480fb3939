// A leader that is confirmed while there is time to search on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/tests/fakes/fake_time.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using ::testing::HasSubstr;

class Rehearsal : public TunerTest {
 protected:
  Result<TuneReport> tuned(TimedEvaluator& evaluator, FakeTime& time) {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    begin(30, time);
    return tune_into(run, evaluator);
  }
};

Verdict twice_as_fast(const Candidate& candidate) { return fake_ok(2 * landscape(candidate).speedup()); }

TEST_F(Rehearsal, ConfirmsALeaderWhoseConfirmationTakesLongerThanWasExpected) {
  FakeTime time;
  TimedEvaluator evaluator(time, {.evaluation = 0.5, .confirmation = 1, .least = 0.9, .first = 10, .guesses = true},
                           twice_as_fast);
  auto report = tuned(evaluator, time);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->best->confirmed);
  EXPECT_EQ(report->unconfirmed, "");
  EXPECT_NEAR(evaluator.confirmed_at.front(), 12, 1) << "after two fifths of the time";
  EXPECT_GT(evaluator.last_submitted, 24) << "the search went on";
  EXPECT_LE(time.seconds(), options_.seconds);
}

TEST_F(Rehearsal, OfALeaderThatIsRefusedLetsTheSearchFindAnother) {
  FakeTime time;
  auto refused = [](const Candidate& candidate) {
    return candidate.values.contains("B") && candidate.values.at("B") == 256;
  };
  TimedEvaluator evaluator(time, {.evaluation = 0.5, .confirmation = 1, .guesses = true}, twice_as_fast);
  evaluator.confirms = [&](const Candidate& candidate) -> Evaluation {
    if (refused(candidate)) return fake_failure(Outcome::Wrong, "on perturbed inputs");
    return twice_as_fast(candidate);
  };
  auto report = tuned(evaluator, time);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->best->confirmed && report->best->confirmed->gains());
  EXPECT_FALSE(refused(report->best->candidate));
  EXPECT_LT(evaluator.confirmed_at.front(), 14);
}

TEST_F(Rehearsal, IsNotNeededWhereItsCostIsKnownOrNothingGains) {
  for (bool gains : {true, false}) {
    FakeTime time;
    TimedEvaluator evaluator(
        time, {.evaluation = 0.5, .confirmation = 1, .guesses = !gains},
        [&](const Candidate& candidate) { return gains ? twice_as_fast(candidate) : fake_ok(1.1); });
    std::filesystem::remove(file_);
    auto report = tuned(evaluator, time);
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_FALSE(evaluator.confirmed_at.empty());
    EXPECT_GT(evaluator.confirmed_at.front(), 20) << gains;
  }
}

}  // namespace
}  // namespace kernelift::tuner
