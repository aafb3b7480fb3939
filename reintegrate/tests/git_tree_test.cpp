// git: what is refused, and that a commit holds the patch and no other change.
#include "reintegrate/tree/git_trees.h"

#include <signal.h>
#include <unistd.h>

#include <thread>

#include "reintegrate/interruption.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class Git : public Application {
 protected:
  Result<GitTree> inspect(const std::string& name = "src/k.cu") {
    KERNELIFT_ASSIGN(GitTrees trees, GitTrees::inspect({root / name}));
    return trees.none() ? GitTree() : trees.repositories()[0].tree;
  }
  std::string refusal(const std::string& name = "src/k.cu") {
    auto tree = inspect(name);
    return tree.ok() ? "" : tree.error().message;
  }
};

TEST_F(Git, ReportsNoRepositoryWhereThereIsNone) { EXPECT_EQ(inspect()->kind(), GitTree::Kind::None); }

TEST_F(Git, ReportsNoRepositoryBeforeTheFirstCommit) {
  shell("git init -q .");
  EXPECT_EQ(inspect()->kind(), GitTree::Kind::None);
}

TEST_F(Git, RefusesADirtyFileByName) {
  make_git();
  shell("echo >> src/k.cu");
  EXPECT_NE(refusal().find("src/k.cu has uncommitted changes"), std::string::npos);
}

TEST_F(Git, RefusesAFileWhoseChangesAreHidden) {
  make_git();
  for (auto* hidden : {"skip-worktree", "assume-unchanged"}) {
    shell("git update-index --" + std::string(hidden) + " src/k.cu");
    EXPECT_NE(refusal().find("src/k.cu may have changes that git does not see"), std::string::npos) << refusal();
    shell("git update-index --no-" + std::string(hidden) + " src/k.cu");
  }
  EXPECT_EQ(refusal(), "");
}

TEST_F(Git, NamesTheFilesThatDifferFromTheLastCommit) {
  EXPECT_TRUE(GitTree::changed_files(root).empty());
  make_git();
  shell("echo >> src/k.cu; echo >> build.sh && git add build.sh; echo > untracked");
  EXPECT_EQ(GitTree::changed_files(root), (std::vector<std::string>{"build.sh", "src/k.cu"}));
}

TEST_F(Git, AcceptsOtherDirtyFiles) {
  make_git();
  shell("echo >> src/config.h");
  EXPECT_EQ(refusal(), "");
}

TEST_F(Git, RefusesDuringAMerge) {
  make_git();
  shell(
      "git switch -q -c b && echo b > x && git add x && git commit -qm b && git switch -q main && echo a > x && git "
      "add x && git commit -qm a; git merge b");
  EXPECT_NE(refusal().find("a merge is in progress"), std::string::npos);
}

TEST_F(Git, RefusesAReadOnlyRepositoryBeforeAnythingIsTried) {
  make_git();
  shell("chmod a-w .git/objects");
  EXPECT_NE(refusal().find(".git/objects is read-only"), std::string::npos) << refusal();
  shell("chmod u+w .git/objects");
  EXPECT_EQ(refusal(), "");
}

TEST_F(Git, NumbersBranchesUntilOneIsFree) {
  make_git();
  shell("git branch kernelift/sleepy-1");
  EXPECT_EQ(*GitTrees::inspect({root / "src/k.cu"})->free_branch("", "sleepy"), "kernelift/sleepy-2");
}

TEST_F(Git, DerivesALegalBranchNameFromAnyKernelName) {
  make_git();
  EXPECT_EQ(*GitTrees::inspect({root / "src/k.cu"})->free_branch("", "(anonymous)::k"), "kernelift/anonymous-k-1");
}

TEST_F(Git, RefusesABranchThatExists) {
  make_git();
  auto branch = GitTrees::inspect({root / "src/k.cu"})->free_branch("main", "k");
  ASSERT_FALSE(branch.ok());
  EXPECT_NE(branch.error().message.find("'main' exists already"), std::string::npos);
}

