// How many launches are planned, by what one takes and the time there is.
#include "sandbox/evaluate/runner/timing/measurement_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

PlanInputs inputs(double seconds, std::optional<double> left) {
  PlanInputs inputs;
  inputs.seconds = {seconds}, inputs.processor = true, inputs.left = left;
  inputs.rules.runs = 1;
  return inputs;
}

TEST(MeasurementPlan, SparesNoLaunchOfAShortKernel) {
  const MeasurementPlan plan(inputs(1e-3, 5));
  const InstancePlan& one = plan.of(0);
  EXPECT_FALSE(plan.sparing());
  EXPECT_TRUE(one.other_order && one.exact_sums && one.mixtures && one.over_old_answers && one.looks_for_memory);
  EXPECT_EQ(one.looks, 3);
  EXPECT_EQ(one.confirming.first_rounds, 60);
  EXPECT_EQ(plan.text(), "");
  EXPECT_EQ(plan.left_out(), "");
}

TEST(MeasurementPlan, TakesFewLaunchesOfALongKernelHoweverMuchTimeThereIs) {
  const MeasurementPlan plan(inputs(1.0, std::nullopt));
  const InstancePlan& one = plan.of(0);
  EXPECT_TRUE(one.sparing && one.outputs_together && one.verified_counts);
  EXPECT_EQ(one.pairs, 0) << "the runs that learn are its samples";
  EXPECT_TRUE(one.outputs_apart);
  EXPECT_EQ(one.looks, 1);
  EXPECT_LE(plan.calibration_seconds(), 7);
  EXPECT_THAT(plan.text(), HasSubstr("one launch of the original takes 1.0 s here: about 3 s for each candidate"));
  EXPECT_THAT(plan.left_out(), HasSubstr("blocks in another order"));
  EXPECT_THAT(plan.left_out(), Not(HasSubstr("poison in buffers"))) << "there is time for that";
}

TEST(MeasurementPlan, OfATenthOfASecondDependsOnTheTime) {
  EXPECT_TRUE(MeasurementPlan(inputs(0.2, 20)).sparing());
  EXPECT_FALSE(MeasurementPlan(inputs(0.2, 600)).sparing());
  EXPECT_FALSE(MeasurementPlan(inputs(0.05, 2)).sparing()) << "few launches of it would save nothing";
}

TEST(MeasurementPlan, TwoPairsSufficeWhereLaunchesOfAGpuTakeEquallyLong) {
  PlanInputs quiet = inputs(1e-4, 60);
  quiet.processor = false;
  const double otherwise = RaceRules{}.hopeless;
  auto hopeless = [](const PlanInputs& inputs, double spread) {
    MeasurementPlan plan(inputs);
    plan.measured(0, 1e-4, spread);
    return plan.of(0).screening.hopeless;
  };
  EXPECT_DOUBLE_EQ(hopeless(quiet, 0.002), 0.96) << "its inputs may take a launch longer than the recorded ones";
  EXPECT_DOUBLE_EQ(hopeless(quiet, 0.01), 0.9);
  EXPECT_DOUBLE_EQ(hopeless(quiet, 0.05), otherwise) << "launches that vary";
  EXPECT_DOUBLE_EQ(hopeless(inputs(1e-4, 60), 0.002), otherwise) << "a processor's processes differ by more";
  EXPECT_DOUBLE_EQ(MeasurementPlan(quiet).of(0).screening.hopeless, otherwise) << "not measured yet";
}

TEST(MeasurementPlan, NearTiesOnAGpuAreLeftToTheConfirmation) {
  PlanInputs gpu = inputs(1e-4, 60);
  gpu.processor = false;
  const InstancePlan screened = MeasurementPlan(gpu).of(0);
  EXPECT_LT(screened.screening.most_rounds, screened.confirming.most_rounds);
  EXPECT_EQ(screened.confirming.most_rounds, RaceRules{}.most_rounds);
}

