// The GPU runner's logic over host memory: what it restores, poisons, compares and believes. The runner's own kernels
// run here as loops over the same arithmetic (kernels/judging.h) that the GPU runs.
#include "sandbox/evaluate/runner/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/model/evaluator.h"
#include "sandbox/evaluate/runner/tests/runner_rig.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using fake::images, fake::Rig, fake::scale;
using ::testing::HasSubstr;

TEST(Runner, ReproducesTheCaptureAndAnnouncesItsExperiments) {
  Rig rig(scale());
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  ASSERT_EQ(rig.report.instances.size(), 2u);
  EXPECT_NEAR(rig.report.instances[0].seconds, 100e-6, 1e-9);
  EXPECT_THAT(rig.announced, ::testing::ElementsAre("poison 0 1", "", "poison 1 1", ""));
}

/// As nvcc passes it: a lambda for host and device, of which the image knows the four bytes of what it captures.
MepFixture scale_by_a_lambda(uint64_t lambda_bytes) {
  MepFixture fixture = scale();
  fixture.mep.parameters[2].lambda_bytes = lambda_bytes;
  for (auto& instance : fixture.mep.instances) {
    std::vector<std::byte> arguments(36, std::byte(0xee));
    std::memcpy(arguments.data(), instance.arguments.data(), 20);
    std::memcpy(&arguments[32], &instance.arguments[20], 4);
    instance.arguments = arguments;
    instance.parameters[2].size = 16, instance.parameters[3].offset = 32;
  }
  return fixture;
}

TEST(Runner, LeavesOutThePointerThatNvccAddsToALambdaForHostAndDevice) {
  Rig rig(scale_by_a_lambda(4));
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  EXPECT_TRUE(rig.judge("faster").ok());
  EXPECT_EQ(rig.judge("wrong").outcome, Outcome::Wrong);
  for (uint64_t other : {0, 12, 16}) {
    Rig refused(scale_by_a_lambda(other));
    EXPECT_THAT(refused.trouble, HasSubstr("the kernel takes 4 parameters of 24 bytes")) << other;
  }
}

TEST(Runner, SaysOfAnOriginalThatDoesNotRepeatThatItDoesNot) {
  Rig rig(scale(), {}, "", "takes turns");
  ASSERT_EQ(rig.trouble, "");
  EXPECT_FALSE(rig.report.pass());
  EXPECT_THAT(rig.report.complaint(), HasSubstr("the original itself does not repeat: "));
  EXPECT_THAT(rig.report.complaint(), HasSubstr(" of 3000 elements of out differ between two runs"));
  Rig rounds(scale(), {}, "", "adds up in any order");
  ASSERT_EQ(rounds.trouble, "");
  EXPECT_TRUE(rounds.report.pass()) << rounds.report.complaint();
}

TEST(Runner, LooksMoreOftenAtAnOriginalWhoseRoundingVaries) {
  Rig rig(scale(), {}, "", "adds up in many orders");
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint()
                                 << ": the recorded run is as good as any, but unlike the first three here";
  Rig alike(scale(), {}, "", "adds up in two orders");
  ASSERT_EQ(alike.trouble, "");
  EXPECT_TRUE(alike.report.pass()) << alike.report.complaint()
                                   << ": that the first three agree says little, as the recorded one does not";
}

TEST(Runner, LetsInWhatIsNearerToTheExactSumsThanTheOriginalAndNothingElse) {
  Rig rig(scale(), {}, "", "original", {"random 1", "random 2", "random 3"});
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  Verdict nearer = rig.judge("nearer");
  EXPECT_TRUE(nearer.ok()) << nearer.text();
  nearer = rig.judge("nearer", true);
  EXPECT_TRUE(nearer.ok()) << nearer.text() << ": perturbed inputs have sums of their own";
  EXPECT_TRUE(rig.judge("faster").ok()) << "whoever leaves what was recorded is as right as before";
  for (auto wrong : {"between", "past", "wrong"}) EXPECT_EQ(rig.judge(wrong).outcome, Outcome::Wrong) << wrong;
  Rig plain(scale());
  EXPECT_EQ(plain.judge("nearer").outcome, Outcome::Wrong);
  RunnerSettings strict;
  strict.tolerance = Tolerance{1e-6, 0};
  Rig users(scale(), strict, "", "original", {"random 1", "random 2", "random 3"});
  EXPECT_EQ(users.judge("nearer").outcome, Outcome::Wrong) << "a user's tolerance is the only one";
}

