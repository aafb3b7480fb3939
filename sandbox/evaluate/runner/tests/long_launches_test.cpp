// How often a runner launches code whose launches take seconds, over the fake device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/runner/tests/runner_rig.h"

namespace kernelift::sandbox {
namespace {

using fake::Rig, fake::scale;
using ::testing::HasSubstr;

TEST(LongLaunches, OfAReplayAreNoMoreThanNeeded) {
  std::vector<std::string> told;
  RunnerSettings settings;
  settings.tell = [&](const std::string& text) { told.push_back(text); };
  settings.for_candidates = false;
  Rig replayed(scale(), settings, "", "takes long");
  ASSERT_EQ(replayed.trouble, "");
  EXPECT_TRUE(replayed.report.pass()) << replayed.report.complaint();
  EXPECT_NEAR(replayed.report.instances[0].seconds, 2, 1e-3);
  EXPECT_EQ(std::exchange(fake::long_runs, 0), 2 * 2) << "whether it runs at all, and what it leaves, on two instances";
  EXPECT_THAT(told,
              ::testing::ElementsAre(HasSubstr("one run of instance a takes 2.0 s here"), HasSubstr("instance b")));
  settings.for_candidates = true, settings.deadline = Deadline::clock::now() + std::chrono::seconds(8);
  Rig hurried(scale(), settings, "", "takes long");
  EXPECT_THAT(hurried.trouble, HasSubstr("one launch of the original takes 2.0 s here"));
  EXPECT_EQ(std::exchange(fake::long_runs, 0), 1) << "it is said at once";
}

/// A search of ten minutes, on a kernel that takes two seconds on each of two instances.
Rig long_search(std::vector<std::string>& told, const std::vector<std::string>& roundings = {},
                const std::vector<std::string>& at_random = {}) {
  RunnerSettings settings;
  settings.deadline = Deadline::clock::now() + std::chrono::minutes(10);
  settings.perturbing_limit = 0;  // Launches of the fake device take no time.
  settings.tell = [&](const std::string& text) { told.push_back(text); };
  fake::long_runs = 0, fake::launches.clear();
  return Rig(scale(), settings, "", "takes long", at_random, roundings);
}

TEST(LongLaunches, OfTheOriginalServeSeveralPurposes) {
  std::vector<std::string> told;
  Rig rig = long_search(told);
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.judges()) << rig.report.complaint();
  EXPECT_EQ(fake::long_runs, 2 * 3) << "whether it is right, and what it writes; these are its samples, too";
  EXPECT_NEAR(rig.report.instances[0].seconds, 2, 1e-3);
  EXPECT_THAT(rig.announced, ::testing::ElementsAre("poison 0 all", "", "poison 1 all", ""));
  EXPECT_THAT(told, ::testing::ElementsAre(::testing::ContainsRegex("takes 2.0 s here: about [0-9]+ candidates in")));
  EXPECT_EQ(rig.judge("does nothing").outcome, Outcome::Wrong) << "outputs are poisoned";
}

TEST(LongLaunches, OfCandidatesAreInProportionToTheDifference) {
  std::vector<std::string> told;
  Rig rig = long_search(told);
  auto judge = [&](const std::string& image) {
    fake::long_runs = 0;
    return rig.judge(image);
  };
  Verdict tenth = judge("long, but a tenth");
  ASSERT_TRUE(tenth.ok()) << tenth.text();
  EXPECT_NEAR(tenth.speedup(), 10, 1e-3);
  EXPECT_EQ(fake::long_runs, 0) << "it needs no race";
  EXPECT_EQ(fake::launches["long, but a tenth"], 2) << "two instances";
  Verdict longer = judge("long, and longer");
  ASSERT_TRUE(longer.ok()) << longer.text();
  EXPECT_LT(longer.speedup_high(), 0.7);
  EXPECT_EQ(fake::long_runs, 0) << "the launches that verify it tell enough";
  EXPECT_EQ(fake::launches["long, and longer"], 2);
  Verdict little = judge("long, a little less");
  EXPECT_GT(little.speedup_low(), 1.04) << little.text();
  EXPECT_LE(fake::long_runs, 3);
  EXPECT_EQ(judge("long, without end").outcome, Outcome::TimedOut);
  EXPECT_FALSE(rig.runner->usable()) << "which on a GPU costs the process";
}

TEST(LongLaunches, OfAFinalistAreFewAndWhatThatLeavesOutIsSaid) {
  std::vector<std::string> told;
  Rig rig = long_search(told);
  fake::long_runs = 0;
  Verdict confirmed = rig.judge("long, but a tenth", true);
  ASSERT_TRUE(confirmed.ok()) << confirmed.text();
  EXPECT_EQ(confirmed.timings.size(), 2u) << "the held-out instance as well";
  EXPECT_EQ(confirmed.timings[0].samples, 2);
  EXPECT_EQ(fake::long_runs, 2 * (2 * 2 + 2)) << "on each instance two perturbed inputs, each repeated, and two pairs";
  EXPECT_THAT(confirmed.detail, HasSubstr("since a launch takes long, not tried: blocks in another order"));
  EXPECT_LT(rig.report.own_seconds, rig.report.confirmation_seconds);
  Verdict knows = rig.judge("knows by heart", true);
  EXPECT_FALSE(knows.ok()) << "perturbed inputs are not left out";
}

TEST(LongLaunches, OfOtherRoundingsWaitUntilAResultSeemsWrong) {
  const std::string build = "long, a build that rounds otherwise";
  std::vector<std::string> told;
  Rig rig = long_search(told, {build});
  ASSERT_EQ(rig.trouble, "");
  EXPECT_EQ(fake::launches[build], 0);
  EXPECT_TRUE(rig.judge("long, but a tenth").ok());
  EXPECT_EQ(fake::launches[build], 0);
  Verdict rounds = rig.judge("long, but a tenth, and rounds otherwise");
  EXPECT_TRUE(rounds.ok()) << rounds.text();
  EXPECT_EQ(fake::launches[build], 2) << "once on each instance";
  EXPECT_EQ(rig.judge("wrong").outcome, Outcome::Wrong);
  EXPECT_EQ(fake::launches[build], 2);
}

TEST(LongLaunches, OfOtherRoundingsEndWithTheFirstThatExplainsAResult) {
  const std::string build = "long, a build that rounds otherwise";
  std::vector<std::string> told;
  Rig rig = long_search(told, {build, "long, the same"});
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.judge("long, but a tenth, and rounds otherwise").ok());
  EXPECT_EQ(fake::launches["long, the same"], 0);
  const int before = fake::launches[build];
  Verdict confirmed = rig.judge("long, but a tenth, and rounds otherwise", true);
  EXPECT_TRUE(confirmed.ok()) << confirmed.text();
  EXPECT_EQ(fake::launches[build], before) << "what moved the recorded results is lent to those of perturbed inputs";
  EXPECT_EQ(rig.judge("wrong").outcome, Outcome::Wrong);
  EXPECT_GT(fake::launches["long, the same"], 0) << "all are run before a result is called wrong";
}

TEST(LongLaunches, OfRandomlyRoundedSumsWaitUntilAResultSeemsWrong) {
  std::vector<std::string> told;
  Rig rig = long_search(told, {}, {"random 1", "random 2", "random 3"});
  ASSERT_EQ(rig.trouble, "");
  Verdict nearer = rig.judge("nearer", true);
  EXPECT_TRUE(nearer.ok()) << nearer.text() << ": recorded and perturbed inputs have sums of their own";
  for (auto wrong : {"between", "past", "wrong"}) EXPECT_EQ(rig.judge(wrong).outcome, Outcome::Wrong) << wrong;
}

}  // namespace
}  // namespace kernelift::sandbox
