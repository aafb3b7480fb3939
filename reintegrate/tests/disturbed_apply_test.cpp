// Other programs change the tree while apply is running: their changes are neither lost nor committed, and no patched
// program is left instead of the original.
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class DisturbedApply : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    candidate("0.05", "0.01");
    keep_whatever_is_measured();
  }
};

TEST_F(DisturbedApply, LeavesTheOriginalBuiltIfAProductChangesDuringTiming) {
  // The application appends to a file that its build writes too.
  request.run = "./out/app && echo '# ran' >> out/app";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Disturbed) << report->why;
  EXPECT_NE(report->why.find("out/app was rebuilt or changed by another program"), std::string::npos) << report->why;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_EQ(read("out/app"), "#!/bin/sh\nsleep 0.05\n");
}

TEST_F(DisturbedApply, DoesNotSwapALogThatIsWrittenDuringTheBuildsAndOutsideThem) {
  // The user redirects the progress output into a file of the tree, and the build writes to that file too.
  request.build = "echo building >> said.log; " + request.build;
  request.progress = [&](const std::string& line) { std::ofstream(root / "said.log", std::ios::app) << line << '\n'; };
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Kept) << report->why;
  EXPECT_NE(read("said.log").find("checking with the patch\n"), std::string::npos);
  EXPECT_NE(read("said.log").find("timing the two in alternation\n"), std::string::npos)
      << "an older copy has replaced the log";
}

TEST_F(DisturbedApply, LeavesTheOriginalBuiltIfProductsCannotBeSaved) {
  // The patched build replaces the folder for copies of the programs by a file.
  request.build +=
      " && { ! grep -q 0.01 src/k.cu || { rm -rf .kernelift/apply/1/products; echo > .kernelift/apply/1/products; }; }";
  auto report = apply(request);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("products"), std::string::npos) << report.error().message;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_EQ(read("out/app"), "#!/bin/sh\nsleep 0.05\n");
}

TEST_F(DisturbedApply, DoesNotCommitAnEditThatTheUserMadeDuringTheLastCheck) {
  make_git();
  const std::string added = "// The user's own thought.\n";
  // The check edits the file in its last run, after the timing.
  request.check =
      "! test -e .kernelift/apply/1/build-kept.log || echo \"" + added.substr(0, added.size() - 1) + "\" >> src/k.cu";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Disturbed) << report->why;
  EXPECT_NE(report->why.find("src/k.cu was changed while"), std::string::npos) << report->why;
  EXPECT_EQ(shell("git log --format=%s"), "original\n");
  EXPECT_TRUE(read("src/k.cu").ends_with(added)) << "the user's edit must stay";
  bool named = false;
  for (auto& note : report->notes)
    named |= note.find("Left alone, because it was changed while apply was running: ") != std::string::npos &&
             note.find("src/k.cu") != std::string::npos;
  EXPECT_TRUE(named) << report->text();
}

TEST_F(DisturbedApply, RestoresTheProgramsIfTheLastBuildCannotBeLogged) {
  // The log of the last build cannot be written.
  request.build += " && mkdir -p .kernelift/apply/1/build-kept.log/in-the-way";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Disturbed) << report->why;
  EXPECT_NE(report->why.find("build-kept.log"), std::string::npos) << report->why;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_EQ(read("out/app"), "#!/bin/sh\nsleep 0.05\n");
}

TEST_F(DisturbedApply, KeepsACommittedPatchEvenIfTheReportCannotBeWritten) {
  make_git();
  request.check = "mkdir -p .kernelift/apply/1/report.json/in-the-way";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->kept()) << report->why;
  EXPECT_NE(report->text().find("The report could not be written"), std::string::npos) << report->text();
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain"), "kernelift/sleepy-1\n");
  auto after = roll_back_interrupted(request.state);
  ASSERT_TRUE(after.ok());
  EXPECT_FALSE(after->needed) << "nothing is unfinished";
}

TEST_F(DisturbedApply, DoesNotCommitOntoABranchThatTheUserSwitchedTo) {
  make_git();
  request.check = "! test -e .kernelift/apply/1/build-kept.log || git switch -q -c elsewhere";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Disturbed) << report->why;
  EXPECT_NE(report->why.find("was main and is now elsewhere"), std::string::npos) << report->why;
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain; git log --format=%s"), "elsewhere\noriginal\n");
}

class InterruptedCommit : public DisturbedApply {
 protected:
  void SetUp() override {
    DisturbedApply::SetUp();
    make_git();
    // Killed after the branch was created and before HEAD has moved.
    write(".git/hooks/reference-transaction",
          "#!/bin/sh\nread line; [ \"$1\" = committed ] && case \"$line\" in *kernelift/*) kill -9 $(ps -o ppid= "
          "$PPID);; esac; exit 0\n");
    shell("chmod +x .git/hooks/reference-transaction");
    ASSERT_TRUE(is_killed_in([&] { (void)apply(request); }));
    shell("rm .git/hooks/reference-transaction");
    ASSERT_EQ(shell("git branch --show-current; git branch --format='%(refname:short)'"),
              "main\nkernelift/sleepy-1\nmain\n");
  }
  /// Recovers twice; the second call must find nothing to do.
  Restoration recover() {
    auto restored = roll_back_interrupted(request.state);
    EXPECT_TRUE(restored.ok()) << restored.error().message;
    auto again = roll_back_interrupted(request.state);
    EXPECT_TRUE(again.ok() && !again->needed);
    return restored.ok() ? *restored : Restoration{};
  }
};

TEST_F(InterruptedCommit, MovesNothingIfTheUserHasSwitchedToAnotherBranch) {
  shell(
      "git checkout -q -- src/k.cu && git switch -q -c other && echo more > more && git add more && git commit -qm "
      "more && echo staged >> build.sh && git add build.sh");
  const std::string before = shell("git branch --show-current; git status --porcelain; git rev-parse HEAD");
  auto restored = recover();
  EXPECT_TRUE(restored.kept);
  ASSERT_EQ(restored.left.size(), 1u);
  EXPECT_NE(restored.left[0].find("other (the patch is commit "), std::string::npos) << restored.left[0];
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain; git rev-parse HEAD"), before);
}

TEST_F(InterruptedCommit, MovesNothingIfTheUserHasCommittedToTheBranchThatThePatchWasMadeOn) {
  shell("echo more > more && git add more && git commit -qm more");
  const std::string before = shell("git branch --show-current; git status --porcelain; git rev-parse HEAD");
  EXPECT_EQ(recover().left.size(), 1u);
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain; git rev-parse HEAD"), before)
      << "the user's commit would seem taken back";
}

TEST_F(InterruptedCommit, LeavesABranchAloneToWhichTheUserHasCommitted) {
  shell(
      "git checkout -q -- src/k.cu && git switch -q kernelift/sleepy-1 && echo more > more && git add more && git "
      "commit -qm more");
  EXPECT_TRUE(recover().left.empty());
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain; git log --format=%s -1"),
            "kernelift/sleepy-1\nmore\n");
}

TEST_F(InterruptedCommit, StaysOnTheBranchThatTheUserWentBackTo) {
  shell(
      "git checkout -q -- src/k.cu && git switch -q kernelift/sleepy-1 && echo more > more && git add more && git "
      "commit -qm more && git switch -q main");
  EXPECT_EQ(recover().left.size(), 1u);
  EXPECT_EQ(shell("git branch --show-current; git status --porcelain"), "main\n");
}

}  // namespace
}  // namespace kernelift::reintegrate