TEST(Runner, DoesNotBlameTheKernelForWhatOnlyClangComputesOtherwise) {
  Rig rig(scale(), {}, "original", "wrong");
  ASSERT_EQ(rig.trouble, "");
  EXPECT_FALSE(rig.report.pass());
  EXPECT_TRUE(rig.report.application_alone);
  Rig both(scale(), {}, "wrong", "wrong");
  EXPECT_FALSE(both.report.application_alone);
}

TEST(ReplayMemory, PutsBackWhatOtherWorkRewritesThoughTheKernelDoesNotChangeIt) {
  MepFixture fixture = scale();
  fixture.mep.instances[0].regions[0].rewritten = true;
  FakeDevice device(images());
  auto support = JudgingKernels::load(device);
  auto memory = ReplayMemory::place(device, fixture.mep, fixture.path());
  ASSERT_TRUE(support.ok() && memory.ok());
  for (size_t instance : {0, 1}) {
    const ReplayBuffer& in = (*memory)->instances()[instance].regions[0];
    ASSERT_EQ(in.name, "in");
    const float other = 7;
    ASSERT_TRUE(device.write(in.live, std::as_bytes(std::span(&other, 1))).ok());
    Steps steps(**support);
    (*memory)->put_back(steps, instance);
    ASSERT_TRUE(steps.run(std::chrono::seconds(10)).ok());
    float now = 0;
    ASSERT_TRUE(device.read(in.live, std::as_writable_bytes(std::span(&now, 1))).ok());
    EXPECT_EQ(now, instance == 0 ? -100.0f : other);
  }
}

TEST(Runner, MeasuresWhoIsFasterAndWhoIsNot) {
  Rig rig(scale());
  Verdict faster = rig.judge("faster");
  ASSERT_TRUE(faster.ok()) << faster.text();
  EXPECT_NEAR(faster.speedup(), 2, 1e-6);
  EXPECT_EQ(faster.timings.size(), 1u);  // The held-out instance is for confirmation.
  Verdict slower = rig.judge("slower");
  ASSERT_TRUE(slower.ok()) << slower.text();
  EXPECT_NEAR(slower.speedup(), 0.5, 1e-6);
  EXPECT_LE(slower.timings[0].samples, 2);
  Verdict confirmed = rig.judge("faster", true);
  ASSERT_TRUE(confirmed.ok()) << confirmed.text();
  EXPECT_EQ(confirmed.timings.size(), 2u);
  EXPECT_EQ(confirmed.timings[0].samples, 60);
}

TEST(Runner, TellsWhatIsWrongWithACandidate) {
  Rig rig(scale());
  Verdict wrong = rig.judge("wrong");
  EXPECT_EQ(wrong.outcome, Outcome::Wrong);
  EXPECT_EQ(wrong.stage, Stage::Verify);
  EXPECT_EQ(wrong.instance, "a");
  EXPECT_EQ(wrong.buffer, "out");
  EXPECT_EQ(wrong.index, 17u);
  EXPECT_THAT(wrong.detail, HasSubstr("1 of 3000 elements differ"));
  EXPECT_EQ(rig.judge("lazy").index, 4u);
  Verdict input = rig.judge("changes input");
  EXPECT_EQ(input.buffer, "in");
  EXPECT_THAT(input.detail, HasSubstr("does not write this buffer"));
  Verdict outside = rig.judge("outside");
  EXPECT_EQ(outside.outcome, Outcome::WroteOutside);
  EXPECT_THAT(outside.detail, HasSubstr("4 bytes after the end of out"));
  EXPECT_TRUE(rig.judge("faster").ok());
}

TEST(Runner, PoisonsAnOutputThatHoldsItsAnswerAlready) {
  MepFixture fixture = scale();
  MepRegion& out = fixture.mep.instances[1].regions[1];
  out.before = out.after;  // A later launch on equal inputs.
  Rig rig(std::move(fixture));
  ASSERT_TRUE(rig.report.pass()) << rig.trouble << rig.report.complaint();
  EXPECT_THAT(rig.announced, ::testing::Contains("poison 1 1"));
  Verdict idle = rig.judge("does nothing to the smaller");
  EXPECT_EQ(idle.outcome, Outcome::Wrong) << idle.text();
  EXPECT_EQ(idle.instance, "b");
  EXPECT_THAT(idle.detail, ::testing::Not(HasSubstr("does not write")));
  EXPECT_TRUE(rig.judge("faster").ok());
}