TEST(MeasurementPlan, OfAReplayRunsALongKernelOnce) {
  PlanInputs replay = inputs(1.0, std::nullopt);
  replay.for_candidates = false;
  const MeasurementPlan plan(replay);
  EXPECT_TRUE(plan.of(0).once);
  EXPECT_EQ(plan.of(0).repeats, 0);
  EXPECT_EQ(plan.text(), "");
}

TEST(MeasurementPlan, AffordsTenCandidatesOfASecondInAMinute) {
  PlanInputs minute = inputs(1.0, 54);
  minute.spent = 6;
  const MeasurementPlan plan(minute);
  EXPECT_TRUE(plan.affords_a_candidate().ok());
  EXPECT_GE(plan.candidates(), 10u);
  EXPECT_LE(plan.calibration_seconds(), 3.001);
  EXPECT_THAT(plan.text(),
              ::testing::ContainsRegex("about [0-9]+ candidates in the 54 s that are left; --time 3m would "
                                       "do for 40"));
  EXPECT_THAT(plan.left_out(), HasSubstr("poison in buffers that no recorded launch changed"));
  EXPECT_TRUE(plan.of(0).outputs_apart) << "two launches";
  minute.outputs = 4;
  const MeasurementPlan many(minute);
  EXPECT_FALSE(many.of(0).outputs_apart) << "two launches for each";
  EXPECT_THAT(many.left_out(), HasSubstr("poison in one output at a time"));
}

TEST(MeasurementPlan, SaysAtOnceWhichTimeWouldDo) {
  PlanInputs short_time = inputs(5.0, 20);
  short_time.spent = 10;
  const MeasurementPlan plan(short_time);
  const Status status = plan.affords_a_candidate();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().exit, Exit::No);
  EXPECT_EQ(plan.candidates(), 0u);
  EXPECT_THAT(status.error().message, HasSubstr("one launch of the original takes 5.0 s here"));
  EXPECT_THAT(status.error().message, ::testing::ContainsRegex("--time [0-9]+[sm] would do for one candidate and its "
                                                               "confirmation, --time [0-9]+m for 10"));
}

TEST(MeasurementPlan, NamedForATimeAffordsWhatWasNamed) {
  for (double seconds : {0.3, 1.0, 4.0, 30.0}) {
    const MeasurementPlan plan(inputs(seconds, 1e5));
    const double wanted = plan.calibration_seconds() + plan.confirmation_seconds() + 10 * plan.candidate_seconds();
    EXPECT_GE(MeasurementPlan(inputs(seconds, wanted + 1e-6)).candidates(), 10u) << seconds;
  }
}

TEST(MeasurementPlan, EndsALongCandidateSoonAfterTheOriginalsTime) {
  const MeasurementPlan plan(inputs(1.0, 60));
  EXPECT_LT(plan.candidate_limit(1.0), 2.5);
  EXPECT_GT(plan.original_limit(1.0), plan.candidate_limit(1.0)) << "a busy machine must not end the original";
  PlanInputs gpu = inputs(1.0, 60);
  gpu.processor = false;
  EXPECT_GT(MeasurementPlan(gpu).candidate_limit(1.0), plan.candidate_limit(1.0))
      << "there what is ended costs another calibration";
  EXPECT_EQ(MeasurementPlan(inputs(1e-3, 60)).candidate_limit(1e-3), 0.1) << "of short launches many times as long";
}

TEST(MeasurementPlan, GlancesAtWhatIsFarSlowerWhereAProcessorsLaunchesAreNotShort) {
  PlanInputs inputs;
  inputs.processor = true, inputs.seconds = {0.5e-3, 20e-3};
  MeasurementPlan plan(inputs);
  EXPECT_FALSE(plan.of(0).glances) << "a warm-up is as cheap";
  EXPECT_TRUE(plan.of(1).glances);
  EXPECT_LT(plan.of(1).warm_up, plan.of(0).warm_up);
  inputs.processor = false;
  EXPECT_FALSE(MeasurementPlan(inputs).of(1).glances) << "a GPU needs no warm-up";
  EXPECT_EQ(MeasurementPlan(inputs).of(1).warm_up, 0);
}

}  // namespace
}  // namespace kernelift::sandbox
