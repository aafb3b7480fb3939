// Launches at sizes that were not recorded (sized_instance.h), in recorded memory.
#pragma once
#include <functional>

#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift::sandbox {

/// The detail of a verdict on a candidate that is wrong where SizedInstance::shown is false.
inline constexpr const char* kAtUnshownSize = "at a size that is not shown";

struct SizedMemory {
  ReplayInstance instance;
  std::vector<DeviceMemory> placed;  ///< What is not recorded memory.
};

/// The recorded instance's memory with the size's arguments; its answers are those of the recorded size. An Error:
/// there is not enough memory for one that grows.
Result<SizedMemory> memory_of(const Workbench& bench, const SizedInstance& sized);

/// Adds the launch to `code`, which was loaded from `wanted`, and `memory` to the entries, for the time of `work`. The
/// failure: the code cannot be launched so.
std::optional<RunFailure> launch_as(Workbench& bench, const SizedInstance& sized, ReplayInstance memory,
                                    const RunnableCode& wanted, LoadedCode& code,
                                    const std::function<void(MemoryEntry)>& work);

}  // namespace kernelift::sandbox
