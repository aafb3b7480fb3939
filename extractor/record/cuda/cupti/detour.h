// Being told before a function is called for the next time, whoever calls it and however it was looked up: its first
// instructions are replaced by a jump, and put back before the call goes on. One shot, so that nothing has to be
// relocated. Used for CUPTI's own subscription: an application that wants to profile itself must find us gone.
#pragma once

namespace kernelift::record {

/// For functions of integer and pointer arguments. False where that cannot be done (another architecture, memory that
/// may not be written): then nothing was changed.
bool detour_once(void* function, void (*before)());

}  // namespace kernelift::record
