// Which candidate of a run is applied: the best one that can be patched in and whose gain is confirmed.
#include "reintegrate/apply_best.h"

#include <csignal>

#include "reintegrate/interruption.h"
#include "reintegrate/patch_variant.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

Verdict timed(double speedup) {
  Verdict verdict;
  verdict.stage = Stage::Time;
  verdict.timings = {{"0001", 1, speedup, 1, speedup, speedup - 0.01, speedup + 0.01, 20, false}};
  return verdict;
}

class ApplyBest : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    keep_whatever_is_measured();
  }
  /// A candidate in which the first `from` is replaced by `to`.
  tuner::RunTrial trial(double speedup, const std::string& from, const std::string& to) {
    tuner::RunTrial made;
    made.id = static_cast<int64_t>(offer.promising.size()) + 1;
    made.candidate.source = request.original;
    size_t at = made.candidate.source.find(from);
    EXPECT_NE(at, std::string::npos);
    made.candidate.source.replace(at, from.size(), to);
    made.candidate.tier = "source", made.candidate.steps = {Step::described(to)};
    made.verdict = timed(speedup);
    return made;
  }
  void confirmed(double speedup, const std::string& from, const std::string& to) {
    offer.promising.push_back(trial(speedup, from, to));
    offer.promising.back().confirmed = offer.promising.back().verdict;
  }
  void screened(double speedup, const std::string& from, const std::string& to) {
    offer.promising.push_back(trial(speedup, from, to));
  }
  /// A confirmed candidate that no source patch can express, because it needs device memory of its own.
  void unpatchable(double speedup) {
    confirmed(speedup, "0.05", "0.02");
    offer.promising.back().candidate.scratch.push_back({});
  }

  /// The kernel cannot have a constant of its own in place of BLOCK.
  void use_block_outside() {
    text.replace(text.find("// The kernel."), 14, "#define HALF (BLOCK / 2)");
    write("src/k.cu", text), slice();
  }
  void share_block(const std::string& file) {
    offer.kernel_share = 0.5;
    const uint64_t at = read(file).find("64");
    request.mep.knobs = {{"BLOCK", 64, {file, at, at + 2, 2, 2}, true, true, true, {"1234abcd", "00000005"}}};
    auto& kernels = request.scan.emplace().kernels;
    kernels.resize(2);
    kernels[0].id = "1234abcd", kernels[0].key = request.mep.kernel_key, kernels[1].id = "00000005",
    kernels[1].key = kernels[1].name = "blur";
  }

  /// Half of the run time is this kernel, the other half is `blur`, which uses BLOCK too. Adds a candidate that sets
  /// BLOCK, and the effect of that on blur. A constant of its own the kernel cannot have: its text uses BLOCK
  /// elsewhere.
  void shared(double speedup, int64_t block, OtherKernel blur) {
    if (!request.scan) {
      use_block_outside();
      share_block("src/config.h");
      offer.judge_others = [&](const std::vector<SharedKnobs>& changes) {
        InterruptGuard guard;
        if (interrupted) raise(SIGINT);
        std::vector<std::vector<OtherKernel>> all;
        for (auto& change : changes) all.push_back({becomes.at(change.knobs.at("BLOCK"))});
        judged.push_back(changes.size());
        return all;
      };
    }
    confirmed(speedup, "0.05", "0.01");
    offer.promising.back().candidate.values["BLOCK"] = block;
    blur.share = 0.5;
    if (blur.speedup > 0) blur.found = OtherKernel::Found::Right;
    becomes[block] = blur;
  }

  Result<ApplyReport> go() {
    offer.request = request;
    offer.request.progress = [&](const std::string& line) { said += line + "\n"; };
    return apply_best(offer, [&](const tuner::RunTrial& asked) -> Result<Verdict> {
      asked_for.push_back(asked.id);
      return timed(truth);
    });
  }
  ApplyReport must_go() {
    auto report = go();
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : ApplyReport{};
  }

  std::string text = kKernelText;  ///< Of the kernel's file before any patch.
  RunOffer offer;
  double truth = 1;                        ///< Speedup that a confirmation finds.
  std::vector<int64_t> asked_for;          ///< Candidates whose confirmation was requested.
  std::map<int64_t, OtherKernel> becomes;  ///< Effect on blur by the value of BLOCK.
  std::vector<size_t> judged;              ///< Number of changes in each call of judge_others.
  bool interrupted = false;                ///< Whether judge_others is interrupted.
  std::string said;
};

