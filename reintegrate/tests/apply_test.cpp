// The whole of apply: a tiny application is patched, built, checked and timed, and the patch is kept or rolled back.
#include "reintegrate/apply.h"

#include <sys/stat.h>

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class ApplyTest : public Application {
 protected:
  ApplyReport must_apply() {
    auto report = apply(request);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : ApplyReport{};
  }
  Error must_fail() {
    auto report = apply(request);
    EXPECT_FALSE(report.ok());
    return report.ok() ? Error{} : report.error();
  }
  void faster() { candidate("0.05", "0.01"), keep_whatever_is_measured(); }
  /// Makes the candidate so much faster that the pauses of a busy machine do not hide it.
  void truly_faster() {
    shell("sed -i s/0.05/0.2/ src/k.cu");
    slice();
    candidate("0.2", "0.01");
  }
  std::string snapshot() {
    return shell(
        "find . -path ./.git -prune -o -path ./.kernelift -prune -o -path ./out -prune -o -type f -printf '%p %m %T@ ' "
        "-exec sha256sum {} \\; | sort");
  }
};

TEST_F(ApplyTest, KeepsAFasterPatch) {
  truly_faster();
  ApplyReport report = must_apply();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_NE(read("src/k.cu").find("\tdelay(0.01);   // ümlaut, tab\n"), std::string::npos);
  EXPECT_GT(report.measured->low, 1.01);
}

TEST_F(ApplyTest, LeavesTheKeptPatchBuilt) {
  faster();
  must_apply();
  EXPECT_NE(read("out/app").find("sleep 0.01"), std::string::npos);
}

TEST_F(ApplyTest, ReportsThePredictionBesideTheMeasurement) {
  faster();
  request.predicted = {8, 0.9};
  ApplyReport report = must_apply();
  EXPECT_NE(report.text().find("predicted  4.706x"), std::string::npos) << report.text();
  ASSERT_TRUE(report.measured);
  EXPECT_NE(report.text().find("measured   " + report.measured->text() + "\n"), std::string::npos) << report.text();
}

TEST_F(ApplyTest, BuildsNothingForAPredictedGainBelowTheSmallestThatCanBeProven) {
  candidate("0.05", "0.01");
  request.predicted = {1.05, 0.05};
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::TooSmall);
  EXPECT_EQ(report.why,
            "even twice the gain of 0.2 % that is predicted for the application is less than the 1.0 % that a patch "
            "must prove");
  EXPECT_NE(report.text().find("+\tdelay(0.01)"), std::string::npos) << "the report shows the patch that was not tried";
  EXPECT_FALSE(std::filesystem::exists(root / "out"));
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyTest, TimesNoPairsWhenTheNoiseWouldHideThePredictedGain) {
  write("unsteady.sh",
        "n=$(cat turn 2>/dev/null || echo 0); echo $((n + 1)) > turn; ./out/app; sleep 0.0$((n % 2 * 6 + 1))\n");
  request.run = "sh unsteady.sh";
  candidate("0.05", "0.01");
  request.predicted = {1.2, 0.1};
  request.trial.time_limit = 1;
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::TooSmall);
  EXPECT_NE(
      report.why.find("even twice the gain of 1.7 % that is predicted for the application is within the noise of ±"),
      std::string::npos)
      << report.why;
  EXPECT_NE(report.why.find("that remains after 6 pairs of runs"), std::string::npos) << report.why;
  EXPECT_EQ(read("turn"), "4\n") << "one warm-up run and the fewest noise runs";
  EXPECT_FALSE(std::filesystem::exists(root / ".kernelift/apply/1/build-patched.log"));
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyTest, TimesPairsForASmallPredictedGainOfASteadyApplication) {
  candidate("0.05", "0.01");
  request.predicted = {1.8, 0.1};
  request.trial.smallest_gain = 0.3;  // So small that even unsteady sleeping on a busy machine passes.
  std::string said;
  request.progress = [&](const std::string& line) { said += line; };
  EXPECT_TRUE(must_apply().kept());
  EXPECT_NE(said.find("to see whether its noise would hide it"), std::string::npos) << said;
}

TEST_F(ApplyTest, WritesItsReportBesideTheOriginals) {
  faster();
  must_apply();
  auto written = read_json(root / ".kernelift/apply/1/report.json");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ((*written)["outcome"], "kept");
  EXPECT_EQ(read(".kernelift/apply/1/original-0"), kKernelText);
}

