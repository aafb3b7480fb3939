// What check mode's findings mean: those of the candidate, held against those of the original. The fake device reports
// what its images say.
#include "sandbox/evaluate/runner/check_mode.h"

#include <gmock/gmock.h>

#include "core/tests/expression_literal.h"
#include "sandbox/evaluate/runner/runner.h"
#include "sandbox/evaluate/runner/tests/fake_images.h"
#include "sandbox/evaluate/size_plan.h"

namespace kernelift::sandbox {
namespace {

AccessFinding finding(FindingKind kind, const std::string& object) {
  AccessFinding made;
  made.kind = kind, made.object = object;
  made.access.place = "kernel.cu:3", made.other = made.access;
  return made;
}

/// Images of the original "seconds" long, and candidates that have findings.
std::map<std::string, FakeImage> images(double seconds) {
  auto all = fake::images();
  auto add = [&](const std::string& name, std::vector<AccessFinding> findings, bool right = true) {
    all[name].kernels["right"] = fake::kernel([=](const fake::Scale& call) {
      call.run();
      if (!right) call.out[17] += 1;
      return FakeRun{seconds, DeviceFault::None, {}, findings};
    });
    all[name].variables["bias"] = sizeof(float);
  };
  const AccessFinding race = finding(FindingKind::Race, "tile"), other = finding(FindingKind::Race, "out");
  add("clean", {});
  add("wrong", {}, false);
  add("races", {race});
  add("races twice", {finding(FindingKind::Uninitialised, "tile"), other, race});
  add("reads too early", {finding(FindingKind::Uninitialised, "tile")});
  add("uses what it reads too early", {finding(FindingKind::Uninitialised, "tile")}, false);
  add("strays", {finding(FindingKind::OutOfBounds, "in")});
  // As where its code is read from a file that the machine has not read yet.
  all["slow at first"] = all["races at one"] = all["takes long in check mode"] = all["clean"];
  all["slow at first"].kernels["right"] = fake::kernel(
      [runs = 0](const fake::Scale& call) mutable { return call.run(), FakeRun{runs++ == 0 ? 0.05 : 100e-6}; });
  all["races at one"].kernels["right"] = fake::kernel([=](const fake::Scale& call) {
    call.run();
    return FakeRun{seconds, DeviceFault::None, {}, call.n == 1 ? std::vector{race} : std::vector<AccessFinding>()};
  });
  all["takes long in check mode"].kernels["right"] =
      fake::kernel([](const fake::Scale& call) { return call.run(), FakeRun{1.99}; });
  AccessFinding beside = finding(FindingKind::OutOfBounds, "count");
  beside.access.write = true;
  add("writes beside", {beside});
  all["ends beside"] = all["clean"];
  all["ends beside"].kernels["right"] =
      fake::kernel([](const fake::Scale& call) { return call.run(), call.out[call.n + 1] = 0, FakeRun{}; });
  all["ends beside at one"] = all["clean"];
  all["ends beside at one"].kernels["right"] = fake::kernel([=](const fake::Scale& call) {
    call.run();
    if (call.n == 1) call.out[3000 / 2 + 2] = 0;  // Behind the smaller instance.
    return FakeRun{seconds};
  });
  return all;
}

struct Rig {
  /// `check_seconds`: RunnerSettings'.
  explicit Rig(const std::string& original, double seconds = 100e-6, double check_seconds = 0,
               const std::string& unchecked = "clean")
      : fixture(fake::scale()), device(images(seconds)) {
    LaunchSite& site = fixture.mep.launches.emplace_back();
    site.grid[0] = "(n + 127) / 128"_e, site.grid[1] = site.grid[2] = "1"_e;
    site.block[0] = "128"_e, site.block[1] = site.block[2] = "1"_e;
    site.argument_text = {"in", "out", "n", "factor"};
    RunnerSettings settings;
    settings.check_seconds = check_seconds;
    runner = std::move(*Runner::create(device, fixture.mep, fixture.path(), settings, [](const std::string&) {}));
    Original code;
    code.code.checked = original;
    if (check_seconds == 0) code.code.image = unchecked;
    auto report = runner->calibrate(code);
    EXPECT_TRUE(report.ok() && (check_seconds > 0 || report->pass()));
  }
  Verdict check(const std::string& image, bool confirm = false) {
    RunnableCode code;
    code.image = image;
    Inquiry inquiry;
    inquiry.check = true, inquiry.confirm = confirm;
    return std::get<Verdict>(*runner->evaluate(code, inquiry));
  }
  Verdict check_at_other_sizes(const std::string& image) {
    RunnableCode code;
    code.image = image;
    Inquiry inquiry;
    inquiry.check = inquiry.confirm = true, inquiry.sizes = plan_sizes(fixture.mep, {Candidate()});
    return std::get<Verdict>(*runner->evaluate(code, inquiry));
  }
  MepFixture fixture;
  FakeDevice device;
  std::unique_ptr<Runner> runner;
};

TEST(CheckMode, RefusesWhatRacesWhereTheOriginalDoesNot) {
  Rig rig("clean");
  EXPECT_TRUE(rig.check("clean").ok());
  EXPECT_EQ(rig.check("clean").detail, "");
  const Verdict verdict = rig.check("races");
  EXPECT_EQ(verdict.outcome, Outcome::Unstable);
  EXPECT_EQ(verdict.stage, Stage::Verify);
  EXPECT_EQ(verdict.instance, rig.fixture.mep.instances[0].id);
  EXPECT_THAT(verdict.detail, ::testing::HasSubstr("tile[0] at kernel.cu:3"));
  EXPECT_EQ(rig.check("strays").outcome, Outcome::Crashed);
}

TEST(CheckMode, LooksAtOtherSizesHoweverLongTheFirstRunTook) {
  for (const char* unchecked : {"clean", "slow at first"}) {
    Rig rig("clean", 100e-6, 0, unchecked);
    const Verdict verdict = rig.check_at_other_sizes("races at one");
    EXPECT_EQ(verdict.outcome, Outcome::Unstable) << unchecked;
    ASSERT_TRUE(verdict.sizes_run && verdict.sizes_run->wrong);
    EXPECT_EQ(verdict.sizes_run->wrong->size.text(), "n = 1");
  }
}

TEST(CheckMode, WhereTheOriginalWritesBesideItsMemoryNoCandidateIsWrong) {
  Rig clean("clean"), astray("ends beside at one");
  EXPECT_EQ(clean.check_at_other_sizes("ends beside at one").outcome, Outcome::WroteOutside);
  const Verdict verdict = astray.check_at_other_sizes("ends beside at one");
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  EXPECT_EQ(verdict.sizes_run->dropped.at(0).why, "the original leaves its memory there");
}

TEST(CheckMode, SaysAtHowManySizesItDidNotLook) {
  Rig rig("takes long in check mode");
  EXPECT_THAT(
      rig.check_at_other_sizes("clean").detail,
      ::testing::MatchesRegex("not checked for races and bounds at [1-9][0-9]* of [1-9][0-9]* other sizes: that "
                              "would take longer than 2 s"));
}

TEST(CheckMode, LetsACandidateDoWhatTheOriginalDoesToTheSameObjectAndNoMore) {
  Rig rig("races");
  EXPECT_TRUE(rig.check("races").ok());
  const Verdict verdict = rig.check("races twice");
  EXPECT_EQ(verdict.outcome, Outcome::Unstable);
  EXPECT_THAT(verdict.detail, ::testing::HasSubstr("out[0]"));
}

TEST(CheckMode, CallsAReadBeforeAnyWriteAMistakeOnlyIfTheResultsAreWrong) {
  Rig rig("clean");
  EXPECT_TRUE(rig.check("reads too early").ok());
  EXPECT_EQ(rig.check("uses what it reads too early").outcome, Outcome::Unstable);
}

TEST(CheckMode, SaysWhatItHadNoTimeForAndGivesAFinalistMore) {
  Rig rig("clean", 0.5);
  EXPECT_EQ(rig.check("races").detail, "not checked for races and bounds: that would take longer than 2 s");
  EXPECT_TRUE(rig.check("races").ok());
  EXPECT_EQ(rig.check("races", true).outcome, Outcome::Unstable);
}

TEST(CheckMode, AWriteBesideWhatItIsLentIsWrittenOutsideHoweverItIsFound) {
  Rig rig("clean", 100e-6, 10);
  EXPECT_EQ(rig.check("writes beside").outcome, Outcome::WroteOutside);
  const Verdict ended = rig.check("ends beside");
  EXPECT_EQ(ended.outcome, Outcome::WroteOutside) << ended.text();
  EXPECT_EQ(ended.detail, "4 bytes after the end of out");
  EXPECT_TRUE(rig.check("clean").ok()) << "what one wrote there does not count against the next";
}

TEST(CheckMode, NeedsNoCalibrationWhereItIsAllThatIsAsked) {
  Rig rig("races", 100e-6, 10);
  EXPECT_EQ(rig.check("races").detail, "");
  EXPECT_EQ(rig.check("strays").outcome, Outcome::Crashed);
  EXPECT_EQ(rig.check("uses what it reads too early").outcome, Outcome::Unstable);
}

TEST(CheckMode, LeavesAReadBeforeAnyWriteOpenWhereTheOriginalsResultsAreOtherThanRecorded) {
  Rig rig("uses what it reads too early", 100e-6, 10);
  EXPECT_TRUE(rig.check("uses what it reads too early").ok());
  Rig wrong("wrong", 100e-6, 10);
  EXPECT_TRUE(wrong.check("uses what it reads too early").ok());
}

TEST(CheckMode, EndsAtItsLimitWhereNothingIsKnownOfDurations) {
  Rig rig("clean", 4, 10);
  EXPECT_EQ(rig.check("clean").detail, "");
  EXPECT_EQ(Rig("clean", 6, 10).check("strays").outcome, Outcome::Crashed) << "the first input is checked";
  EXPECT_EQ(Rig("clean", 6, 10).check("clean").detail,
            "not checked for races and bounds on 1 of 2 recorded inputs: that would take longer than 10 s");
  EXPECT_EQ(Rig("clean", 40, 10).check("races").detail,
            "not checked for races and bounds: the original cannot be checked: there it takes longer than 10 s");
}

TEST(CheckMode, SaysThatNothingIsCheckedWithoutTheOriginal) {
  Rig rig("");
  EXPECT_TRUE(rig.check("races").ok());
  EXPECT_EQ(rig.check("races").detail, "not checked for races and bounds: the original does not compile for it");
}

}  // namespace
}  // namespace kernelift::sandbox