TEST(PatchVariantTest, IsWorthLessTheMoreItAsksOfAMaintainer) {
  PatchVariant plain;
  plain.trial.confirmed = timed(1.5);
  plain.trial.candidate.steps = {Step::described("unroll")};
  PatchVariant longer = plain, careless = plain, as_ptx = plain;
  longer.trial.candidate.steps.push_back(Step::described("unroll once more"));
  careless.trial.candidate.steps[0].effects = {"lowers the precision of expf"};
  as_ptx.embedded = true, as_ptx.trial.confirmed->embedded = RaceFigures{1.5, 1.49};
  EXPECT_LT(longer.worth(), plain.worth());
  EXPECT_LT(careless.worth(), longer.worth());
  EXPECT_LT(as_ptx.worth(), careless.worth());
  longer.trial.confirmed = timed(1.52);
  EXPECT_GT(longer.worth(), plain.worth()) << "a real gain counts for more than a step";
}

TEST_F(ApplyBest, TriesTheNextCandidateWhenTheBestCannotBePatchedIn) {
  unpatchable(3);
  confirmed(1.5, "0.05", "0.01");
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 2);
  EXPECT_EQ(*read_json(root / ".kernelift/apply/1/report.json"), to_json(report))
      << "the same report is written beside the originals";
  EXPECT_DOUBLE_EQ(report.predicted.kernel_gain, 1.5);
  ASSERT_EQ(report.passed_over.size(), 1u);
  EXPECT_NE(report.passed_over[0].text().find("#1 (source: 0.02, 3.00x): the candidate needs device memory of its own"),
            std::string::npos);
  EXPECT_NE(said.find("passing over #1"), std::string::npos);
}

/// The kernel's own file, and one that only the first candidate changes.
class ApplyBestInGit : public ApplyBest {
 protected:
  void SetUp() override {
    ApplyBest::SetUp();
    use_block_outside();
    request.mep.functions = {{"sleepy", (root / "src/k.cu").string(), 3, 6}};
    const uint64_t at = read("src/config.h").find("64");
    request.mep.knobs = {{"BLOCK", 64, {"src/config.h", at, at + 2, 2, 2}, true, true, true, {}}};
    confirmed(2, "0.05", "0.02");
    offer.promising.back().candidate.values["BLOCK"] = 128;
    confirmed(1.5, "0.05", "0.01");
  }
};

TEST_F(ApplyBestInGit, TriesTheNextCandidateWhereAFileOfTheBestIsNotTracked) {
  make_git();
  shell("git rm -q --cached src/config.h && git commit -q -m less");
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 2);
  ASSERT_EQ(report.passed_over.size(), 1u);
  EXPECT_NE(report.passed_over[0].text().find("src/config.h is not tracked by git, though other files"),
            std::string::npos)
      << report.passed_over[0].text();
}

TEST_F(ApplyBestInGit, TriesTheNextCandidateWhereAFileOfTheBestHasUncommittedChangesOrIsReadOnly) {
  make_git();
  write("src/config.h", read("src/config.h") + "\n");
  EXPECT_EQ(must_go().candidate, 2);
  shell("git checkout -q main && git checkout -q src/config.h && chmod a-w src/config.h");
  EXPECT_EQ(must_go().candidate, 2);
}

TEST_F(ApplyBestInGit, EndsAtOnceWhereTheKernelsOwnFileHasUncommittedChanges) {
  make_git();
  write("src/k.cu", read("src/k.cu") + "\n");
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Refused);
  EXPECT_NE(report.error().message.find("src/k.cu has uncommitted changes"), std::string::npos)
      << report.error().message;
  EXPECT_EQ(said.find("passing over"), std::string::npos) << "no other candidate could be committed either";
  offer.request = request;
  auto shown = preview_best(offer);
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ(shown->candidate, 1) << "what a patch would be can be seen all the same";
}

TEST_F(ApplyBest, PassesOverAScreenedCandidateWhoseGainIsNotConfirmed) {
  screened(2, "0.05", "0.08");
  confirmed(1.5, "0.05", "0.01");
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 2);
  EXPECT_EQ(asked_for, std::vector<int64_t>{1});
  EXPECT_NE(said.find("when confirmed, its speedup may be as low as 0.990x"), std::string::npos) << said;
}

