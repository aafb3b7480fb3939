// The hooks that `git commit` runs before it makes a commit: pre-commit, prepare-commit-msg and commit-msg. They are
// run here as git runs them, but on a temporary index and with a time limit.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::reintegrate {

class GitHooks {
 public:
  GitHooks() = default;
  /// Those in `folder` that are executable, which git would run; `top` is the repository.
  GitHooks(std::filesystem::path top, const std::filesystem::path& folder);

  bool none() const { return names_.empty(); }
  /// "pre-commit, commit-msg"
  std::string names() const;
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }
  /// Runs them one after another; what the first that fails says. They may change the message file, and anything else.
  /// A hook gets no terminal. EXPECTS: an InterruptGuard exists.
  Status run(const std::filesystem::path& index, const std::filesystem::path& message) const;

 private:
  std::filesystem::path top_, folder_;
  std::vector<std::string> names_;
  std::chrono::milliseconds limit_ = std::chrono::hours(1);
};

}  // namespace kernelift::reintegrate