TEST_F(ApplyTest, CommitsOnANewBranchAndNamesTheWayBack) {
  make_git();
  faster();
  ApplyReport report = must_apply();
  EXPECT_EQ(report.branch, "kernelift/sleepy-1");
  EXPECT_EQ(shell("git branch --show-current"), "kernelift/sleepy-1\n");
  EXPECT_EQ(shell("git status --porcelain"), "");
  EXPECT_EQ(shell("git log --format=%s main.."), "Tune sleepy\n");
  EXPECT_EQ(shell(report.way_back() + " -q && cat src/k.cu"), kKernelText);
  // If HEAD was detached, the way back leads to the same commit.
  shell("git switch -q --detach main");
  request.branch = "another";
  ApplyReport detached = must_apply();
  EXPECT_EQ(shell(detached.way_back() + " -q && git rev-parse HEAD main | uniq | wc -l"), "1\n");
}

TEST_F(ApplyTest, KeepsTextFromOutsideInOneLineOfTheCommitsMessage) {
  make_git();
  faster();
  request.candidate.steps = {
      Step::described("faster\n\nSigned-off-by: Someone <else>\n# \x1b[2J\u202e" + std::string(100'000, 'x'))};
  ASSERT_TRUE(must_apply().kept());
  const std::string message = shell("git log -1 --format=%B");
  EXPECT_TRUE(message.starts_with("Tune sleepy\n\n- faster Signed-off-by: Someone <else> #\n  \\x1b[2J\\u202exx"))
      << message;
  EXPECT_LT(message.size(), 4096u);
  EXPECT_EQ(shell("git log -1 '--format=%(trailers)'"), "\n");
}

TEST_F(ApplyTest, LeavesOtherDirtyFilesAsTheyAre) {
  make_git();
  shell("echo '# staged' >> build.sh && git add build.sh && echo '// mine' >> src/config.h");
  faster();
  EXPECT_TRUE(must_apply().kept());
  EXPECT_EQ(shell("git status --porcelain"), "M  build.sh\n M src/config.h\n");
}

TEST_F(ApplyTest, RefusesADirtyFileAndChangesNothing) {
  make_git();
  faster();
  shell("printf '\\n// end\\n' >> src/k.cu");
  std::string before = snapshot();
  Error error = must_fail();
  EXPECT_EQ(error.exit, Exit::Refused);
  EXPECT_NE(error.message.find("src/k.cu has uncommitted changes"), std::string::npos);
  EXPECT_EQ(snapshot(), before);
}

TEST_F(ApplyTest, RefusesABranchNameThatIsTaken) {
  make_git();
  shell("git branch mine");
  faster();
  request.branch = "mine";
  EXPECT_EQ(must_fail().exit, Exit::Refused);
}

TEST_F(ApplyTest, RefusesAReadOnlyFile) {
  faster();
  chmod((root / "src/k.cu").c_str(), 0444);
  EXPECT_NE(must_fail().message.find("read-only"), std::string::npos);
}

TEST_F(ApplyTest, SaysThatTheCheckFailsBeforeAnyPatch) {
  faster();
  request.check = "echo expected 1 got 2; exit 3";
  std::string before = snapshot();
  Error error = must_fail();
  EXPECT_EQ(error.exit, Exit::No);
  EXPECT_NE(error.message.find("fails before any patch"), std::string::npos);
  EXPECT_NE(error.message.find("expected 1 got 2"), std::string::npos);
  EXPECT_EQ(snapshot(), before);
}

TEST_F(ApplyTest, SaysThatTheApplicationDoesNotBuild) {
  faster();
  request.build = "false";
  Error error = must_fail();
  EXPECT_EQ(error.exit, Exit::No) << "the same exit code as build and optimize use";
  EXPECT_NE(error.message.find("does not build, even without the patch"), std::string::npos);
}

TEST_F(ApplyTest, RollsBackWhenTheCheckFails) {
  make_git();
  std::string last;
  request.progress = [&](const std::string& line) { last = line; };
  candidate("0.05", "0.01);  // wrong (");
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::CheckFailed);
  EXPECT_EQ(last, "rolling back: " + report.why) << "the progress says why";
  EXPECT_EQ(shell("git branch --show-current"), "main\n");
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_NE(read("out/app").find("sleep 0.05"), std::string::npos);
}

TEST_F(ApplyTest, RollsBackWhenTheBuildFails) {
  candidate("1.0", "syntax error");
  request.build = "! grep -q 'syntax error' src/k.cu && sh build.sh";
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::BuildFailed);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyTest, RollsBackASlowerPatchAndRestoresTimeStamps) {
  candidate("0.05", "0.08");
  std::string before = snapshot();
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotFaster);
  EXPECT_EQ(snapshot(), before);
  EXPECT_NE(read("out/app").find("sleep 0.05"), std::string::npos);
}