TEST_F(ApplyBest, AppliesAScreenedCandidateWhoseGainIsConfirmed) {
  screened(2, "0.05", "0.01");
  truth = 1.8;
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_DOUBLE_EQ(report.predicted.kernel_gain, 1.8);
}

TEST_F(ApplyBest, PrefersAConfirmedFigureToAScreenedOneThatIsNearlyAsGood) {
  screened(1.55, "0.05", "0.02");
  confirmed(1.5, "0.05", "0.01");
  EXPECT_EQ(must_go().candidate, 2);
  EXPECT_TRUE(asked_for.empty());
}

TEST_F(ApplyBest, TriesTheNextCandidateWhenTheCheckFails) {
  confirmed(2, "0.05", "0.02);  // wrong (");
  confirmed(1.5, "0.05", "0.01");
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 2);
  ASSERT_EQ(report.passed_over.size(), 1u);
  EXPECT_NE(report.passed_over[0].text().find("check fails with the patch"), std::string::npos);
}

TEST_F(ApplyBest, TriesExactCandidatesAfterTheCheckFailedForOneThatLostDigits) {
  auto lost = [&](double ulps) {
    auto& trial = offer.promising.back();
    (trial.confirmed ? *trial.confirmed : trial.verdict).largest_ulps = ulps;
  };
  offer.own_ulps = 1;
  confirmed(2, "0.05", "0.02);  // wrong ("), lost(40);
  confirmed(1.9, "0.05", "0.03);  // wrong ("), lost(60);
  confirmed(1.7, "0.05", "0.04"), lost(7);
  confirmed(1.5, "0.05", "0.01"), lost(1);
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 4) << "as exact as the original";
  ASSERT_EQ(report.passed_over.size(), 1u);
  EXPECT_NE(report.passed_over[0].text().find("check fails with the patch"), std::string::npos)
      << report.passed_over[0].text();
  EXPECT_NE(report.passed_over[0].text().find("up to 40 units in the last place from the recorded ones"),
            std::string::npos)
      << report.passed_over[0].text();
  EXPECT_NE(said.find("going on with candidates whose results are closer to the recorded ones"), std::string::npos)
      << said;
  EXPECT_EQ(said.find("trying the next, #2"), std::string::npos) << said;
}

TEST_F(ApplyBest, EndsWhenAllOthersLoseAsManyDigitsAsTheOneThatFailedTheCheck) {
  for (double speedup : {2.0, 1.9}) {
    confirmed(speedup, "0.05", "0.02);  // wrong " + std::to_string(speedup) + " (");
    offer.promising.back().confirmed->largest_ulps = 40;
  }
  ApplyReport report = must_go();
  EXPECT_EQ(report.outcome, ApplyOutcome::CheckFailed);
  EXPECT_EQ(report.candidate, 1);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes.back().find("1 other not tried: the check failed with #1"), std::string::npos)
      << report.notes.back();
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyBest, StopsAtTheFirstCandidateThatDoesNotMakeTheApplicationFaster) {
  request.trial = {.most_pairs = 6};
  confirmed(2, "0.05", "0.06");
  confirmed(1.5, "0.05", "0.01");
  ApplyReport report = must_go();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotFaster);
  EXPECT_EQ(report.candidate, 1);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyBest, GivesTheKernelAConstantOfItsOwnInPlaceOfOneThatAnotherKernelUses) {
  text.replace(text.find("#include \"config.h\""), 19, "#define BLOCK 64");
  text.replace(text.find("a[0]"), 4, "a[BLOCK]");
  write("src/k.cu", text), slice();
  share_block("src/k.cu");
  offer.judge_others = [](auto&) { return ADD_FAILURE(), std::vector<std::vector<OtherKernel>>(1); };
  confirmed(1.5, "64", "128");
  auto& candidate = offer.promising.back().candidate;
  candidate.source.replace(candidate.source.find("0.05"), 4, "0.01"), candidate.values["BLOCK"] = 128;
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  const std::string patched = read("src/k.cu");
  EXPECT_TRUE(patched.starts_with("#define BLOCK 64\n#define sleepy_BLOCK 128\n// The kernel.\n")) << patched;
  EXPECT_NE(patched.find("  a[sleepy_BLOCK] = 1.0;\n}\n#undef sleepy_BLOCK\n"), std::string::npos) << patched;
  EXPECT_FALSE(report.predicted.others.size());
}

