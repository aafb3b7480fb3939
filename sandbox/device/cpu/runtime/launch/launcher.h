// From <<<…>>> to the executor: finds the kernel, checks the configuration as CUDA would, packs the arguments, runs the
// grid under the fault guard, and turns what happened into CUDA's error. Launches of several host threads take turns.
#pragma once
#include <cstddef>
#include <memory>

#include "core/model/launch/geometry.h"
#include "sandbox/device/cpu/runtime/abi.h"
#include "sandbox/device/cpu/runtime/launch/registry.h"

namespace kernelift::cudart {

/// A checked launch, its arguments packed; can be run any number of times (graphs do).
struct Launch {
  const void* host_function = nullptr;
  Function* function = nullptr;
  Geometry geometry;
  uint64_t stream = 0;                ///< For the recorder.
  std::shared_ptr<char[]> arguments;  ///< Packed, aligned to 64.
};

/// Null `arguments` leaves the packed arguments empty (a kernel without parameters).
cudaError_t prepare_launch(const void* host_function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                           bool cooperative, uint64_t stream, Launch& launch);
/// Runs it now. A kernel that dies answers success here and poisons the device (errors.h).
cudaError_t run_launch(const Launch& launch);

/// The kernel behind a host stub, or the error CUDA gives for one it does not know (explained on stderr).
cudaError_t find_function(const void* host_function, Function** function);
/// Blocks of `threads` threads and so much dynamic shared memory that one "multiprocessor" holds at a time.
int resident_blocks(const Function& function, uint32_t threads, size_t dynamic_shared);
/// Dynamic shared memory that a launch of this kernel may ask for.
uint32_t dynamic_shared_limit(const Function& function);

/// Returns when no launch is running.
void wait_for_launches();
unsigned configured_workers();

inline constexpr uint32_t kThreadsPerProcessor = 2048;
inline constexpr uint32_t kBlocksPerProcessor = 32;

}  // namespace kernelift::cudart