TEST_F(ApplyTest, RollsBackWhenTheBuildDoesNotCompileThePatchedFile) {
  faster();
  request.build = "test -e out/app || sh build.sh";
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotBuilt);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyTest, RollsBackWhenThePatchDoesNotChangeThePrograms) {
  candidate("1.0", "1.0f");
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::NotBuilt);
  EXPECT_NE(report.why.find("same programs with and without"), std::string::npos);
}

TEST_F(ApplyTest, FindsBuildProductsInANamedFolderOutsideTheRoot) {
  faster();
  shell("sed -i 's,out,../elsewhere,g' build.sh");
  request.run = "../elsewhere/app";
  request.build_folders = {root.parent_path() / "elsewhere"};
  EXPECT_TRUE(must_apply().kept());
}

TEST_F(ApplyTest, TimesThePatchedLibraryBehindAnAbsoluteRunPath) {
  write("src/k.cu", "#include <unistd.h>\nvoid kernel(void) {\n  usleep(200000);\n}\n");
  write("src/main.c", "void kernel(void);\nint main(void) { kernel(); return 0; }\n");
  write("Makefile",
        "app: src/main.c lib/libk.so\n\tcc $< -o $@ -Llib -lk -Wl,-rpath,$(CURDIR)/lib\n"
        "lib/libk.so: lib/k.o\n\tcc -shared $< -o $@\n"
        "lib/k.o: src/k.cu\n\t@mkdir -p lib\n\tcc -x c -fPIC -c $< -o $@\n");
  slice();
  candidate("200000", "5000");
  request.build = "make -s";
  request.run = "./app";
  request.check = "./app";
  request.trial.most_pairs = 40;  // One run that a busy machine delays does not refuse the patch.
  ApplyReport report = must_apply();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(shell("make -q app; echo $?"), "0\n") << "the kept build is up to date for make";
}

TEST_F(ApplyTest, StopsWhenTheUserEditsThePatchedFile) {
  faster();
  request.check = "! grep -q 0.01 src/k.cu || echo '// mine' >> src/k.cu";
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::Disturbed);
  EXPECT_NE(read("src/k.cu").find("// mine"), std::string::npos);
}

TEST_F(ApplyTest, RestoresAfterKill9BetweenWriteAndCheck) {
  faster();
  request.check = "! grep -q 0.01 src/k.cu || kill -9 $(ps -o ppid= $PPID)";
  ASSERT_TRUE(is_killed_in([&] { (void)apply(request); }));
  ASSERT_NE(read("src/k.cu"), kKernelText);
  auto restored = roll_back_interrupted(request.state);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyTest, CompletesACommitThatWasInterrupted) {
  make_git();
  faster();
  // git's reference-transaction hook runs while the branch is created, which is the worst moment to be killed.
  write(".git/hooks/reference-transaction",
        "#!/bin/sh\nread line; [ \"$1\" = committed ] && case \"$line\" in *kernelift/*) kill -9 $(ps -o ppid= "
        "$PPID);; esac; exit 0\n");
  shell("chmod +x .git/hooks/reference-transaction");
  ASSERT_TRUE(is_killed_in([&] { (void)apply(request); }));
  shell("rm .git/hooks/reference-transaction");
  auto restored = roll_back_interrupted(request.state);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_TRUE(restored->kept);
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain"), "kernelift/sleepy-1\n");
}

TEST_F(ApplyTest, RestoresTheOriginalOnCtrlC) {
  faster();
  request.check = "! grep -q 0.01 src/k.cu || { kill -INT $(ps -o ppid= $PPID); sleep 20; }";
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::Interrupted);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(ApplyTest, UndoesAKeptPatchWithoutGit) {
  faster();
  ApplyReport kept = must_apply();
  ASSERT_TRUE(kept.kept());
  EXPECT_EQ(kept.way_back(), "kernelift apply --undo");
  auto back = undo_last(request.state);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  auto written = read_json(root / ".kernelift/apply/1/report.json");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ((*written)["outcome"], "undone");
  EXPECT_EQ((*written)["kept"], false);
  EXPECT_EQ((*written)["way_back"], "");
  EXPECT_EQ((*written)["at"], kept.at);
  EXPECT_NE((*written)["why"].get<std::string>().find("kept on " + kept.at + " and undone"), std::string::npos);
  EXPECT_FALSE(undo_last(request.state).ok());
}