TEST_F(ApplyBest, AsksWhatACandidateNeedsOfConstantsOnceMoreWhenItIsConfirmed) {
  std::vector<bool> confirmed_then;
  offer.ask_constants = [&](const Candidate&, const Verdict& figures) -> Result<Bindings> {
    confirmed_then.push_back(figures.speedup() == truth);
    return Bindings();
  };
  truth = 1.4;
  screened(1.6, "0.05", "0.01");
  EXPECT_TRUE(must_go().kept());
  EXPECT_EQ(confirmed_then, (std::vector<bool>{false, true}));
}

TEST_F(ApplyBest, PassesOverACandidateOfWhichItIsNotKnownWhatItNeedsOfConstants) {
  confirmed(1.5, "0.05", "0.01");
  offer.ask_constants = [](auto&, auto&) -> Result<Bindings> { return environment_error("no worker"); };
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("what it needs of constants is not known: no worker"), std::string::npos)
      << report.error().message;
}

TEST_F(ApplyBest, PassesOverACandidateThatSlowsAnotherKernelBeforeAnythingIsBuilt) {
  shared(1.5, 128, {.name = "blur", .speedup = 0.75});
  confirmed(1.2, "0.05", "0.02");
  request.build += " && echo built >> builds";
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 2);
  ASSERT_EQ(report.passed_over.size(), 1u);
  EXPECT_NE(report.passed_over[0].text().find(
                "BLOCK is also used by blur; with the new values they become blur (50.0 % of the run) "
                "0.75x: predicted for the application is 1.000x, and 1.200x if this kernel had"),
            std::string::npos)
      << report.passed_over[0].text();
  EXPECT_TRUE(report.predicted.others.empty());
  EXPECT_EQ(read("src/config.h").find("128"), std::string::npos);
  EXPECT_EQ(read("builds"), "built\nbuilt\nbuilt\nbuilt\n") << "one patch takes four builds";
}

TEST_F(ApplyBest, PrefersTheCandidateWithTheLargestGainForTheApplicationNotForTheKernel) {
  shared(1.5, 128, {.name = "blur", .speedup = 0.9});
  shared(1.3, 32, {.name = "blur", .speedup = 1.25});
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 2);
  EXPECT_EQ(judged, std::vector<size_t>{2}) << "both changes are judged in one call";
  EXPECT_NEAR(*report.predicted.whole(), 1 / (0.5 / 1.3 + 0.5 / 1.25), 1e-9);
  EXPECT_NE(
      report.text().find("became 1.30x as fast; other kernels with the new values: blur (50.0 % of the run) 1.25x)"),
      std::string::npos)
      << report.text();
  EXPECT_NE(report.text().find("BLOCK is also used by blur: the patch changes all of them"), std::string::npos)
      << report.text();
}

TEST_F(ApplyBest, ExitsWithNoWhenAnotherKernelWouldBeWrong) {
  shared(1.5, 128, {.name = "blur", .found = OtherKernel::Found::Wrong, .why = "wrong at verify"});
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::No);
  EXPECT_NE(report.error().message.find("BLOCK is also used by blur; with the new values blur fails: wrong at verify"),
            std::string::npos)
      << report.error().message;
  EXPECT_EQ(read("src/k.cu"), text);
}

TEST_F(ApplyBest, EndsWhenJudgingOtherKernelsIsInterrupted) {
  shared(1.5, 128, {.name = "blur", .speedup = 2});
  interrupted = true;
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Interrupted);
  EXPECT_EQ(read("src/k.cu"), text);
}

TEST_F(ApplyBest, PassesOverACandidateOfWhichNothingIsKnownForAnotherKernelUnlessTheUserWantsIt) {
  shared(1.5, 128, {.name = "blur", .why = "it was not recorded"});
  auto refused = go();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().exit, Exit::No);
  EXPECT_NE(refused.error().message.find("whether blur is right with the new values is not known: it was not recorded"),
            std::string::npos)
      << refused.error().message;
  request.guards = false;
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.candidate, 1);
}

