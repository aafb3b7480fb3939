// See signals.h.
#include "extractor/record/cuda/quiet/signals.h"

#include <unwind.h>

namespace kernelift::record {

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

}  // namespace kernelift::record
