// The application's own commands: shell lines, run in its root, their output kept in log files. An interruption ends
// the running one and is reported, so that the caller can put everything back first.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct CommandOutcome {
  bool ok = false, interrupted = false;
  double seconds = 0;
  std::string why;  ///< "exited with 2: <its last lines>", empty when ok.
};

class AppCommands {
 public:
  AppCommands(std::filesystem::path root, std::vector<std::pair<std::string, std::string>> environment,
              std::filesystem::path logs)
      : root_(std::move(root)), environment_(std::move(environment)), logs_(std::move(logs)) {}
  /// Under an InterruptGuard. `name` is the log's: "build-patched". No timeout means none.
  Result<CommandOutcome> run(const std::string& name, const std::string& line,
                             std::optional<std::chrono::milliseconds> timeout = {}) const;

 private:
  std::filesystem::path root_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::filesystem::path logs_;
};

/// The last lines of a command's output, without the blank end.
std::string last_lines(std::string text);

}  // namespace kernelift