TEST_F(ApplyTest, LeavesNoFolderBehindAfterARefusal) {
  request.candidate.scratch.push_back({});
  EXPECT_EQ(must_fail().exit, Exit::Refused);
  EXPECT_FALSE(std::filesystem::exists(root / ".kernelift/apply/1"));
}

TEST_F(ApplyTest, NeedsABuildCommand) {
  request.build.clear();
  EXPECT_EQ(must_fail().exit, Exit::Usage);
}

TEST_F(ApplyTest, NamesAnUnpatchedCheckThatNeverEnds) {
  faster();
  request.check = "sleep 1000";
  request.limit = 0.5;
  Error error = must_fail();
  EXPECT_EQ(error.exit, Exit::No);
  EXPECT_NE(error.message.find("check fails before any patch; nothing was changed: `sleep 1000` ran past its limit"),
            std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("--limit allows it more time"), std::string::npos);
}

TEST_F(ApplyTest, MeetsAFailingHookBeforeTheTrial) {
  make_git();
  faster();
  write(".git/hooks/pre-commit", "#!/bin/sh\necho no tabs >&2; exit 1\n");
  shell("chmod +x .git/hooks/pre-commit");
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::HookRefused) << report.why;
  EXPECT_NE(report.why.find("no tabs"), std::string::npos);
  EXPECT_NE(report.why.find("--hooks skip"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(root / ".kernelift/apply/1/build-patched.log")) << "nothing was built for it";
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  request.run_hooks = false;
  ApplyReport kept = must_apply();
  EXPECT_TRUE(kept.kept()) << kept.why;
  EXPECT_NE(kept.text().find("hooks (pre-commit) are not run, as asked; `git commit --amend --no-edit`"),
            std::string::npos)
      << kept.text();
}

TEST_F(ApplyTest, RunsHooksBeforeTheTrialAndAtTheCommit) {
  make_git();
  faster();
  write(".git/hooks/pre-commit", "#!/bin/sh\necho ran >> .git/ran\n");
  shell("chmod +x .git/hooks/pre-commit");
  ApplyReport report = must_apply();
  EXPECT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(read(".git/ran"), "ran\nran\n");
}

TEST_F(ApplyTest, UndoesWhatAFormattingHookMakesOfThePatch) {
  make_git();
  faster();
  write(".git/hooks/pre-commit", "#!/bin/sh\nexpand src/k.cu > k && cat k > src/k.cu && rm k\n");
  shell("chmod +x .git/hooks/pre-commit");
  ApplyReport report = must_apply();
  EXPECT_EQ(report.outcome, ApplyOutcome::HookRefused) << report.why;
  EXPECT_NE(report.why.find("change the patched file"), std::string::npos) << report.why;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_EQ(shell("git status --porcelain"), "");
}

TEST_F(ApplyTest, NamesTheRepositoryInTheWayBackOutOfASubmodule) {
  shell("mv src ../kernels");
  shell(
      "cd ../kernels && git init -q -b main . && git config user.name T && git config user.email t@localhost && git "
      "add "
      "-A && git commit -q -m kernels");
  make_git();
  shell("git -c protocol.file.allow=always submodule add -q \"$PWD/../kernels\" src && git commit -qm submodule");
  shell("cd src && git config user.name T && git config user.email t@localhost");
  faster();
  ApplyReport report = must_apply();
  ASSERT_TRUE(report.kept()) << report.why;
  EXPECT_EQ(report.commits.at(0).repository, (root / "src").string());
  EXPECT_EQ(report.way_back(), "git -C " + (root / "src").string() + " switch main");
  EXPECT_NE(report.text().find(" of the repository " + (root / "src").string() + ", now checked out"),
            std::string::npos);
  EXPECT_EQ(shell("git log --format=%s -1; git -C src log --format=%s -1"), "submodule\nTune sleepy\n");
  shell(report.way_back());
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

}  // namespace
}  // namespace kernelift::reintegrate
