// The recorder's side door (core/toolchain/record_hooks.h): the library named by $KERNELIFT_RECORDER is loaded at first
// use and told of every launch. Without it a launch pays one null check.
#pragma once
#include "core/toolchain/record_hooks.h"

namespace kernelift::cudart {

/// Null: nobody records. Set once by start_runtime().
extern const kl_recorder* recorder;

void attach_recorder();
/// Tells the recorder that the process ends; before the application's code objects unregister. Idempotent.
void shut_down_recorder();

}  // namespace kernelift::cudart
