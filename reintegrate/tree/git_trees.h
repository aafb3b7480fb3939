// The git repositories whose files a patch changes: the application's; or a library's that the application only
// exercises; or both. Each gets a commit on a branch of its own. All these branches have one name, and either all
// repositories move to them or none does.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/locks/lock.h"
#include "core/base/result.h"
#include "reintegrate/tree/git_hooks.h"
#include "reintegrate/tree/git_tree.h"

namespace kernelift::reintegrate {

/// A patch's commit in one repository.
struct PatchCommit {
  std::filesystem::path top;                 ///< The repository.
  std::string commit, previous;              ///< `previous`: the branch or commit that was checked out before it.
  std::vector<std::filesystem::path> files;  ///< Of the patch in this repository.
};

class GitTrees {
 public:
  struct Repository {
    GitTree tree;
    std::vector<std::filesystem::path> files;  ///< Of the patch; those that it creates are in it.
    GitHooks hooks;
  };
  using MessageOf = std::function<std::string(const Repository&)>;

  /// The repositories that track `changed`, each as GitTree::inspect() has it, and those of the files that the patch
  /// creates; none if there is no git, or no file is tracked. Refused, by name: a file that is in none, where others
  /// are in one.
  static Result<GitTrees> inspect(const std::vector<std::filesystem::path>& changed,
                                  const std::vector<std::filesystem::path>& created = {});

  bool none() const { return repositories_.empty(); }
  const std::vector<Repository>& repositories() const { return repositories_; }
  /// Until this object ends no other process can lock these repositories. Refused where one has.
  Status lock();

  /// `wanted` if it is a legal name and taken in no repository; if it is empty, the first of "kernelift/<kernel>-<n>"
  /// that is taken in none.
  Result<std::string> free_branch(const std::string& wanted, const std::string& kernel) const;
  /// Absolute paths of all files that git tracks, sorted.
  Result<std::vector<std::filesystem::path>> tracked() const;
  bool wants_signatures() const;

  /// "pre-commit, commit-msg", with the repository where there are several; empty: there are no hooks.
  std::string hook_names() const;
  void set_hook_limit(std::chrono::milliseconds limit);
  /// GitTree::try_hooks() in each.
  Status try_hooks(const MessageOf& message, const std::filesystem::path& scratch) const;
  /// GitTree::commit_files() in each: no reference moves. Refused where another branch or commit than at inspect() is
  /// checked out.
  Result<std::vector<PatchCommit>> commit(const MessageOf& message, const std::filesystem::path& scratch,
                                          bool with_hooks) const;

 private:
  std::vector<Repository> repositories_;
  std::vector<Lock> locks_;
};

/// `top`; empty where `folder` lies in that repository, so that git's commands there need not name it.
std::string top_seen_from(const std::filesystem::path& folder, const std::filesystem::path& top);

/// Moves each repository to `branch` at its commit. If git refuses that in one, those that had moved are moved back.
Status switch_to(const std::string& branch, const std::vector<PatchCommit>& commits);

}  // namespace kernelift::reintegrate
