// Decides how each kernel runs (LOOP, CUT or FIBER) and why.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Sets mode, mode_reason and flags of every kernel, numbers the barriers, and makes code that relies on a warp's
/// lockstep or spins fit for fibers. `side_by_side`: LowerOptions::side_by_side.
Status choose_modes(DeviceModule& device, bool force_fibers, bool side_by_side = false);

/// Sets stack_bytes of kernels that run on fibers (stacks.cpp); after their `run` is made.
void bound_stacks(DeviceModule& device);

}  // namespace kernelift::cpu