/// Launched again on the same inputs: nothing changes. `constant`: its input is known to be one.
MepFixture repeated(bool constant = true) {
  MepFixture fixture = scale();
  for (auto& instance : fixture.mep.instances)
    for (auto& region : instance.regions) region.before = region.after;
  fixture.mep.parameters[0].pointee_const = constant;
  return fixture;
}

TEST(Runner, FindsOutWhatIsWrittenThoughNothingEverChanged) {
  Rig rig(repeated());
  ASSERT_TRUE(rig.report.judges()) << rig.trouble << rig.report.complaint();
  EXPECT_THAT(rig.announced, ::testing::ElementsAre("poison unchanged out", "", "poison unchanged out", ""));
  EXPECT_GT(rig.report.instances[0].fastest_write_seconds, 0);
  Verdict nothing = rig.judge("does nothing");
  EXPECT_EQ(nothing.outcome, Outcome::Wrong) << nothing.text();
  EXPECT_THAT(nothing.detail, ::testing::Not(HasSubstr("does not write")));
  Verdict honest = rig.judge("faster", true);
  EXPECT_TRUE(honest.ok()) << honest.text();
  EXPECT_EQ(rig.judge("sees old answers", true).outcome, Outcome::Wrong);
}

TEST(Runner, SaysWhereNothingWouldShowThatACandidateDidAnything) {
  Rig rig(repeated(false), {}, "", "does nothing");
  ASSERT_TRUE(rig.report.pass()) << rig.trouble << rig.report.complaint();
  EXPECT_FALSE(rig.report.judges());
  EXPECT_THAT(rig.report.unverifiable, HasSubstr("no recorded launch of right changes anything in memory"));
}

TEST(Runner, TakesForAnInputWhatIsNotWrittenThoughItIsNotConst) {
  MepFixture fixture = scale(1 << 20);
  fixture.mep.parameters[0].pointee_const = false;
  Rig rig(std::move(fixture));
  ASSERT_EQ(rig.trouble, "");
  EXPECT_THAT(rig.announced, ::testing::ElementsAre("poison 0 1", "", "poison unchanged in", "", "poison 1 1", "",
                                                    "poison unchanged in", ""));
  EXPECT_THAT(rig.judge("too fast").detail, HasSubstr("right on 4 perturbed inputs"))
      << "swapped neighbours too, which outputs are not";
}

TEST(Runner, TriesNoFurtherOnWhatNeverChangedOnceItHasCostTwoProcesses) {
  RunnerSettings settings;
  settings.fatal = {"poison unchanged in"};
  Rig once(repeated(false), settings);
  EXPECT_TRUE(once.report.judges()) << once.trouble << once.report.complaint();
  EXPECT_THAT(once.announced, ::testing::Not(::testing::Contains("poison unchanged in")));
  settings.fatal.insert("poison unchanged other");
  Rig twice(repeated(false), settings);
  EXPECT_TRUE(twice.announced.empty());
  EXPECT_FALSE(twice.report.judges());
}

TEST(Runner, RacesAgainstWhatTheApplicationRunsWhenAsked) {
  Rig rig(scale(), {}, "slower");
  ASSERT_EQ(rig.trouble + rig.report.application_trouble, "");
  EXPECT_NEAR(rig.report.instances[0].seconds, 100e-6, 1e-9);
  EXPECT_NEAR(rig.report.instances[0].application_seconds, 200e-6, 1e-9);
  RunnableCode code;
  code.image = "faster";
  Inquiry inquiry;
  inquiry.against_application = true;
  EXPECT_NEAR(std::get<Verdict>(*rig.runner->evaluate(code, inquiry)).speedup(), 4, 1e-6);
  inquiry.against_application = false;
  EXPECT_NEAR(std::get<Verdict>(*rig.runner->evaluate(code, inquiry)).speedup(), 2, 1e-6);
}

