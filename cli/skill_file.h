// `kernelift skill --install`: the text that tells a coding agent how to use Kernelift, in the file where that agent
// looks. It stands between marks with its hash, so that a later version replaces it and nothing that a user has
// written.
#pragma once
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift::cli {

struct SkillFile {
  std::filesystem::path path;
  enum class Done { Written, Added, Replaced, Kept } done = Done::Written;
  /// "wrote .claude/skills/kernelift/SKILL.md"
  std::string text() const;
};

/// `skill` is the text of SKILL.md, with its head between lines of "---". `agent` is claude, codex or cursor, `folder`
/// the project's. Refused where the file has text of the user's in the way, unless `replace`.
Result<SkillFile> install_skill(const std::string& agent, const std::string& skill, const std::filesystem::path& folder,
                                bool replace);

}  // namespace kernelift::cli