TEST_F(ApplyBest, DoesNotTryTheSamePatchTwice) {
  confirmed(2, "0.05", "0.02);  // wrong (");
  confirmed(1.9, "0.05", "0.02);  // wrong (");
  confirmed(1.5, "0.05", "0.01");
  ApplyReport report = must_go();
  EXPECT_EQ(report.candidate, 3);
  EXPECT_NE(said.find("its patch is the one that was just tried"), std::string::npos);
}

TEST_F(ApplyBest, SaysWhyNoCandidateCanBePatchedIn) {
  for (int i = 0; i < 5; ++i) unpatchable(3 - 0.1 * i);
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Refused);
  EXPECT_NE(report.error().message.find(
                "none of the 5 candidates with a gain can be patched into the application; the best: #1"),
            std::string::npos);
  EXPECT_NE(said.find("passed over 2 more: the candidate needs device memory"), std::string::npos) << said;
  EXPECT_EQ(read("src/k.cu"), text);
}

TEST_F(ApplyBest, DistinguishesCandidatesThatCannotBePatchedFromThoseNotConfirmed) {
  unpatchable(3);
  screened(2, "0.05", "0.02");
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Refused);
  EXPECT_TRUE(
      report.error().message.starts_with("of the 2 candidates with a gain 1 cannot be patched into the application, "
                                         "and the others' gains were not confirmed; the best that cannot: #1"))
      << report.error().message;
}

TEST_F(ApplyBest, ExitsWithNoWhenNoGainIsConfirmed) {
  screened(2, "0.05", "0.02");
  screened(1.5, "0.05", "0.03");
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::No);
  EXPECT_EQ(asked_for, (std::vector<int64_t>{1, 2}));
  EXPECT_NE(report.error().message.find("no gain of this run held up when it was confirmed (2 candidates)"),
            std::string::npos)
      << report.error().message;
}

TEST_F(ApplyBest, DistinguishesARunThatTriedNothingFromOneThatFoundNothing) {
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("this run tried nothing"), std::string::npos) << report.error().message;
  offer.tried = 20;
  report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "nothing in this run is measurably faster than the original");
}

TEST_F(ApplyBest, NamesAGainThatLiesInTheCompilerRecipeAlone) {
  offer.compiler_gain = trial(2, "1.0", "1.0");
  offer.compiler_gain->confirmed = offer.compiler_gain->verdict;
  offer.compiler_gain->candidate.recipe.level = "O1";
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::Refused);
  EXPECT_NE(report.error().message.find("with O1"), std::string::npos) << report.error().message;
  offer.compiler_gain->candidate.tier = "compiler",
  offer.compiler_gain->candidate.steps = {Step::described("default<O1>")};
  offer.compiler_gain->candidate.recipe = {};
  offer.compiler_gain->candidate.recipe.passes = "default<O1>";
  report = go();
  EXPECT_NE(report.error().message.find("(compiler: default<O1>, "), std::string::npos) << report.error().message;
  EXPECT_EQ(report.error().message.find(" with "), std::string::npos)
      << "the recipe is not named twice: " << report.error().message;
}

TEST_F(ApplyBest, MentionsAGainOfTheCompilerRecipeThatIsNotConfirmed) {
  offer.compiler_gain = trial(2, "1.0", "1.0");
  offer.compiler_gain->candidate.recipe.level = "O1";
  auto report = go();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().exit, Exit::No);
  EXPECT_TRUE(report.error().message.starts_with("nothing that can be patched in is measurably faster"))
      << report.error().message;
  EXPECT_NE(report.error().message.find("not confirmed, is in how the kernel is compiled, #1"), std::string::npos)
      << report.error().message;
}

TEST_F(ApplyBest, RestoresTheFilesOfAnInterruptedApplyBeforeItPlans) {
  confirmed(2, "0.05", "0.01");
  std::string check = request.check;
  request.check = "! grep -q 0.01 src/k.cu || kill -9 $(ps -o ppid= $PPID)";
  ASSERT_TRUE(is_killed_in([&] { (void)go(); }));
  ASSERT_NE(read("src/k.cu"), kKernelText);
  request.check = check;
  ApplyReport report = must_go();
  EXPECT_TRUE(report.kept()) << report.why;
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes[0].find("had been interrupted"), std::string::npos);
}

}  // namespace
}  // namespace kernelift::reintegrate
