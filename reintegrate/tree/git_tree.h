// The application's git repository, if it has one: checks that files are clean, and makes a commit that holds the patch
// and nothing else. Uses the git program's plumbing commands with a temporary index, so that the user's index, stash
// and uncommitted work in other files are never touched. The hooks of `git commit` are run on that index.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "reintegrate/tree/git_hooks.h"

namespace kernelift::reintegrate {

class GitTree {
 public:
  enum class Kind { None, Tracked };

  /// The top of the repository around `folder`; empty if there is none, or no git. Refused where git does not trust its
  /// owner.
  static Result<std::filesystem::path> top_around(const std::filesystem::path& folder);
  /// The repository at `top`, whose `files` a patch changes. Kind::None if it has no commit yet, or tracks none of
  /// them. Refuses, by name: files of which only some are tracked, a file with uncommitted changes, a merge or rebase
  /// in progress, a repository that is read-only. A lock of git's that stays is an Error.
  static Result<GitTree> inspect(const std::filesystem::path& top, const std::vector<std::filesystem::path>& files);

  /// Tracked files of the repository around `folder` that differ from its last commit, relative to `folder`; empty
  /// without one.
  static std::vector<std::string> changed_files(const std::filesystem::path& folder);

  /// The repository around `folder`; Kind::None if there is none. A lock of git's that stays is an Error.
  static Result<GitTree> around(const std::filesystem::path& folder);
  /// The repository at `top`, without any check: for finishing an interrupted commit.
  static GitTree at(const std::filesystem::path& top);

  Kind kind() const { return kind_; }
  const std::filesystem::path& top() const { return top_; }
  /// The branch that was checked out at inspect(), or the commit if HEAD was detached.
  const std::string& head() const { return head_; }

  bool has_branch(const std::string& name) const;
  /// Refuses a name that is taken; one that no branch can have is wrong usage.
  Status check_new_branch(const std::string& name) const;
  /// git's own folder for this working tree.
  Result<std::filesystem::path> git_folder() const;
  /// Makes a commit on top of HEAD that takes `files` from the working tree and changes nothing else. Moves no
  /// reference. With `hooks`, they are run first, may change the message, and an Error is what try_hooks() returns.
  Result<std::string> commit_files(const std::vector<std::filesystem::path>& files, const std::string& message,
                                   const std::filesystem::path& scratch, const GitHooks* hooks = nullptr) const;
  /// Runs the hooks on the commit that commit_files() would make; why they do not let it pass as it is, if they do not.
  Status try_hooks(const std::vector<std::filesystem::path>& files, const std::string& message,
                   const std::filesystem::path& scratch, const GitHooks& hooks) const;
  /// Creates `branch` at `commit` and checks it out without writing the working tree. On failure the index is restored.
  /// Refused unless `commit` is_on_head(): files that other commits changed would seem changed back.
  Status switch_to(const std::string& branch, const std::string& commit,
                   const std::vector<std::filesystem::path>& files) const;
  /// Takes back a switch_to() that had moved from `previous`: its branch goes, HEAD and the index are as before. A HEAD
  /// that was moved elsewhere since stays.
  Status switch_back(const std::string& previous, const std::string& branch, const std::string& commit,
                     const std::vector<std::filesystem::path>& files) const;
  /// True if git is configured to sign commits here; commit_files() never signs.
  bool wants_signatures() const;
  /// The branch or commit that is checked out now.
  Result<std::string> checked_out() const;
  /// True if what is checked out is the commit that `commit` was made on.
  bool is_on_head(const std::string& commit) const;
  bool branch_is_at(const std::string& branch, const std::string& commit) const;
  /// True if the branch points to `commit` or to a descendant of it.
  bool branch_holds(const std::string& branch, const std::string& commit) const;
  Status create_branch(const std::string& branch, const std::string& commit) const;
  /// Absolute paths of all files that git tracks, sorted.
  Result<std::vector<std::filesystem::path>> tracked() const;
  /// The hooks that `git commit` would run here.
  GitHooks hooks() const;

 private:
  /// The hash of the commit that `name` stands for.
  Result<std::string> commit_at(const std::string& name) const;
  /// Fills the temporary index with the commit `on` and `files`; the name of its tree.
  Result<std::string> stage(const std::string& on, const std::vector<std::filesystem::path>& files,
                            const std::filesystem::path& index) const;
  Kind kind_ = Kind::None;
  std::filesystem::path top_;
  std::string head_;
};

}  // namespace kernelift::reintegrate
