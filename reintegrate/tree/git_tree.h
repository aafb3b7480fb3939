// The application's git repository, where it has one: is a file clean, and a commit that holds the patch and nothing
// else. Works through the git program's plumbing, with a temporary index, so that the user's own index, stash, hooks
// and uncommitted work in other files are never touched.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

class GitTree {
 public:
  enum class Kind { None, Tracked };

  /// The repository that tracks all of `files`. Kind::None when there is no git, no commit yet, or it tracks none of
  /// them. Refuses, by name: files of two repositories, some tracked and some not, a file with uncommitted changes, a
  /// merge or rebase under way.
  static Result<GitTree> inspect(const std::vector<std::filesystem::path>& files);

  /// Tracked files of the repository around `folder` that differ from its last commit, relative to `folder`; empty
  /// without one.
  static std::vector<std::string> changed_files(const std::filesystem::path& folder);

  /// The repository at `top`, nothing asked: to finish an interrupted commit.
  static GitTree at(const std::filesystem::path& top);

  Kind kind() const { return kind_; }
  const std::filesystem::path& top() const { return top_; }
  /// The branch that is checked out, or the commit when the head is detached.
  const std::string& head() const { return head_; }

  /// `wanted` if it is free and a legal name; the first free of "kernelift/<kernel>-<n>" when it is empty.
  Result<std::string> free_branch(const std::string& wanted, const std::string& kernel) const;
  /// A commit on top of HEAD that differs in `files` only, taken from the working tree. No reference is moved yet.
  Result<std::string> commit_files(const std::vector<std::filesystem::path>& files, const std::string& message,
                                   const std::filesystem::path& scratch) const;
  /// Creates `branch` at `commit` and makes it the checked-out one; the working tree is not written. Where that fails
  /// the index is as it was.
  Status switch_to(const std::string& branch, const std::string& commit,
                   const std::vector<std::filesystem::path>& files) const;
  /// Commits are to be signed here; those of commit_files() never are.
  bool wants_signatures() const;
  /// As head(), asked now.
  Result<std::string> checked_out() const;
  bool branch_is_at(const std::string& branch, const std::string& commit) const;
  /// There, or further on.
  bool branch_holds(const std::string& branch, const std::string& commit) const;
  Status create_branch(const std::string& branch, const std::string& commit) const;
  /// Every file that git tracks, absolute.
  Result<std::vector<std::filesystem::path>> tracked() const;

 private:
  Kind kind_ = Kind::None;
  std::filesystem::path top_;
  std::string head_;
};

}  // namespace kernelift
