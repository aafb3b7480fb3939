// Turns a SIGSEGV, SIGBUS, SIGFPE or SIGILL raised by device code into an outcome. Our handlers are in effect for every
// thread of the process, but act only on a fault whose stack belongs to a kernel that this library is running; any
// other goes to whatever handler the application had.
#pragma once
#include <string>

#include "core/model/launch/geometry.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/cpu/runtime/abi.h"

namespace kernelift::cudart {

struct GuardedOutcome {
  cpu::LaunchOutcome launch;
  int fault_signal = 0;  ///< 0: no signal; otherwise `error` and `detail` replace the executor's.
  cudaError_t error = cudaSuccess;
  std::string detail;
};

/// cpu::launch under the guard. EXPECTS: one call at a time in the process.
GuardedOutcome launch_guarded(const kl_kernel& kernel, const Geometry& geometry, const void* arguments,
                              const cpu::LaunchOptions& options);

}  // namespace kernelift::cudart
