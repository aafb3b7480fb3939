// See repositories.h.
#include "cli/repositories.h"

#include <algorithm>
#include <set>

#include "reintegrate/tree/git_trees.h"

namespace fs = std::filesystem;

namespace kernelift::cli {

void add_repositories(CLI::App& app, std::vector<std::string>& folders) {
  app.add_option("--repo", folders,
                 "A folder of another git repository whose files a patch may change, too: of a library that this "
                 "application uses. Give it once for each (default: nothing outside the application's folder changes)")
      ->allow_extra_args(false);  // What follows a folder is the verb's own argument.
}

Result<std::vector<fs::path>> repository_tops(const std::vector<std::string>& folders) {
  std::vector<fs::path> tops;
  for (auto& folder : folders) {
    std::error_code code;
    const fs::path real = fs::weakly_canonical(fs::absolute(folder), code);
    if (!fs::is_directory(real, code)) return usage_error("--repo " + folder + ": there is no such folder");
    KERNELIFT_ASSIGN(fs::path top, reintegrate::GitTree::top_around(real));
    if (top.empty() || !reintegrate::GitTree::at(top).checked_out().ok())
      return usage_error("--repo " + folder +
                         ": this folder is in no git repository with a commit; a patch there becomes a commit");
    if (std::ranges::find(tops, top) == tops.end()) tops.push_back(top);
  }
  return tops;
}

Status note_state_of_repositories(const Context& context, const std::vector<fs::path>& further, bool run_hooks) {
  const fs::path here = fs::current_path();
  std::vector<std::string> changed = reintegrate::GitTree::changed_files(here);
  std::string hooks;
  auto add_hooks = [&](const reintegrate::GitTree& tree, const std::string& where) {
    if (auto found = tree.hooks(); !found.none()) hooks += (hooks.empty() ? "" : "; ") + found.names() + where;
  };
  KERNELIFT_ASSIGN(reintegrate::GitTree own, reintegrate::GitTree::around(here));
  add_hooks(own, "");
  for (auto& top : further) {
    for (auto& file : reintegrate::GitTree::changed_files(top)) changed.push_back((top / file).string());
    KERNELIFT_ASSIGN(reintegrate::GitTree tree, reintegrate::GitTree::around(top));
    add_hooks(tree, " of " + top.string());
  }
  if (!changed.empty()) {
    constexpr size_t kShown = 5;
    std::string names;
    for (size_t i = 0; i < changed.size() && i < kShown; ++i) names += (i ? ", " : "") + changed[i];
    if (changed.size() > kShown) names += " and " + std::to_string(changed.size() - kShown) + " more";
    context.note(
        "Uncommitted changes in " + names +
        ": no kernel in such a file, or with lines of it in its text, is patched until you commit it, and optimize "
        "does not tune one.");
  }
  if (!hooks.empty())
    context.note("The repository's hooks (" + hooks + ") " +
                 (run_hooks
                      ? "are run on every patch; one that they do not let pass is not kept (--hooks skip: not run)."
                      : "are not run on patches."));
  return done();
}

std::string uncommitted_part(const Mep& mep) {
  std::set<fs::path> own;
  for (auto& function : mep.functions) own.insert(fs::path(function.file).lexically_normal());
  for (auto& line : mep.origins)
    if (!line.file.empty()) own.insert(fs::path(line.file).lexically_normal());
  for (auto& file : reintegrate::GitTree::changed_files(mep.app_root))
    if (own.contains((fs::path(mep.app_root) / file).lexically_normal())) return file;
  return "";
}

}  // namespace kernelift::cli
