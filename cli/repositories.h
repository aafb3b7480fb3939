// --repo: git repositories beside the application's own whose files a patch may change, and what a user should know of
// all of them before hours are spent.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "core/base/result.h"
#include "core/model/mep.h"

namespace kernelift::cli {

void add_repositories(CLI::App& app, std::vector<std::string>& folders);
/// The repositories' tops, links resolved. A usage Error: a folder is in none, or its repository has no commit.
Result<std::vector<std::filesystem::path>> repository_tops(const std::vector<std::string>& folders);
/// Says which files have uncommitted changes, which apply would refuse to patch, and which hooks are run on a patch
/// (`run_hooks`) or are not. An Error: a lock of git's that stays.
Status note_state_of_repositories(const Context& context, const std::vector<std::filesystem::path>& further,
                                  bool run_hooks);

/// A file that has changed since the last commit and that the kernel's text is of, or a header that its text takes
/// lines from: what was measured with it would be in no commit. Relative to the application's root; empty: none is.
std::string uncommitted_part(const Mep& mep);

}  // namespace kernelift::cli
