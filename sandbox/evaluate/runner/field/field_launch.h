// One launch on the CPU device with numbers beside its floats (core/model/launch/field_run.h), on memory as recorded.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/model/launch/field_run.h"
#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift::sandbox {

inline constexpr std::chrono::milliseconds kFieldLimit{5000};     // Of one launch.
inline constexpr uint64_t kMostFieldBytes = uint64_t(256) << 20;  // Of recorded memory; states take twice as much.

/// What a launch left and met.
struct FieldLaunch {
  std::vector<FieldObject> objects;  ///< Of an entry's regions and variables, in their order, and the code's own.
  DeviceMemory states;               ///< Of all objects, one behind the other; no later launch has it.
  FieldReport report;
  std::string failure;   ///< Why it was not run to its end.
  bool no_time = false;  ///< It failed because the inquiry's time ended: another time it may run.

  /// EXPECTS: no failure.
  std::span<const uint64_t> states_of(size_t object) const;
};

uint64_t recorded_bytes(const ReplayInstance& memory);
/// `code`: an image that was made for it. `how`: all but the objects.
FieldLaunch launch_with_numbers(Workbench& bench, const LoadedCode& code, MemoryEntry entry, FieldRequest how);

}  // namespace kernelift::sandbox
