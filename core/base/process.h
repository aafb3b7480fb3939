// Child processes: started from an argument vector (never through a shell unless the caller names one), in a process
// group of their own so that a deadline ends all of their children too.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct ProcessOptions {
  std::filesystem::path folder;                                  ///< Working folder; empty: this process's.
  std::vector<std::pair<std::string, std::string>> environment;  ///< Variables added to or replaced in our environment.
  bool capture_output = true;                        ///< false: the child shares our stdin, stdout and stderr.
  bool share_stderr = false;                         ///< With capture_output: only stdout is captured.
  bool own_group = true;                             ///< false: a terminal's Ctrl-C reaches the child as well.
  size_t output_limit = 4 << 20;                     ///< Bytes kept of each stream; the rest is read and dropped.
  std::optional<std::chrono::milliseconds> timeout;  ///< After it the whole process group is killed.
  /// Runs in the child before the program starts, e.g. to confine it. An Error becomes exit code 126, its text stderr.
  std::function<Status()> prepare;
};

struct ProcessOutcome {
  int exit_code = -1;  ///< The child's exit code; -1 if a signal ended it.
  int signal = 0;      ///< The signal that ended it, or 0.
  bool timed_out = false;
  bool unkillable = false;  ///< Timed out, and SIGKILL did not end it either: it is inside a driver that hangs.
  double seconds = 0;       ///< Wall time from fork to exit.
  std::string out, err;     ///< Empty unless captured.
  bool ok() const { return exit_code == 0 && !timed_out; }
  /// "exited with 3", "was killed by signal 11 (Segmentation fault)", "ran past its 10 s".
  std::string describe() const;
};

/// Runs to the end. An Error means that the program could not be started at all.
Result<ProcessOutcome> run_process(const std::vector<std::string>& argv, const ProcessOptions& options = {});

/// The full path of a program on PATH, or nullopt.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// Words of a command line split as a POSIX shell would (quotes and backslashes; no expansion).
Result<std::vector<std::string>> split_command(std::string_view line);
/// The inverse: a line that a POSIX shell splits back into `argv`.
std::string join_command(const std::vector<std::string>& argv);

}  // namespace kernelift
