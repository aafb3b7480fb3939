// See signals.h.
#include "extractor/record/cuda/quiet/signals.h"

#include <unwind.h>

namespace kernelift {
namespace {

bool& uninterrupted() {
  static thread_local bool now = false;
  return now;
}

}  // namespace

bool in_a_signals_handler() {
  bool found = false;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* into) -> _Unwind_Reason_Code {
        // A called frame's address lies behind its call; only what a signal interrupted stands at the very instruction.
        int interrupted_here = 0;
        _Unwind_GetIPInfo(frame, &interrupted_here);
        if (interrupted_here) *static_cast<bool*>(into) = true;
        return interrupted_here ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &found);
  return found;
}

Uninterrupted::Uninterrupted() : outermost_(!uninterrupted()) {
  if (!outermost_) return;
  sigset_t signals;
  sigfillset(&signals);
  // A fault of our own must end the process as it always would, not hang it.
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGXFSZ}) sigdelset(&signals, fault);
  outermost_ = uninterrupted() = sigprocmask(SIG_BLOCK, &signals, &before_) == 0;
}

Uninterrupted::~Uninterrupted() {
  if (!outermost_) return;
  uninterrupted() = false;
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace kernelift
