// Runs blocks of one launch on the calling thread until none are left.
#pragma once
#include "sandbox/device/cpu/executor/launch_state.h"

namespace kernelift::cpu {

/// LOOP and CUT kernels.
void run_blocks_as_loops(LaunchState& state, uint32_t worker);
/// FIBER kernels: keeps blocks resident while their threads wait for other blocks.
void run_blocks_on_fibers(LaunchState& state, uint32_t worker);

}  // namespace kernelift::cpu