TEST(Runner, RacesAgainstNothingElseWhereTheApplicationsCodeIsNotKnown) {
  Rig rig(scale());
  RunnableCode code;
  code.image = "faster";
  Inquiry inquiry;
  inquiry.against_application = true;
  Verdict verdict = std::get<Verdict>(*rig.runner->evaluate(code, inquiry));
  EXPECT_EQ(verdict.outcome, Outcome::Unstable) << verdict.text();
  EXPECT_THAT(verdict.detail, HasSubstr("the application's code is not known"));
  EXPECT_TRUE(verdict.timings.empty());
}

TEST(Runner, PutsBackAnInputThatWasAlteredWithinItsTolerance) {
  RunnerSettings settings;
  settings.tolerance = Tolerance{1e-4, 0};
  for (bool confirm : {false, true}) {
    Rig rig(scale(), settings);
    ASSERT_EQ(rig.trouble, "");
    EXPECT_TRUE(rig.judge("nudges its input", confirm).ok());
    Verdict next = rig.judge("wants its input");
    EXPECT_TRUE(next.ok()) << next.text();
  }
}

TEST(Runner, AllowsOnPerturbedInputsWhatRoundingDoesThere) {
  Rig strict(scale());
  Verdict refused = strict.judge("rounds other inputs otherwise", true);
  EXPECT_EQ(refused.outcome, Outcome::Wrong) << refused.text();
  EXPECT_THAT(refused.detail, HasSubstr("with inputs perturbed"));
  Rig other(scale(), {}, "rounds other inputs otherwise");
  ASSERT_EQ(other.trouble + other.report.application_trouble, "");
  Verdict allowed = other.judge("rounds other inputs otherwise", true);
  EXPECT_TRUE(allowed.ok()) << allowed.text();
  EXPECT_EQ(other.judge("knows by heart").outcome, Outcome::Wrong);
}

TEST(Runner, SaysWhyTheApplicationsCodeIsNotRacedAgainst) {
  for (auto [image, why] :
       {std::pair{"wrong", "does not reproduce the capture in out"}, {"too big", "cannot be run here"}}) {
    Rig rig(scale(), {}, image);
    EXPECT_TRUE(rig.report.pass());
    EXPECT_THAT(rig.report.application_trouble, HasSubstr(why));
    EXPECT_TRUE(rig.judge("faster").ok());
  }
}

TEST(Runner, SuspectsWhoIsFasterThanWritingAndConvictsWhoKnowsTheAnswerByHeart) {
  Rig rig(scale(1 << 20));
  Verdict suspect = rig.judge("too fast");
  EXPECT_EQ(suspect.outcome, Outcome::Suspect) << suspect.text();
  EXPECT_THAT(suspect.detail, HasSubstr("right on"));
  Verdict cheat = rig.judge("knows by heart");
  EXPECT_EQ(cheat.outcome, Outcome::Wrong) << cheat.text();
  EXPECT_THAT(cheat.detail, HasSubstr("on inputs perturbed afresh"));
}

TEST(ReplayMemory, HoldsNoAnswerThatASearchThroughAGpusMemoryWouldFind) {
  MepFixture fixture = scale();
  FakeDevice device(images());
  auto support = JudgingKernels::load(device);
  auto memory = ReplayMemory::place(device, fixture.mep, fixture.path());
  ASSERT_TRUE(support.ok() && memory.ok());
  const ReplayBuffer& out = (*memory)->instances()[0].regions[1];
  ASSERT_TRUE(out.changed());
  std::vector<std::byte> lies(out.size), answer(out.size);
  ASSERT_TRUE(device.read(out.answer, lies).ok());
  ASSERT_TRUE(read_answer(device, out, 0, answer).ok());
  auto recorded = *Mep::load(fixture.path(), fixture.mep.instances[0].regions[1].after);
  EXPECT_TRUE(std::ranges::equal(answer, recorded));
  size_t equal = 0;
  for (size_t at = 0; at < lies.size(); at += sizeof(float))
    equal += std::memcmp(&lies[at], &recorded[at], sizeof(float)) == 0;
  EXPECT_LT(equal, 3u);
}

