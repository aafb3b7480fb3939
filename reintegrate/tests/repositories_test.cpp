// A library's kernels in one git repository, and the program that exercises them in another: each repository gets its
// own commit on a branch of one name, and all of them are patched or none. The program prints how much work it does, so
// that nothing here depends on time.
#include <gmock/gmock.h>

#include <csignal>

#include "core/base/json.h"
#include "reintegrate/apply_together.h"
#include "reintegrate/rollback.h"
#include "reintegrate/tests/application.h"
#include "reintegrate/tree/git_trees.h"

namespace kernelift::reintegrate {
namespace {

using ::testing::HasSubstr;

class Repositories : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    shell("rm -r src");
    library = folder_->path() / "library";
    write("more.cuh", text_of("more", "__device__"));
    write("../library/k.cu", text_of("k"));
    write("build.sh",
          "set -e\nmkdir -p out\nwork=$(cat *.cuh ../library/*.cu | awk 'BEGIN { sum = 10000 } "
          "match($0, /work\\([0-9]+/) { sum += substr($0, RSTART + 5, RLENGTH - 5) } END { print sum }')\n"
          "printf '#!/bin/sh\\necho work = %s\\n' $work > out/app.new\nchmod +x out/app.new\nmv out/app.new out/app\n");
    make_git();
    shell(
        "git -C ../library init -q -b main && git -C ../library config user.name T && git -C ../library config "
        "user.email t@localhost && git -C ../library add -A && git -C ../library commit -q -m library");
    request.check = "true";
    request.trial.metric = *Metric::parse("work = ([0-9]+)", "lower");
    request.repositories = {library};
  }

  static std::string text_of(const std::string& name, const std::string& what = "__global__") {
    return what + " void " + name + "(float* x) {\n  work(2000);\n}\n";
  }
  /// A kernel that is sliced from these files, all of whose work becomes `work`.
  static KernelChange change(const std::string& name, const std::vector<std::filesystem::path>& files,
                             const std::string& work, const std::filesystem::path& root) {
    KernelChange made;
    made.mep.kernel_key = name + "(float*)", made.mep.kernel_name = name, made.mep.kernel_id = name + name;
    made.mep.unit = files.back().string(), made.mep.app_root = root.string();
    made.mep.origins.assign(1, {});
    made.original = "// extracted\n";
    for (auto& file : files) {
      made.original += *read_text(file);
      for (uint32_t line = 1; line <= 3; ++line) made.mep.origins.push_back({file.string(), line});
    }
    made.candidate.source = made.original;
    for (size_t at; (at = made.candidate.source.find("2000")) != std::string::npos;)
      made.candidate.source.replace(at, 4, work);
    return made;
  }
  /// The patch of `request`: of the library alone, or of a header of the application's, too.
  void patch_library() { static_cast<KernelChange&>(request) = change("k", {library / "k.cu"}, "500", root); }
  void patch_both() {
    static_cast<KernelChange&>(request) = change("k", {root / "more.cuh", library / "k.cu"}, "500", root);
  }
  ApplyReport must_apply() {
    auto applied = apply(request);
    EXPECT_TRUE(applied.ok()) << applied.error().message;
    return applied.ok() ? *applied : ApplyReport();
  }
  std::string refusal() {
    auto applied = apply(request);
    return applied.ok() ? "" : applied.error().message;
  }
  /// Branches, HEAD and changed files of both repositories.
  std::string states() {
    const std::string one = "git -C $r branch --format='%(HEAD)%(refname:short)'; git -C $r status --porcelain; ";
    return shell("for r in . ../library; do " + one + "done");
  }
  std::string texts() { return *read_text(root / "more.cuh") + *read_text(library / "k.cu"); }
  void hook(const std::string& name, const std::string& lines) {
    write("../library/.git/hooks/" + name, "#!/bin/sh\n" + lines);
    shell("chmod +x ../library/.git/hooks/" + name);
  }
  /// Whether apply was killed by the library's hook, which finds its process id in ../pid.
  bool apply_is_killed() {
    return is_killed_in([&] {
      write("../pid", std::to_string(getpid()));
      (void)apply(request);
    });
  }
  /// The same, when the application's branch has been made and the library's is about to be.
  bool is_killed_once_one_has_moved() {
    hook("reference-transaction",
         "read line\n[ \"$1\" = committed ] && case \"$line\" in *kernelift/*) kill -9 $(cat ../pid);; esac\nexit 0\n");
    const bool killed = apply_is_killed();
    shell("rm ../library/.git/hooks/reference-transaction");
    return killed;
  }

