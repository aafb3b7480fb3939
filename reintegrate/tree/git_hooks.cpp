// Hooks are programs of the user's: they end with this process, like the application's own commands. An interruption is
// handed on to them and not enforced at once, because a framework that has put the user's unstaged changes aside
// (`git checkout -- .`) needs a moment to put them back.
#include "reintegrate/tree/git_hooks.h"

#include <unistd.h>

#include "core/base/process.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/interruption.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {

GitHooks::GitHooks(fs::path top, const fs::path& folder) : top_(std::move(top)), folder_(folder) {
  std::error_code code;
  for (const char* name : {"pre-commit", "prepare-commit-msg", "commit-msg"})
    if (fs::is_regular_file(folder_ / name, code) && access((folder_ / name).c_str(), X_OK) == 0)
      names_.emplace_back(name);
}

std::string GitHooks::names() const {
  std::string text;
  for (auto& name : names_) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Status GitHooks::run(const fs::path& index, const fs::path& message) const {
  ProcessOptions options;
  options.folder = top_;
  options.timeout = limit_;
  // What `git commit -F` gives them. Without an editor a hook that opens one goes on at once.
  options.environment = {{"GIT_INDEX_FILE", index.string()}, {"GIT_EDITOR", ":"}, {"GIT_PREFIX", ""}};
  for (auto& name : names_) {
    std::vector<std::string> words{(folder_ / name).string()};
    if (name != "pre-commit") words.push_back(message.string());
    if (name == "prepare-commit-msg") words.emplace_back("message");
    KERNELIFT_ASSIGN(ProcessOutcome ran, run_interruptibly(words, options, Ending::HandedOn));
    if (InterruptGuard::interrupted()) return Error{"interrupted by the user", Exit::Interrupted};
    if (ran.ok()) continue;
    std::string said = last_lines(ran.out + ran.err);
    return answer_is_no("the repository's " + name + " hook does not let the patch pass: it " + ran.describe() +
                        (said.empty() ? "" : ":\n" + said));
  }
  return done();
}

}  // namespace kernelift::reintegrate