TEST(Runner, CallsItCheatingToWriteResultsAfterTheEndOfALaunch) {
  Rig rig(scale());
  ASSERT_EQ(rig.trouble, "");
  auto* out = reinterpret_cast<float*>(kTestArena + (uint64_t(64) << 20));
  rig.device.meanwhile = [&] { std::for_each(out, out + 3000, [](float& one) { one += 1; }); };
  Verdict late = rig.judge("faster");
  EXPECT_EQ(late.outcome, Outcome::Cheated) << late.text();
  EXPECT_THAT(late.detail, HasSubstr("went on writing its results"));
}

TEST(Runner, CallsItCheatingToKeepResultsFromLaunchToLaunch) {
  Rig rig(scale());
  ASSERT_EQ(rig.trouble, "");
  Verdict keeps = rig.judge("keeps results", true);
  EXPECT_EQ(keeps.outcome, Outcome::Cheated) << keeps.text();
  EXPECT_THAT(keeps.detail, HasSubstr("it keeps results from launch to launch: 10 us where"));
  Verdict uses = rig.judge("has a variable of its own", true);
  EXPECT_TRUE(uses.ok()) << uses.text();
}

TEST(Runner, CatchesWhoSkipsWorkThatLooksDone) {
  Rig rig(scale());
  Verdict caught = rig.judge("sees old answers", true);
  EXPECT_EQ(caught.outcome, Outcome::Wrong) << caught.text();
  EXPECT_THAT(caught.detail, HasSubstr("over an older answer"));
}

TEST(Runner, IsOfNoFurtherUseAfterAFaultOrAHang) {
  for (auto [image, outcome] : {std::pair{"faults", Outcome::Crashed}, {"hangs", Outcome::TimedOut}}) {
    Rig rig(scale());
    EXPECT_EQ(rig.judge(image).outcome, outcome);
    EXPECT_FALSE(rig.runner->usable());
  }
}

TEST(Runner, SeesWhatIsWrittenBesideTheMemoryThatIsLent) {
  Rig rig(scale());
  auto judge = [&](const std::string& image) {
    RunnableCode code;
    code.image = image;
    code.scratch = {{*Expression::parse("1000"), false}};
    return std::get<Verdict>(rig.runner->evaluate(code, {}).value_or(Verdict{}));
  };
  EXPECT_TRUE(judge("uses scratch").ok()) << judge("uses scratch").text();
  Verdict behind = judge("behind its scratch");
  EXPECT_EQ(behind.outcome, Outcome::WroteOutside) << behind.text();
  EXPECT_THAT(behind.detail, HasSubstr("0 bytes after the end of its scratch memory 1"));
  Verdict before = judge("before its scratch");
  EXPECT_EQ(before.outcome, Outcome::WroteOutside) << before.text();
  EXPECT_THAT(before.detail, HasSubstr("3 bytes before the start of its scratch memory 1"));
  EXPECT_TRUE(judge("uses scratch").ok()) << "the next one has canaries of its own";
}

TEST(Runner, SaysWhatLimitsTheBlocksThatAreResidentAtOnce) {
  auto limit = [](const std::string& image, uint32_t most_blocks = 32) {
    Rig rig(scale(), {}, "", image);
    DeviceFacts& device = rig.device.editable_facts();
    device.blocks_per_multiprocessor = most_blocks, device.registers_per_multiprocessor = 64 << 10;
    device.shared_per_multiprocessor = 228 << 10, device.shared_taken_per_block = 1 << 10;
    auto facts = rig.runner->kernel_facts({});
    return facts.ok() ? facts->limited_by : facts.error().message;
  };
  EXPECT_EQ(limit("full"), "") << "all threads that there is room for";
  EXPECT_EQ(limit("many registers"), "registers");
  EXPECT_EQ(limit("much shared"), "shared memory");
  EXPECT_EQ(limit("few blocks", 8), "blocks");
  EXPECT_EQ(limit("whoever knows"), "") << "what the driver counts otherwise is not explained";
}

TEST(Runner, LaunchesAsTheApplicationDid) {
  MepFixture fixture = scale();
  for (auto& instance : fixture.mep.instances)
    instance.settings.priority = -3, instance.settings.carveout = 40, instance.settings.cache_config = 2,
    instance.settings.cluster_policy = 1;
  Rig rig(std::move(fixture));
  fake::last_launch = {};
  EXPECT_TRUE(rig.judge("faster").ok());
  EXPECT_EQ(fake::last_launch.priority, -3);
  EXPECT_EQ(fake::last_launch.carveout, 40);
  EXPECT_EQ(fake::last_launch.cache_config, 2);
  EXPECT_EQ(fake::last_launch.cluster_policy, 1);
}

