// What others do to the tree while apply is at work: nothing of theirs is lost or taken along, and no patched program stays
// behind in the original's place.
#include "reintegrate/tests/application.h"

namespace kernelift {
namespace {

class DisturbedApply : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    candidate("0.05", "0.01");
    keep_whatever_is_measured();
  }
};

TEST_F(DisturbedApply, LeavesTheOriginalBuiltWhereAProgramChangesUnderItsHands) {
  // The application writes a file that its build writes too, as one that keeps its log beside itself.
  request.run = "./out/app && echo '# ran' >> out/app";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Disturbed) << report->why;
  EXPECT_NE(report->why.find("out/app was rebuilt or changed by somebody else"), std::string::npos) << report->why;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_EQ(read("out/app"), "#!/bin/sh\nsleep 0.05\n");
}

TEST_F(DisturbedApply, LeavesALogAloneThatIsWrittenDuringTheBuildsAndBesideThem) {
  // As where the user sends what is said here into a file of the tree.
  request.build = "echo building >> said.log; " + request.build;
  request.progress = [&](const std::string& line) { std::ofstream(root / "said.log", std::ios::app) << line << '\n'; };
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Kept) << report->why;
  EXPECT_NE(read("said.log").find("checking with the patch\n"), std::string::npos);
  EXPECT_NE(read("said.log").find("timing the two in alternation\n"), std::string::npos) << "an older copy was put in its place";
}

TEST_F(DisturbedApply, LeavesTheOriginalBuiltWhereItsOwnWorkFails) {
  // After the patched build there is no folder for copies of the programs any more.
  request.build += " && { ! grep -q 0.01 src/k.cu || { rm -rf .kernelift/apply/1/products; echo > .kernelift/apply/1/products; }; }";
  auto report = apply(request);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("products"), std::string::npos) << report.error().message;
  EXPECT_EQ(read("src/k.cu"), kKernelText);
  EXPECT_EQ(read("out/app"), "#!/bin/sh\nsleep 0.05\n");
}

TEST_F(DisturbedApply, CommitsNothingThatTheUserWroteMeanwhile) {
  make_git();
  const std::string added = "// The user's own thought.\n";
  // In the last check, after everything was timed.
  request.check = "! test -e .kernelift/apply/1/build-kept.log || echo \"" + added.substr(0, added.size() - 1) + "\" >> src/k.cu";
  auto report = apply(request);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->outcome, ApplyOutcome::Disturbed) << report->why;
  EXPECT_NE(report->why.find("src/k.cu was changed while"), std::string::npos) << report->why;
  EXPECT_EQ(shell("git log --format=%s"), "original\n");
  EXPECT_TRUE(read("src/k.cu").ends_with(added)) << "the user's text is the user's";
  bool named = false;
  for (auto& note : report->notes) named |= note.find("Left alone, because it was changed meanwhile: ") != std::string::npos;
  EXPECT_TRUE(named) << report->text();
}

}  // namespace
}  // namespace kernelift
