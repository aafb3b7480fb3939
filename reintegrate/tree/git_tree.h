// The application's git repository, if it has one: checks that files are clean, and makes a commit that holds the patch
// and nothing else. Uses the git program's plumbing commands with a temporary index, so that the user's index, stash,
// hooks and uncommitted work in other files are never touched.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::reintegrate {

class GitTree {
 public:
  enum class Kind { None, Tracked };

  /// The repository that tracks all of `files`. Kind::None if there is no git, no commit yet, or none of them is
  /// tracked. Refuses, by name: files of two repositories, files of which only some are tracked, a file with
  /// uncommitted changes, a merge or rebase in progress, a repository that is read-only.
  static Result<GitTree> inspect(const std::vector<std::filesystem::path>& files);

  /// Tracked files of the repository around `folder` that differ from its last commit, relative to `folder`; empty
  /// without one.
  static std::vector<std::string> changed_files(const std::filesystem::path& folder);

  /// The repository at `top`, without any check: for finishing an interrupted commit.
  static GitTree at(const std::filesystem::path& top);

  Kind kind() const { return kind_; }
  const std::filesystem::path& top() const { return top_; }
  /// The branch that was checked out at inspect(), or the commit if HEAD was detached.
  const std::string& head() const { return head_; }

  /// `wanted` if it is a legal name and not taken; if it is empty, the first of "kernelift/<kernel>-<n>" not taken.
  Result<std::string> free_branch(const std::string& wanted, const std::string& kernel) const;
  /// Makes a commit on top of HEAD that takes `files` from the working tree and changes nothing else. Moves no
  /// reference.
  Result<std::string> commit_files(const std::vector<std::filesystem::path>& files, const std::string& message,
                                   const std::filesystem::path& scratch) const;
  /// Creates `branch` at `commit` and checks it out without writing the working tree. On failure the index is restored.
  Status switch_to(const std::string& branch, const std::string& commit,
                   const std::vector<std::filesystem::path>& files) const;
  /// True if git is configured to sign commits here; commit_files() never signs.
  bool wants_signatures() const;
  /// The branch or commit that is checked out now.
  Result<std::string> checked_out() const;
  bool branch_is_at(const std::string& branch, const std::string& commit) const;
  /// True if the branch points to `commit` or to a descendant of it.
  bool branch_holds(const std::string& branch, const std::string& commit) const;
  Status create_branch(const std::string& branch, const std::string& commit) const;
  /// Absolute paths of all files that git tracks, sorted.
  Result<std::vector<std::filesystem::path>> tracked() const;

 private:
  Kind kind_ = Kind::None;
  std::filesystem::path top_;
  std::string head_;
};

}  // namespace kernelift::reintegrate