TEST(Runner, BlamesNoCandidateForAGpuThatFails) {
  Rig rig(scale());
  RunnableCode code;
  code.image = "is lost";
  auto evaluation = rig.runner->evaluate(code, {});
  auto* none = evaluation ? std::get_if<NotJudged>(&*evaluation) : nullptr;
  ASSERT_TRUE(none);
  EXPECT_THAT(none->why, HasSubstr("the GPU itself failed: uncorrectable ECC error"));
  EXPECT_FALSE(rig.runner->usable());
  Rig other(scale());
  EXPECT_EQ(other.judge("faults").outcome, Outcome::Crashed);
}

TEST(Runner, SaysWhichSamplesWereTakenWhileTheClockWasHeldDown) {
  Rig rig(scale());
  EXPECT_EQ(rig.judge("faster").throttled_samples, 0);
  rig.device.throttled = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // The clocks are not looked at all the time.
  Verdict verdict = rig.judge("faster");
  EXPECT_GT(verdict.throttled_samples, 0) << verdict.text();
  EXPECT_THAT(verdict.detail, HasSubstr("clock was held down"));
}

TEST(Runner, TakesSamplesAgainThatWereTakenWhileTheClockWasHeldDown) {
  Rig rig(scale());
  for (int runs_before_the_end : {2, 3}) {
    ASSERT_TRUE(rig.judge("faster", true).ok()) << "what is learned once is known from now on";
    int begun = rig.device.runs;
    ASSERT_TRUE(rig.judge("faster", true).ok());
    // Before the last samples are taken; two runs after them verify.
    rig.device.throttled_from = rig.device.runs + (rig.device.runs - begun) - runs_before_the_end;
    Verdict verdict = rig.judge("faster", true);
    ASSERT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_EQ(rig.device.throttled_from, 0) << "somebody looked";
    EXPECT_EQ(verdict.throttled_samples, 0) << verdict.text();
    ASSERT_EQ(verdict.timings.size(), 2u);
    for (auto& timing : verdict.timings) {
      EXPECT_NEAR(timing.seconds, 50e-6, 1e-9) << timing.instance;
      EXPECT_EQ(timing.samples, verdict.timings[0].samples);
    }
  }
}

TEST(Runner, WaitsLessAndLessForAClockThatStaysHeldDown) {
  Rig rig(scale());
  rig.device.throttled = true;
  auto begin = Deadline::clock::now();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(rig.judge("faster", true).ok());
  EXPECT_LT(Deadline::clock::now() - begin, std::chrono::seconds(20));
}

TEST(Runner, RefusesWhatTheDeviceCannotHold) {
  Rig rig(scale());
  Verdict verdict = rig.judge("too big");
  EXPECT_EQ(verdict.outcome, Outcome::OverResources);
  EXPECT_EQ(verdict.stage, Stage::Launch);
  EXPECT_THAT(verdict.detail, HasSubstr("bytes of shared memory per block: 307200, limit 232448"));
  EXPECT_TRUE(rig.runner->usable());
}

TEST(Runner, NamesTheFeatureThatAnOlderGpuLacks) {
  MepFixture fixture = scale();
  fixture.mep.instances[0].settings.known = true, fixture.mep.instances[0].settings.cluster = {4, 1, 1};
  FakeDevice device(images());
  device.editable_facts().arch = "sm_80";
  auto runner = Runner::create(device, fixture.mep, fixture.path(), {}, [](const std::string&) {});
  ASSERT_TRUE(runner.ok()) << runner.error().message;
  Original original;
  original.code.image = "original";
  auto report = (*runner)->calibrate(original);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message,
              HasSubstr("needs clusters of blocks, which sm_80 does not have (sm_90 and later do)"));
}

