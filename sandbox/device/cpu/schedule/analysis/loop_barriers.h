// Finds loops through which all threads of a block can be led step by step.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Puts a plain barrier at the start of each step of such loops of a kernel that waits for nothing itself, and behind
/// them. The barriers in program order; none if there is no such loop.
llvm::SmallVector<llvm::Instruction*, 4> add_loop_barriers(Kernel& kernel);

}  // namespace kernelift::cpu