TEST_F(Git, CommitsOnlyThePatch) {
  make_git();
  shell("echo staged >> build.sh && git add build.sh && echo unstaged >> src/config.h && echo new > untracked");
  std::string before = shell("git status --porcelain");
  auto tree = inspect();
  shell("sed -i s/0.05/0.01/ src/k.cu");
  auto commit = tree->commit_files({root / "src/k.cu"}, "Tune\n", root / "out");
  ASSERT_TRUE(commit.ok()) << commit.error().message;
  Status switched = tree->switch_to("tuned", *commit, {root / "src/k.cu"});
  ASSERT_TRUE(switched.ok()) << switched.error().message;
  EXPECT_EQ(shell("git show --stat --format= HEAD | head -1"), " src/k.cu | 2 +-\n");
  EXPECT_EQ(shell("git status --porcelain"), before);
  EXPECT_EQ(shell("git branch --show-current"), "tuned\n");
}

TEST_F(Git, RestoresTheIndexIfHeadCannotMove) {
  make_git();
  auto tree = inspect();
  shell("sed -i s/0.05/0.01/ src/k.cu");
  auto commit = tree->commit_files({root / "src/k.cu"}, "Tune\n", root / "out");
  ASSERT_TRUE(commit.ok()) << commit.error().message;
  shell("touch .git/HEAD.lock");
  EXPECT_FALSE(tree->switch_to("tuned", *commit, {root / "src/k.cu"}).ok());
  shell("rm .git/HEAD.lock");
  EXPECT_EQ(shell("git diff --cached --name-only; git branch --show-current"), "main\n")
      << "the user's next commit would include the patch";
}

TEST_F(Git, MovesToNoBranchThatLacksWhatTheUserHasCommittedMeanwhile) {
  make_git();
  auto tree = inspect();
  shell("sed -i s/0.05/0.01/ src/k.cu");
  auto commit = tree->commit_files({root / "src/k.cu"}, "Tune\n", root / "out");
  ASSERT_TRUE(commit.ok()) << commit.error().message;
  shell("echo more > more && git add more && git commit -qm more");
  Status switched = tree->switch_to("tuned", *commit, {root / "src/k.cu"});
  ASSERT_FALSE(switched.ok());
  EXPECT_NE(switched.error().message.find("has moved on"), std::string::npos) << switched.error().message;
  EXPECT_EQ(shell("git branch --format='%(refname:short)'; git diff --cached --name-only"), "main\n");
}

TEST_F(Git, CommitsForAUserWithoutAnIdentity) {
  make_git();
  shell("git config --unset user.name; git config --unset user.email; git config user.useConfigOnly true");
  setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
  shell("sed -i s/0.05/0.01/ src/k.cu");
  auto commit = GitTree::at(root).commit_files({root / "src/k.cu"}, "Tune\n", root);
  unsetenv("GIT_CONFIG_GLOBAL");
  EXPECT_TRUE(commit.ok()) << commit.error().message;
}

TEST_F(Git, NeverAsksForASignature) {
  make_git();
  EXPECT_FALSE(GitTree::at(root).wants_signatures());
  write("gpg", "#!/bin/sh\ntouch asked\nexit 1\n");
  shell(
      "chmod +x gpg && git config commit.gpgsign yes && git config gpg.program \"$PWD/gpg\" && sed -i s/0.05/0.01/ "
      "src/k.cu");
  GitTree tree = GitTree::at(root);
  EXPECT_TRUE(tree.wants_signatures());
  auto commit = tree.commit_files({root / "src/k.cu"}, "Tune\n", root);
  ASSERT_TRUE(commit.ok()) << commit.error().message;
  EXPECT_FALSE(std::filesystem::exists(root / "asked"));
}