  const std::string kUntouched = "*main\n*main\n", kPatched = "*kernelift/k-1\n main\n*kernelift/k-1\n main\n";
  std::filesystem::path library;
};

TEST_F(Repositories, APatchOfALibraryIsACommitInItsRepositoryAndNothingInTheApplications) {
  patch_library();
  request.figures = Verdict();
  ApplyReport report = must_apply();
  ASSERT_TRUE(report.kept()) << report.why;
  EXPECT_THAT(shell("git -C ../library log -1 --format=%B"),
              HasSubstr("Kernelift-Certificate: ../app/.kernelift/apply/1/certificate.json"));
  EXPECT_EQ(report.files, std::vector<std::string>{"../library/k.cu"});
  EXPECT_EQ(states(), "*main\n*kernelift/k-1\n main\n");
  EXPECT_EQ(shell("git -C ../library log --format=%s -1; git log --format=%s -1"), "Tune k\noriginal\n");
  EXPECT_EQ(report.way_back(), "git -C " + library.string() + " switch main");
  EXPECT_THAT(report.text(), HasSubstr(" of the repository " + library.string() + ", now checked out"));
  shell(report.way_back());
  EXPECT_EQ(texts(), text_of("more", "__device__") + text_of("k"));
}

TEST_F(Repositories, WithoutTheUsersLeaveNothingOutsideTheApplicationIsChanged) {
  patch_library();
  request.repositories.clear();
  EXPECT_THAT(refusal(), HasSubstr("library/k.cu would have to change, but it is outside the application"));
  EXPECT_EQ(states(), kUntouched);
}

TEST_F(Repositories, APatchOfTwoIsACommitInEachOnABranchOfOneName) {
  patch_both();
  shell("git -C ../library branch kernelift/k-1");  // The name must be free in both.
  ApplyReport report = must_apply();
  ASSERT_TRUE(report.kept()) << report.why;
  ASSERT_EQ(report.commits.size(), 2u);
  EXPECT_EQ(report.branch, "kernelift/k-2");
  EXPECT_EQ(shell("git branch --show-current; git -C ../library branch --show-current"),
            "kernelift/k-2\nkernelift/k-2\n");
  EXPECT_EQ(shell("git show --format= --name-only; git -C ../library show --format= --name-only"), "more.cuh\nk.cu\n");
  EXPECT_THAT(shell("git log -1 --format=%B"),
              HasSubstr("It goes together with the commit on branch kernelift/k-2 of: library."));
  EXPECT_THAT(shell("git -C ../library log -1 --format=%B"), HasSubstr("kernelift/k-2 of: app."));
  EXPECT_EQ(report.way_back(), "git switch main && git -C " + library.string() + " switch main");
  EXPECT_EQ(to_json(report)["commits"].size(), 2u);
  shell(report.way_back());
  EXPECT_EQ(texts(), text_of("more", "__device__") + text_of("k"));
}

TEST_F(Repositories, KernelsOfTwoAreKeptTogether) {
  std::vector<KernelChange> changes = {change("more", {root / "more.cuh"}, "1900", root),
                                       change("k", {library / "k.cu"}, "1900", root)};
  for (auto& one : changes) {
    auto planned =
        plan_patch({one.mep, one.original, one.candidate, nullptr, root, nullptr, LaunchGuard(), request.repositories});
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    one.planned = *planned;
  }
  auto together = apply_together(request, changes);
  ASSERT_TRUE(together.ok()) << together.error().message;
  EXPECT_TRUE(together->kept()) << together->text();
  EXPECT_EQ(shell("git branch --show-current; git -C ../library branch --show-current"),
            "kernelift/together-1\nkernelift/together-1\n");
  EXPECT_EQ(together->way_back(), "git switch main && git -C " + library.string() + " switch main");
}

