// However apply was killed, rollback leaves the original's programs beside the original's sources, and says how.
#include "reintegrate/rollback.h"

#include <sys/stat.h>

#include <thread>

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

constexpr const char* kKillApply = "kill -9 $(ps -o ppid= $PPID)";

class Rollback : public Application {
 protected:
  /// An application that make builds in two steps, as most are: a stale object or program is not built again.
  void SetUp() override {
    Application::SetUp();
    write("Makefile",
          "app: k.o\n"
          "\t{ echo '#!/bin/sh'; cat k.o; } > app && chmod +x app\n"
          "k.o: src/k.cu\n"
          "\tsed -n 's/.*delay(\\([0-9.]*\\)).*/sleep \\1/p' src/k.cu > k.o\n"
          "\tsh after.sh\n");
    write("after.sh", "");
    request.build = "make -s";
    request.run = "./app";
    candidate("0.05", "0.01");
    keep_whatever_is_measured();
  }
  /// Runs apply in a child that is killed by the line, which runs in the place `where` of its build or check.
  void kill_in(std::string& where, const std::string& line) {
    where = line + (where.empty() ? "" : "; " + where);
    ASSERT_TRUE(is_killed_in([&] { (void)apply(request); }));
  }
  void expect_original() {
    EXPECT_EQ(read("src/k.cu"), kKernelText);
    EXPECT_EQ(read("app"), "#!/bin/sh\nsleep 0.05\n");
    EXPECT_EQ(shell("make -s; cat app"), "#!/bin/sh\nsleep 0.05\n") << "as the user's own build sees it";
    EXPECT_FALSE(PatchJournal::interrupted(request.state));
  }
  Restoration roll_back() {
    auto restored = roll_back_interrupted(request.state);
    EXPECT_TRUE(restored.ok()) << restored.error().message;
    return restored.ok() ? *restored : Restoration{};
  }
  static bool says(const Restoration& restored, const std::string& text) {
    for (auto& note : restoration_notes(restored))
      if (note.find(text) != note.npos) return true;
    return false;
  }
};

TEST_F(Rollback, BuildsTheOriginalAgainAfterAKillWhileThePatchWasChecked) {
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  ASSERT_EQ(read("app"), "#!/bin/sh\nsleep 0.01\n");
  Restoration restored = roll_back();
  EXPECT_TRUE(restored.programs_restored);
  EXPECT_TRUE(says(restored, "The original was built again, by `make -s`")) << restored.programs;
  expect_original();
}

TEST_F(Rollback, BuildsTheOriginalAgainAfterAKillBetweenTheStepsOfABuild) {
  // The object is the patch's, the program is not yet.
  write("after.sh", std::string("! grep -q 0.01 k.o || kill -9 $(ps -o ppid= $(ps -o ppid= $(ps -o ppid= $PPID)))\n"));
  request.build = "make -s; true";  // Else the shell would become make.
  ASSERT_TRUE(is_killed_in([&] { (void)apply(request); }));
  ASSERT_EQ(read("k.o"), "sleep 0.01\n");
  roll_back();
  expect_original();
}

TEST_F(Rollback, EndsABuildThatOutlivedEvenItsSupervisor) {
  // It has left every group and session, waits, and then builds what it has read of the patch.
  write("late.sh", "cp src/k.cu late.cu; echo ready > ready; sleep 2; cp late.cu src/k.cu; touch src/k.cu; make -s\n");
  kill_in(request.check,
          "! grep -q 0.01 app || { setsid sh late.sh >/dev/null 2>&1 & until test -e ready; do sleep 0.01; done; "
          "apply=$(ps -o ppid= $PPID); kill -9 $PPID & kill -9 $apply; }");
  Restoration restored = roll_back();
  EXPECT_TRUE(says(restored, "were still running and were ended: ")) << "sh and sleep";
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  expect_original();
}

TEST_F(Rollback, PutsTheSavedProgramsBackAfterAKillWhileBothWereTimed) {
  request.trial.most_pairs = 50;
  write("app-runs", "");
  request.run =
      std::string("./app; echo >> app-runs; ! grep -q 0.01 app || test $(wc -l < app-runs) -lt 6 || ") + kKillApply;
  request.build = "test ! -e build-is-broken && make -s";
  ASSERT_TRUE(is_killed_in([&] { (void)apply(request); }));
  ASSERT_EQ(read("app"), "#!/bin/sh\nsleep 0.01\n") << "killed while the patched one was in its place";
  shell("touch build-is-broken");  // No build is needed.
  Restoration restored = roll_back();
  EXPECT_TRUE(restored.programs_restored);
  EXPECT_TRUE(says(restored, "byte for byte as they were built before")) << restored.programs;
  EXPECT_EQ(shell("make -q app; echo $?"), "0\n") << "up to date, since it is what make had made";
  expect_original();
}

TEST_F(Rollback, PutsTheSavedProgramsBackIfTheBuildFails) {
  // Killed in the last check, long after both versions were saved.
  kill_in(request.check, std::string("test ! -e .kernelift/apply/1/build-kept.log || ") + kKillApply);
  ASSERT_EQ(read("app"), "#!/bin/sh\nsleep 0.01\n");
  write("after.sh", "exit 1\n");
  Restoration restored = roll_back();
  EXPECT_TRUE(restored.programs_restored);
  EXPECT_TRUE(says(restored, "put back as they were before the patch")) << restored.programs;
  EXPECT_EQ(read("app"), "#!/bin/sh\nsleep 0.05\n");
  write("after.sh", "");
  expect_original();
}