TEST_F(Git, RunsNoHooksUnlessItIsGivenThem) {
  make_git();
  write(".git/hooks/pre-commit", "#!/bin/sh\ntouch hooked\nexit 1\n");
  shell(
      "chmod +x .git/hooks/pre-commit && cp .git/hooks/pre-commit .git/hooks/post-checkout && sed -i s/0.05/0.01/ "
      "src/k.cu");
  GitTree tree = GitTree::at(root);
  auto commit = tree.commit_files({root / "src/k.cu"}, "Tune\n", root);
  ASSERT_TRUE(commit.ok());
  ASSERT_TRUE(tree.switch_to("tuned", *commit, {root / "src/k.cu"}).ok());
  EXPECT_FALSE(std::filesystem::exists(root / "hooked"));
}

TEST_F(Git, NamesALockThatStays) {
  make_git();
  shell("touch .git/index.lock");
  auto tree = inspect();
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().exit, Exit::Environment);
  EXPECT_NE(tree.error().message.find(".git/index.lock exists: another git process is at work"), std::string::npos)
      << tree.error().message;
}

TEST_F(Git, FindsTheRepositoryAroundAFolderAndItsLock) {
  EXPECT_EQ(GitTree::around(root)->kind(), GitTree::Kind::None);
  make_git();
  EXPECT_EQ(GitTree::around(root / "src")->top(), root);
  shell("touch .git/index.lock");
  EXPECT_EQ(GitTree::around(root / "src").error().exit, Exit::Environment);
}

TEST_F(Git, WaitsForALockThatIsHeldForAMoment) {
  make_git();
  shell("touch .git/index.lock; (sleep 0.5; rm .git/index.lock) >/dev/null 2>&1 &");
  EXPECT_EQ(refusal(), "");
}

class Hooks : public Git {
 protected:
  void SetUp() override {
    Git::SetUp();
    make_git();
    shell("sed -i s/0.05/0.01/ src/k.cu");
  }
  void hook(const std::string& name, const std::string& line) {
    write(".git/hooks/" + name, "#!/bin/sh\n" + line + "\n");
    shell("chmod +x .git/hooks/" + name);
  }
  Result<std::string> commit() {
    InterruptGuard guard;
    GitTree tree = GitTree::at(root);
    GitHooks hooks = tree.hooks();
    return tree.commit_files({root / "src/k.cu"}, "Tune\n", root / "out", &hooks);
  }
  std::string refusal_by_hooks() {
    auto made = commit();
    return made.ok() ? "" : made.error().message;
  }
};

TEST_F(Hooks, AreThoseThatGitWouldRun) {
  EXPECT_TRUE(GitTree::at(root).hooks().none()) << "git's samples do not count";
  hook("pre-commit", "exit 0");
  hook("commit-msg", "exit 0");
  hook("post-commit", "exit 0");
  EXPECT_EQ(GitTree::at(root).hooks().names(), "pre-commit, commit-msg");
  shell("mkdir mine && git config core.hooksPath mine && printf '#!/bin/sh\\n' > mine/pre-commit");
  EXPECT_TRUE(GitTree::at(root).hooks().none()) << "git ignores hooks that are not executable";
  shell("chmod +x mine/pre-commit");
  EXPECT_EQ(GitTree::at(root).hooks().names(), "pre-commit");
}

TEST_F(Hooks, SeeThePatchAndNothingElseInTheIndex) {
  shell("echo staged >> build.sh && git add build.sh");
  hook("pre-commit", "git diff --cached --name-only > seen; git show :src/k.cu | grep -q 0.01");
  EXPECT_EQ(refusal_by_hooks(), "");
  EXPECT_EQ(read("seen"), "src/k.cu\n");
  EXPECT_EQ(shell("git diff --cached --name-only"), "build.sh\n") << "the user's own index";
}

