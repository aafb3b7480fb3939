// Runs the original on the CPU device for what it would leave without rounding, and for the bounds of its errors
// (core/model/launch/field_run.h): of entries of this runner's memory, and of launches that another runner asks about.
#pragma once
#include <functional>
#include <optional>

#include "sandbox/evaluate/runner/field/field_launch.h"
#include "sandbox/evaluate/runner/field/length_question.h"

namespace kernelift::sandbox {

class LengthNumbers {
 public:
  explicit LengthNumbers(Workbench& bench) : bench_(bench) {}

  /// Loads the original as `code` has it (RunnableCode::precise, error_bounds) unless that was done.
  void prepare(const RunnableCode& code);
  /// EXPECTS: prepared. `wanted`: regions.
  LengthAnswer of(MemoryEntry entry, const std::vector<size_t>& wanted);
  /// Of `memory`, which is no entry.
  LengthAnswer of(const SizedInstance& sized, const ReplayInstance& memory, const std::vector<size_t>& wanted);
  LengthAnswer of(const LengthQuestion& question);
  /// To be called before another calibration.
  void forget() { precise_.reset(), errors_.reset(); }

 private:
  using Launch = std::function<FieldLaunch(LoadedCode&, NumberKind)>;
  LengthAnswer run(const ReplayInstance& memory, const std::vector<size_t>& wanted, const Launch& launch);

  Workbench& bench_;
  std::optional<LoadedCode> precise_, errors_;
};

}  // namespace kernelift::sandbox
