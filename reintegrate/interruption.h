// Ctrl-C and requests to terminate while commands of the user run: they reach the command and everything it has
// started, and leave this process the time to put things back and say where they stand.
#pragma once
#include "core/base/process.h"

namespace kernelift {

/// While it lives, SIGINT, SIGTERM and SIGHUP are noted, and end what run_interruptibly() waits for instead of this
/// process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  static bool interrupted();
};

/// What an interruption does to the command: hands the signal on, for programs that save their state by it, or ends
/// them.
enum class Ending { HandedOn, Killed };

/// run_process under a guard. The command stays in our group, so that a terminal is its terminal too.
Result<ProcessOutcome> run_interruptibly(const std::vector<std::string>& argv, ProcessOptions options, Ending ending);

}  // namespace kernelift