TEST(Runner, CopiesOnlyWhatMayHaveChanged) {
  Rig rig(scale(1 << 20));
  auto copied = [&](const char* first) {
    uint64_t least = ~uint64_t(0);  // Results of launches that are compared, by chance, are copied as well.
    for (int i = 0; i < 6; ++i) {
      rig.judge(first);
      uint64_t before = rig.device.copied_bytes;
      rig.judge("slower");
      least = std::min(least, rig.device.copied_bytes - before);
    }
    return least;
  };
  const uint64_t quiet = copied("slower");
  // Two instances at the same addresses: their inputs are exchanged each time, never more after a good candidate.
  EXPECT_LT(quiet, copied("wrong") + 4096) << "but for a few bytes: how many launches are compared is chance";
  EXPECT_LT(quiet, uint64_t(28) << 20);
}

TEST(Runner, RelocatesWhenAnAddressCannotBeHadAndSaysSo) {
  MepFixture fixture = scale();
  FakeDevice device(images());
  device.refused.insert(kTestArena);
  auto runner = Runner::create(device, fixture.mep, fixture.path(), {}, [](const std::string&) {});
  ASSERT_TRUE(runner.ok()) << runner.error().message;
  ASSERT_EQ((*runner)->notes().size(), 1u);
  EXPECT_THAT((*runner)->notes()[0], HasSubstr("relocated"));
  Original original;
  original.code.image = "original";
  auto report = (*runner)->calibrate(original);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->complaint();
}

TEST(Runner, RelocatesTheArgumentsThatAreAddressesByTheirTypesWhereverTheyLie) {
  MepFixture fixture = scale();
  // A packed structure: one byte, an address, and a number that looks like one.
  const uint64_t words[] = {kTestArena + 8, kTestArena + 16};
  std::vector<std::byte> packed(1 + sizeof words);
  std::memcpy(packed.data() + 1, words, sizeof words);
  fixture.mep.instances[0].arguments = packed;
  fixture.mep.instances[0].arguments_typed = true, fixture.mep.instances[0].argument_pointers = {1};
  FakeDevice device(images());
  device.refused.insert(kTestArena);
  auto memory = ReplayMemory::place(device, fixture.mep, fixture.path());
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  uint64_t now[2];
  std::memcpy(now, (*memory)->instances()[0].arguments.data() + 1, sizeof now);
  auto& regions = (*memory)->instances()[0].regions;
  auto in = std::find_if(regions.begin(), regions.end(), [](auto& region) { return region.name == "in"; });
  ASSERT_NE(in, regions.end());
  EXPECT_NE(in->live, kTestArena);
  EXPECT_EQ(now[0], in->live + 8);
  EXPECT_EQ(now[1], words[1]);
}

TEST(Runner, RelocatesTheAddressesThatModuleVariablesHold) {
  MepFixture fixture = scale();
  const uint64_t recorded = kTestArena + 8;
  for (const char* element : {"pointer", "unsigned long"}) {
    MepVariable variable;
    variable.name = variable.key = element, variable.element = element, variable.size = sizeof recorded;
    variable.before = variable.after = *Mep::store(fixture.path(), std::as_bytes(std::span(&recorded, 1)));
    fixture.mep.instances[0].variables.push_back(variable);
  }
  FakeDevice device(images());
  device.refused.insert(kTestArena);
  auto memory = ReplayMemory::place(device, fixture.mep, fixture.path());
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  auto& instance = (*memory)->instances()[0];
  auto in = std::ranges::find(instance.regions, "in", [](auto& region) { return region.name; });
  ASSERT_NE(in, instance.regions.end());
  auto value = [&](const std::string& name) {
    auto found = std::ranges::find(instance.variables, name, [](auto& variable) { return variable.name; });
    uint64_t word = 0;
    EXPECT_TRUE(device.read(found->given, std::as_writable_bytes(std::span(&word, 1))).ok());
    return word;
  };
  EXPECT_NE(in->live, kTestArena);
  EXPECT_EQ(value("pointer"), in->live + 8);
  EXPECT_EQ(value("unsigned long"), recorded) << "a number that looks like an address";
}

TEST(Runner, SaysHowManyBytesDoNotFit) {
  MepFixture fixture = scale(1 << 20);
  FakeDevice device(images());
  device.editable_facts().free_bytes = 4 << 20;
  auto runner = Runner::create(device, fixture.mep, fixture.path(), {}, [](const std::string&) {});
  ASSERT_FALSE(runner.ok());
  EXPECT_THAT(runner.error().message, HasSubstr("4 MiB of fake are free"));
}

}  // namespace
}  // namespace kernelift::sandbox
