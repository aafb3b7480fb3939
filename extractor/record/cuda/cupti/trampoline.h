// A trampoline that calls a callback before the next call of a function, for all callers: the function's first
// instructions are replaced by a jump, and put back before the call goes on. It works once, so that no instruction has
// to be relocated. Used for cuptiSubscribe: the recorder unsubscribes before the application's own profiler subscribes.
#pragma once

namespace kernelift::record {

/// For functions of integer and pointer arguments. False where that cannot be done (another architecture, memory that
/// may not be written): then nothing was changed.
bool trampoline_once(void* function, void (*before)());

}  // namespace kernelift::record
