// The recorder's side door (core/toolchain/record_hooks.h): the library named by $KERNELIFT_RECORDER is loaded at first
// use and told of every launch. Without it a launch pays one null check.
#pragma once
#include <mutex>

#include "core/toolchain/record_hooks.h"

namespace kernelift::cudart {

/// Null: nobody records. Set once by start_runtime().
extern const kl_recorder* recorder;

/// While a run is recorded, what changes or frees device memory takes turns with launches, so that a launch's images
/// differ by what it did. Held by the caller for its change; holds nothing where nobody records. EXPECTS: State::mutex
/// is not held.
std::unique_lock<std::mutex> lock_out_launches();

/// The handlers of the process's end run; those registered before the runtime was first used, which are the code
/// objects' own among others, are still to come.
bool process_ends();

void attach_recorder();
/// Tells the recorder that the process ends; before the application's code objects unregister. Idempotent.
void shut_down_recorder();

}  // namespace kernelift::cudart
