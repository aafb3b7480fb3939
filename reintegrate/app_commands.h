// Runs the application's own commands: shell lines, in its root, with their output kept in log files. An interruption
// kills the running command and is reported to the caller, who then restores the files.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::reintegrate {

struct CommandOutcome {
  bool ok = false, interrupted = false, timed_out = false;
  double seconds = 0;
  std::string output;  ///< What it printed to stdout, then to stderr.
  std::string why;     ///< "exited with 2: <its last lines>"; empty if ok.
};

class AppCommands {
 public:
  AppCommands(std::filesystem::path root, std::vector<std::pair<std::string, std::string>> environment,
              std::filesystem::path logs)
      : root_(std::move(root)), environment_(std::move(environment)), logs_(std::move(logs)) {}
  /// EXPECTS: an InterruptGuard exists. `name` names the log file ("build-patched"). Without a timeout it waits
  /// forever.
  Result<CommandOutcome> run(const std::string& name, const std::string& line,
                             std::optional<std::chrono::milliseconds> timeout = {}) const;

 private:
  std::filesystem::path root_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::filesystem::path logs_;
};

/// The last 600 bytes of a command's output, from the beginning of a line, without trailing white space.
std::string last_lines(std::string text);

}  // namespace kernelift::reintegrate
