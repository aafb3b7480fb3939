// Repositories are told apart by what git calls their top: a submodule's files are its own, not those of the repository
// around it.
#include "reintegrate/tree/git_trees.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/within.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

std::string legal_in_branch(const std::string& name) {
  std::string legal;
  for (char c : name) legal += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '-';
  while (legal.find("--") != legal.npos) legal.erase(legal.find("--"), 1);
  while (!legal.empty() && legal.back() == '-') legal.pop_back();
  while (!legal.empty() && legal.front() == '-') legal.erase(0, 1);
  return legal.empty() ? "kernel" : legal;
}

}  // namespace

Result<GitTrees> GitTrees::inspect(const std::vector<fs::path>& changed, const std::vector<fs::path>& created) {
  struct Files {
    std::vector<fs::path> changed, all;
  };
  std::map<fs::path, Files> by_top;
  for (auto& file : changed) {
    KERNELIFT_ASSIGN(fs::path top, GitTree::top_around(file.parent_path()));
    by_top[top].changed.push_back(file), by_top[top].all.push_back(file);
  }
  for (auto& file : created) {
    KERNELIFT_ASSIGN(fs::path top, GitTree::top_around(file.parent_path()));
    by_top[top].all.push_back(file);
  }
  GitTrees trees;
  fs::path untracked;
  for (auto& [top, files] : by_top) {
    GitTree tree;
    if (!top.empty()) {
      KERNELIFT_ASSIGN(tree, GitTree::inspect(top, files.changed));
    }
    if (tree.kind() == GitTree::Kind::None) untracked = files.all[0];
    else trees.repositories_.push_back({tree, files.all, tree.hooks()});
  }
  if (!trees.none() && !untracked.empty())
    return refused(untracked.string() +
                   " is not tracked by git, though other files of the patch are: `git add` and commit it first");
  return trees;
}

Status GitTrees::lock() {
  for (auto& repository : repositories_) {
    KERNELIFT_ASSIGN(fs::path folder, repository.tree.git_folder());
    KERNELIFT_ASSIGN(std::optional<Lock> taken, Lock::try_take(folder / "kernelift.lock"));
    if (!taken)
      return refused("another `kernelift apply` is patching the repository " + repository.tree.top().string() +
                     ": wait for it to end");
    locks_.push_back(std::move(*taken));
  }
  return done();
}

Result<std::string> GitTrees::free_branch(const std::string& wanted, const std::string& kernel) const {
  for (auto& repository : repositories_)
    if (!wanted.empty()) KERNELIFT_TRY(repository.tree.check_new_branch(wanted));
  if (!wanted.empty()) return wanted;
  auto taken = [&](const std::string& name) {
    return std::ranges::any_of(repositories_, [&](auto& repository) { return repository.tree.has_branch(name); });
  };
  // A branch called "kernelift" would make "kernelift/…" impossible.
  const std::string prefix = taken("kernelift") ? "kernelift-" : "kernelift/";
  for (int n = 1;; ++n)
    if (std::string name = prefix + legal_in_branch(kernel) + "-" + std::to_string(n); !taken(name)) return name;
}

Result<std::vector<fs::path>> GitTrees::tracked() const {
  std::vector<fs::path> all;
  for (auto& repository : repositories_) {
    KERNELIFT_ASSIGN(std::vector<fs::path> files, repository.tree.tracked());
    all.insert(all.end(), files.begin(), files.end());
  }
  std::ranges::sort(all);
  return all;
}

bool GitTrees::wants_signatures() const {
  return std::ranges::any_of(repositories_, [](auto& repository) { return repository.tree.wants_signatures(); });
}

std::string GitTrees::hook_names() const {
  std::string names;
  for (auto& repository : repositories_)
    if (!repository.hooks.none())
      names += (names.empty() ? "" : "; ") + repository.hooks.names() +
               (repositories_.size() > 1 ? " of " + repository.tree.top().string() : "");
  return names;
}

void GitTrees::set_hook_limit(std::chrono::milliseconds limit) {
  for (auto& repository : repositories_) repository.hooks.set_limit(limit);
}

Status GitTrees::try_hooks(const MessageOf& message, const fs::path& scratch) const {
  for (auto& one : repositories_)
    if (!one.hooks.none()) KERNELIFT_TRY(one.tree.try_hooks(one.files, message(one), scratch, one.hooks));
  return done();
}

Result<std::vector<PatchCommit>> GitTrees::commit(const MessageOf& message, const fs::path& scratch,
                                                  bool with_hooks) const {
  std::vector<PatchCommit> commits;
  for (auto& one : repositories_) {
    KERNELIFT_ASSIGN(std::string previous, one.tree.checked_out());
    if (previous != one.tree.head())
      return refused("the branch or commit that is checked out in " + one.tree.top().string() + " was " +
                     one.tree.head() + " and is now " + previous);
    KERNELIFT_ASSIGN(std::string commit,
                     one.tree.commit_files(one.files, message(one), scratch, with_hooks ? &one.hooks : nullptr));
    commits.push_back({one.tree.top(), commit, previous, one.files});
  }
  return commits;
}

std::string top_seen_from(const fs::path& folder, const fs::path& top) {
  std::error_code code;
  return within(fs::weakly_canonical(folder, code), fs::weakly_canonical(top, code)) ? "" : top.string();
}

Status switch_to(const std::string& branch, const std::vector<PatchCommit>& commits) {
  for (size_t i = 0; i < commits.size(); ++i) {
    Status switched = GitTree::at(commits[i].top).switch_to(branch, commits[i].commit, commits[i].files);
    if (switched.ok()) continue;
    for (size_t back = 0; back <= i; ++back) {
      const PatchCommit& moved = commits[back];
      Status returned = GitTree::at(moved.top).switch_back(moved.previous, branch, moved.commit, moved.files);
      if (!returned.ok())
        return std::move(switched).error().in("the repository " + moved.top.string() + " stays on branch " + branch +
                                              ", because git cannot move it back (" + returned.error().message + ")");
    }
    return switched;
  }
  return done();
}

}  // namespace kernelift::reintegrate