TEST_F(Repositories, AFileOfTheLibraryThatIsNotCommittedIsRefusedByName) {
  patch_both();
  shell("echo >> ../library/k.cu");
  EXPECT_THAT(refusal(), HasSubstr("k.cu has uncommitted changes"));
  EXPECT_EQ(read("more.cuh"), text_of("more", "__device__"));
}

TEST_F(Repositories, AFileThatIsNotTrackedIsRefusedByNameWhereOthersAre) {
  patch_both();
  shell("git -C ../library rm -q --cached k.cu && git -C ../library commit -q -m less");
  EXPECT_THAT(refusal(), HasSubstr("library/k.cu is not tracked by git, though other files of the patch are"));
}

TEST_F(Repositories, ALibraryIsPatchedByOneApplicationAtATime) {
  patch_library();
  auto other = GitTrees::inspect({library / "k.cu"});
  ASSERT_TRUE(other.ok() && other->lock().ok());
  EXPECT_THAT(refusal(), HasSubstr("another `kernelift apply` is patching the repository " + library.string()));
  EXPECT_EQ(states(), kUntouched);
}

TEST_F(Repositories, IfGitRefusesOneCommitTheOthersAreTakenBack) {
  patch_both();
  request.check = "! test -e .kernelift/apply/1/build-kept.log || touch ../library/.git/HEAD.lock";
  ApplyReport report = must_apply();
  shell("rm ../library/.git/HEAD.lock");
  EXPECT_EQ(report.outcome, ApplyOutcome::Disturbed) << report.why;
  EXPECT_THAT(report.why, HasSubstr("git refused it"));
  EXPECT_EQ(states(), kUntouched);
  EXPECT_EQ(texts(), text_of("more", "__device__") + text_of("k"));
}

TEST_F(Repositories, KilledBetweenTheCommitsNoneIsLeft) {
  patch_both();
  // The second time, when the application's commit has been made.
  hook("commit-msg", "if [ -e ../seen ]; then kill -9 $(cat ../pid); sleep 5; fi\ntouch ../seen\n");
  ASSERT_TRUE(apply_is_killed());
  EXPECT_NE(texts(), text_of("more", "__device__") + text_of("k")) << "it was killed too early";
  auto restored = roll_back_interrupted(request.state);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_FALSE(restored->kept);
  EXPECT_EQ(states(), kUntouched);
  EXPECT_EQ(texts(), text_of("more", "__device__") + text_of("k"));
}

TEST_F(Repositories, KilledWhenOneHasMovedAllMove) {
  patch_both();
  ASSERT_TRUE(is_killed_once_one_has_moved());
  ASSERT_EQ(shell("git branch --show-current; git -C ../library branch --show-current"), "kernelift/k-1\nmain\n");
  auto restored = roll_back_interrupted(request.state);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_TRUE(restored->kept && restored->left.empty());
  EXPECT_EQ(states(), kPatched);
  EXPECT_FALSE(roll_back_interrupted(request.state)->needed);
}

TEST_F(Repositories, AJournalOfTheTimeOfOneRepositoryIsReadToo) {
  patch_library();
  ASSERT_TRUE(is_killed_once_one_has_moved());
  auto journal = read_json(request.state / "apply/journal.json");
  ASSERT_TRUE(journal.ok());
  const Json commit = (*journal)["git"]["commits"][0];
  (*journal)["git"] = {{"top", commit["top"]},
                       {"branch", (*journal)["git"]["branch"]},
                       {"commit", commit["commit"]},
                       {"previous", commit["previous"]}};
  (*journal)["version"] = 2;
  ASSERT_TRUE(write_json(request.state / "apply/journal.json", *journal).ok());
  auto restored = roll_back_interrupted(request.state);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_TRUE(restored->kept);
  EXPECT_EQ(states(), "*main\n*kernelift/k-1\n main\n");
}

}  // namespace
}  // namespace kernelift::reintegrate