TEST_F(Rollback, SaysWhatToRunIfNothingWasSavedAndTheBuildFails) {
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  write("after.sh", "echo no space left >&2; exit 1\n");
  Restoration restored = roll_back();
  EXPECT_FALSE(restored.programs_restored);
  EXPECT_TRUE(says(restored, "may still be those of the patch, because `make -s` in " + root.string() + " failed"))
      << restored.programs;
  EXPECT_TRUE(says(restored, "no space left"));
  write("after.sh", "");
  shell("make -s");  // Enough, because the source is newer.
  expect_original();
}

TEST_F(Rollback, MakesRestoredSourcesNewerThanObjectsOfAFileServerWhoseClockRunsAhead) {
  write("after.sh", "test ! -e ahead || touch -d '+1 hour' k.o\n");
  kill_in(request.check, std::string("touch ahead; ! grep -q 0.01 app || ") + kKillApply);
  roll_back();
  EXPECT_EQ(read("k.o"), "sleep 0.05\n");
  EXPECT_EQ(read("app"), "#!/bin/sh\nsleep 0.05\n");
}

TEST_F(Rollback, NamesProductsThatOnlyThePatchedBuildMade) {
  write("after.sh", "! grep -q 0.01 k.o || { echo '#!/bin/sh' > only-tuned; chmod +x only-tuned; }\n");
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  Restoration restored = roll_back();
  EXPECT_EQ(restored.strays, std::vector<std::string>{(root / "only-tuned").string()});
  EXPECT_TRUE(says(restored, "did not write again what was built while the patch was in: " + root.string() + "/only-"));
  EXPECT_FALSE(restored.programs_restored) << "it may be what runs";
  expect_original();
}

TEST_F(Rollback, DoesNotBelieveABuildThatLeavesThePatchedProgram) {
  request.build = "test -e lazy || make -s";
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  shell("touch lazy");
  Restoration restored = roll_back();
  EXPECT_FALSE(restored.programs_restored);
  EXPECT_TRUE(says(restored, root.string() + "/app")) << restored.programs;
}

TEST_F(Rollback, GoesOnAfterItWasKilledItself) {
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  write("after.sh", kKillApply + std::string("\n"));
  request.build = "make -s";
  ASSERT_TRUE(is_killed_in([&] {
    write("after.sh", "kill -9 " + std::to_string(getpid()) + "\n");
    (void)roll_back_interrupted(request.state);
  }));
  EXPECT_TRUE(PatchJournal::interrupted(request.state)) << "the programs are still to be restored";
  write("after.sh", "");
  roll_back();
  expect_original();
}

TEST_F(Rollback, IsNeededForTheProgramsAfterCtrlCWhileBuilding) {
  request.check = "! grep -q 0.01 app || { kill -INT $(ps -o ppid= $PPID); sleep 20; }";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Interrupted);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_NE(report->text().find("`kernelift apply --rollback` builds the original again"), std::string::npos);
  EXPECT_TRUE(PatchJournal::interrupted(request.state));
  EXPECT_TRUE(roll_back().programs_restored);
  expect_original();
}

TEST_F(Rollback, IsNeededForTheProgramsIfApplyCouldNotBuildTheOriginalAgain) {
  request.check = "! grep -q 0.01 app || { echo exit 1 > after.sh; exit 1; }";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::CheckFailed);
  EXPECT_NE(report->text().find("Building the original again failed; see "), std::string::npos) << report->text();
  write("after.sh", "");
  EXPECT_TRUE(roll_back().programs_restored);
  expect_original();
}

TEST_F(Rollback, RunsNoCommandOfADamagedJournal) {
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  shell("sed -i 's/make -s/make -i/' .kernelift/apply/journal.json");
  Restoration restored = roll_back();
  EXPECT_FALSE(restored.programs_restored);
  EXPECT_TRUE(says(restored, "run the application's build command")) << restored.programs;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(Rollback, LeavesProgramsOfAFileThatTheUserEditedSinceToTheUser) {
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  shell("echo '// mine' >> src/k.cu");
  Restoration restored = roll_back();
  EXPECT_FALSE(restored.programs_restored);
  EXPECT_EQ(restored.left.size(), 1u);
  EXPECT_EQ(read("app"), "#!/bin/sh\nsleep 0.01\n");
}

TEST_F(Rollback, SweepsWhatAKilledWriteLeftBesideTheSources) {
  kill_in(request.check, std::string("! grep -q 0.01 app || ") + kKillApply);
  write("src/.k.cu.kernelift-aBc123", read("src/k.cu").substr(0, 30));
  write("src/.k.cu.kernelift-mine12", "the user's own");
  write("src/.k.cu.backup", read("src/k.cu"));
  roll_back();
  EXPECT_FALSE(std::filesystem::exists(root / "src/.k.cu.kernelift-aBc123"));
  EXPECT_TRUE(std::filesystem::exists(root / "src/.k.cu.kernelift-mine12"));
  EXPECT_TRUE(std::filesystem::exists(root / "src/.k.cu.backup")) << "a copy of it that is the user's";
}

TEST_F(Rollback, UndoesAKeptPatchInTheProgramsToo) {
  auto report = apply(request);
  ASSERT_TRUE(report.ok() && report->kept()) << (report.ok() ? report->why : report.error().message);
  ASSERT_EQ(read("app"), "#!/bin/sh\nsleep 0.01\n");
  auto back = undo_last(request.state);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(back->programs_restored);
  expect_original();
}

TEST_F(Rollback, IsDoneByTheNextApplyFirst) {
  kill_in(request.check, std::string("! grep -q 0.01 app || test -e again || ") + kKillApply);
  shell("touch again");
  ASSERT_EQ(read("app"), "#!/bin/sh\nsleep 0.01\n");
  request.candidate.scratch.push_back({});  // A patch that is refused: nothing is built for it.
  EXPECT_FALSE(apply(request).ok());
  expect_original();
}

}  // namespace
}  // namespace kernelift::reintegrate
