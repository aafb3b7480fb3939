// Handles Ctrl-C and requests to terminate while a command of the user's runs: the signal reaches the command and all
// its descendants, and this process goes on to restore files and report the state.
#pragma once
#include "core/base/process.h"

namespace kernelift::reintegrate {

/// While an InterruptGuard exists, the signals of a SignalScope do not end this process: they are recorded, and
/// run_interruptibly() passes them to the command that it runs.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  static bool interrupted();
};

/// What an interruption does to the command and all that it has started: it hands the signal on, for programs that then
/// save their state, and a second one, or two minutes, kill them; or it kills them at once. If this process is killed,
/// they are too.
enum class Ending { HandedOn, Killed };

/// run_process that can be interrupted. EXPECTS: an InterruptGuard exists. The command stays in this process's group,
/// so that it can use the terminal.
Result<ProcessOutcome> run_interruptibly(const std::vector<std::string>& argv, ProcessOptions options, Ending ending);

}  // namespace kernelift::reintegrate