TEST_F(Hooks, StopACommitByTheirExitCodeAndAreQuoted) {
  hook("pre-commit", "echo use two spaces >&2; exit 1");
  EXPECT_NE(refusal_by_hooks().find("pre-commit hook does not let the patch pass: it exited with 1:\nuse two spaces"),
            std::string::npos)
      << refusal_by_hooks();
}

TEST_F(Hooks, MayChangeTheMessageAndNotThePatch) {
  hook("commit-msg", "echo 'Change-Id: I1' >> \"$1\"");
  auto made = commit();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(shell("git log -1 --format=%B " + *made), "Tune\nChange-Id: I1\n\n");
  hook("pre-commit", "echo '// formatted' >> src/k.cu; git add src/k.cu");
  EXPECT_NE(refusal_by_hooks().find("change what is committed: src/k.cu"), std::string::npos) << refusal_by_hooks();
}

/// What is said if the user interrupts the hook as soon as it has made the file `begun`.
class InterruptedHooks : public Hooks {
 protected:
  std::string interrupted() {
    shell("echo unsaved >> build.sh");
    InterruptGuard guard;
    std::thread user([&] {
      while (!std::filesystem::exists(root / "begun")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      kill(getpid(), SIGTERM);
    });
    auto made = commit();
    user.join();
    return made.ok() ? "" : made.error().message;
  }
};

TEST_F(InterruptedHooks, PutBackWhatTheyHadPutAside) {
  hook("pre-commit",
       "cp build.sh .git/aside; git checkout -- build.sh\n"
       "trap 'sleep 0.3; cp .git/aside build.sh; exit 1' INT TERM\n"
       "touch begun; sleep 1000 & wait; exit 1");
  EXPECT_EQ(interrupted(), "interrupted by the user");
  EXPECT_NE(read("build.sh").find("unsaved"), std::string::npos);
}

TEST_F(InterruptedHooks, AreSaidToHaveLostWhatTheyDoNotPutBack) {
  hook("pre-commit", "git checkout -- build.sh; touch begun; sleep 1000; exit 1");
  const std::string said = interrupted();
  EXPECT_NE(said.find("these files changed, which are not the patch's: build.sh"), std::string::npos) << said;
}

TEST_F(Hooks, ThatNeverEndAreStopped) {
  hook("pre-commit", "sleep 1000");
  InterruptGuard guard;
  GitHooks hooks = GitTree::at(root).hooks();
  hooks.set_limit(std::chrono::milliseconds(300));
  Status tried = GitTree::at(root).try_hooks({root / "src/k.cu"}, "Tune\n", root / "out", hooks);
  ASSERT_FALSE(tried.ok());
  EXPECT_NE(tried.error().message.find("ran past its limit"), std::string::npos) << tried.error().message;
}

TEST_F(Git, CommitsInAWorktree) {
  make_git();
  shell("git worktree add -q ../tree -b other");
  const std::filesystem::path other = root.parent_path() / "tree";
  auto tree = GitTree::inspect(other, {other / "src/k.cu"});
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree->top(), other);
  shell("sed -i s/0.05/0.01/ ../tree/src/k.cu");
  auto commit = tree->commit_files({other / "src/k.cu"}, "Tune\n", root / "out");
  ASSERT_TRUE(commit.ok()) << commit.error().message;
  ASSERT_TRUE(tree->switch_to("tuned", *commit, {other / "src/k.cu"}).ok());
  EXPECT_EQ(shell("git -C ../tree branch --show-current; git -C ../tree status --porcelain; git branch --show-current"),
            "tuned\nmain\n");
  shell("touch \"$(git -C ../tree rev-parse --git-path index.lock)\"");
  EXPECT_FALSE(GitTree::inspect(other, {other / "src/k.cu"}).ok()) << "a worktree has an index of its own";
  EXPECT_TRUE(GitTree::inspect(root, {root / "src/k.cu"}).ok());
}

}  // namespace
}  // namespace kernelift::reintegrate
