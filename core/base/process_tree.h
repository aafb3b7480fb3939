// A command and everything that it starts, as one thing that can be signalled and ended. Process groups do not hold a
// build together: makes, shells and daemons put their children elsewhere. So a small supervisor stands between this
// process and the command: it adopts what the command leaves behind, and if this process ends, however it ends, it
// kills all of it. Should the supervisor be killed as well, the command's processes can still be found by a variable in
// their environment.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// How long a killed process may take: it may have gigabytes to free.
inline constexpr auto kToDie = std::chrono::seconds(20);

class ProcessTree {
 public:
  ProcessTree();
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  /// For ProcessOptions::prepare: the child that was forked for the command becomes the supervisor, and a child of its
  /// own runs `then` and becomes the command. The supervisor ends as the command ended; what the command then leaves
  /// running stays. One object serves one command.
  std::function<Status()> prepare(std::function<Status()> then = {});
  /// The command's process; 0 before it begins.
  pid_t command() const;
  /// Signals the command and all processes that it has started, parents first: a shell whose command was signalled
  /// first would go on to its next command. False if there is none yet, or none any more.
  bool signal(int signal) const;
  /// The same by the supervisor, for a signal's handler. Once it was asked, what the command leaves behind has some
  /// seconds to end, and is killed.
  void hand_on(int signal) const;
  /// Asks them all to end, so that compilers remove their half-written files, and soon kills them, also those that they
  /// start meanwhile; false if some are still there after some seconds.
  bool kill() const;

 private:
  struct Cell;  ///< Shared with the supervisor.
  Cell* cell_ = nullptr;
};

/// Kills all descendants of a process, again and again until none is left; false if some are still there after some
/// seconds, as processes are that wait inside a driver. With `ask_first` they get SIGTERM before; then `of` must be a
/// process that adopts its orphans.
bool kill_descendants(pid_t of, bool ask_first = false);

/// Kills the processes of this user whose environment has `NAME=value`, as they are found, until there are none. This
/// process and its ancestors are spared. The names of the killed programs ("make", "cc1plus"), each once.
std::vector<std::string> end_processes_with(const std::string& variable);

}  // namespace kernelift
