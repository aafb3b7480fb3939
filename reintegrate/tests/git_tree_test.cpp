// git: what is refused, and that a commit holds the patch and no other change.
#include "reintegrate/tree/git_tree.h"

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class Git : public Application {
 protected:
  Result<GitTree> inspect(const std::string& name = "src/k.cu") { return GitTree::inspect({root / name}); }
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
  EXPECT_EQ(*inspect()->free_branch("", "sleepy"), "kernelift/sleepy-2");
}

TEST_F(Git, DerivesALegalBranchNameFromAnyKernelName) {
  make_git();
  EXPECT_EQ(*inspect()->free_branch("", "(anonymous)::k"), "kernelift/anonymous-k-1");
}

TEST_F(Git, RefusesABranchThatExists) {
  make_git();
  auto branch = inspect()->free_branch("main", "k");
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

TEST_F(Git, RunsNoHooks) {
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

}  // namespace
}  // namespace kernelift::reintegrate
