// Tests of resuming a run: nothing is measured again, and the report says what a sitting added, or why it added
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tuner/tests/fakes/fake_time.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

class Resume : public TunerTest {};

TEST_F(Resume, ResumesWithoutMeasuringAnythingAgain) {
  options_.evaluations = 30;
  std::set<Hash> first;
  {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeEvaluator evaluator(landscape);
    ASSERT_TRUE(tune_into(run, evaluator).ok());
    for (auto& candidate : evaluator.submitted) first.insert(candidate.key());
  }
  RunStore run = std::move(*RunStore::resume(file_));
  FakeEvaluator evaluator(landscape);
  options_.evaluations = 60;
  auto report = tune_into(run, evaluator);
  EXPECT_EQ(report->tried, 60u);
  EXPECT_EQ(evaluator.submitted.size(), 30u);
  for (auto& candidate : evaluator.submitted) EXPECT_FALSE(first.contains(candidate.key()));
}

TEST_F(Resume, ReportsWhyASittingAddedNothingAndKeepsConfirmations) {
  auto only_params = [&] {
    std::vector<std::unique_ptr<Proposer>> made;
    made.push_back(std::make_unique<ParameterProposer>(mep_.mep, "random", 1));
    return made;
  };
  // One sitting to the end of the space, a second one, and one whose time is spent at its beginning.
  for (int sitting = 0; sitting < 3; ++sitting) {
    RunStore run = std::move(*(sitting ? RunStore::resume(file_) : RunStore::create(file_, meta())));
    FakeTime time;
    TimedEvaluator evaluator(time, {.evaluation = 0.1, .calibration = 0, .confirmation = 5, .least = 0.9}, landscape);
    options_.seconds = sitting == 2 ? run.meta().seconds_spent + 2 : 0, options_.clock = time.clock(),
    options_.started = time.now();
    if (sitting == 2) time.pass(1.9), options_.finalists = 6;  // Some of them are not confirmed yet.
    auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, only_params(), options_);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->best->confirmed);
    EXPECT_EQ(report->unconfirmed, "") << sitting;
    EXPECT_EQ(report->added, sitting ? 0u : report->tried);
    EXPECT_THAT(report->nothing_added, sitting == 0   ? HasSubstr("")
                                       : sitting == 1 ? HasSubstr("has been tried; further ideas")
                                                      : HasSubstr("that the run was given are spent"));
    EXPECT_EQ(report->nothing_added.empty(), sitting == 0);
  }
}

TEST_F(Resume, RecognisesARunWhoseTimeIsSpent) {
  options_.evaluations = 30;
  {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeEvaluator evaluator(landscape);
    ASSERT_TRUE(tune_into(run, evaluator).ok());
    ASSERT_TRUE(run.record_time(19.5).ok());
  }
  RunStore run = std::move(*RunStore::resume(file_));
  TuneOptions options;
  options.seconds = 20;
  auto spent = spent_already(run, options);
  ASSERT_TRUE(spent.ok() && *spent);
  EXPECT_EQ((*spent)->tried, 30u);
  EXPECT_TRUE((*spent)->best->confirmed);
  EXPECT_THAT((*spent)->nothing_added, HasSubstr("the 20 s that the run was given are spent"));
  options.seconds = 60;
  EXPECT_FALSE(*spent_already(run, options)) << "there is time left";
  options.seconds = 0;
  EXPECT_FALSE(*spent_already(run, options)) << "it has no time budget";
}

TEST_F(Resume, RefusesFiguresOfAnotherDevice) {
  options_.evaluations = 10;
  {
    RunStore run = std::move(*RunStore::create(file_, meta()));
    FakeEvaluator evaluator(landscape);
    ASSERT_TRUE(tune_into(run, evaluator).ok());
  }
  RunStore run = std::move(*RunStore::resume(file_));
  FakeEvaluator evaluator([](const Candidate& candidate) {
    Verdict verdict = landscape(candidate);
    verdict.device = "another";
    return verdict;
  });
  options_.evaluations = 20;
  auto report = tune_into(run, evaluator);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Usage);
  EXPECT_THAT(report.error().message, testing::AllOf(HasSubstr("'fake'"), HasSubstr("'another'")));
  EXPECT_EQ(run.history()->size(), 11u);
}

TEST_F(Resume, RefusesToResumeOnAChangedMep) {
  RunStore run = std::move(*RunStore::create(file_, meta()));
  std::ofstream(mep_.folder.path() / "kernel.cu", std::ios::app) << "// edited\n";
  FakeEvaluator evaluator(landscape);
  auto report = tune_into(run, evaluator);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("has changed since"));
}

}  // namespace
}  // namespace kernelift::tuner
