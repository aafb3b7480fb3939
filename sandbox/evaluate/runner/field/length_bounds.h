// Finds how far a right result may be by the rounding errors of the original's sums (judge/length_bound.h): the
// original is run twice on the CPU device, for what it would leave without rounding and for the bounds of its errors.
#pragma once
#include <functional>
#include <optional>

#include "sandbox/evaluate/runner/field/field_launch.h"

namespace kernelift::sandbox {

class LengthBounds {
 public:
  explicit LengthBounds(Workbench& bench) : bench_(bench) {}

  /// Loads the original as `code` has it (RunnableCode::precise, error_bounds) unless that was done.
  void prepare(const RunnableCode& code);
  /// Adds ErrorBounds::by_length to the entry's outputs of single precision, if its launches end in time and it has
  /// none. EXPECTS: prepared, and the entry has its answers.
  void find(MemoryEntry entry);
  /// The same for memory that is no entry, which `launch` launches on.
  using Launch = std::function<FieldLaunch(LoadedCode&, NumberKind)>;
  void find(ReplayInstance& memory, const Launch& launch);
  /// To be called before another calibration.
  void forget() { precise_.reset(), errors_.reset(); }

 private:
  Workbench& bench_;
  std::optional<LoadedCode> precise_, errors_;
};

}  // namespace kernelift::sandbox
