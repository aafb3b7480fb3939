// Inputs that were not recorded, with the original's answers: recorded inputs, perturbed (judge/perturbation.h). Each
// is an additional entry of ReplayMemory with the perturbed input as `given` and the original's result as `answer`. A
// perturbation is dropped if the original fails on it, writes outside its buffers, or gives two different answers.
// Tolerances are widened by differently rounded builds, as for recorded inputs.
#pragma once
#include "sandbox/evaluate/runner/tolerances.h"
#include "sandbox/evaluate/runner/write_set.h"

namespace kernelift::sandbox {

class PerturbedInputs {
 public:
  static constexpr size_t kMostInstances = 3, kKinds = 2;
  PerturbedInputs(Workbench& bench, Verification& verification, Tolerances& tolerances)
      : bench_(bench), verification_(verification), tolerances_(tolerances) {}

  /// Makes the inputs and runs the original on them, once per calibration. `instances`: at most kMostInstances. False:
  /// the process was lost, or the inquiry's time is over.
  bool prepare(const std::vector<size_t>& instances);
  /// To be called before another calibration.
  void forget();
  /// Runs `code` on each perturbed input, with poisoned outputs and with outputs that hold the recorded answer. False:
  /// the verdict says what is wrong.
  bool verify(const LoadedCode& code, Verdict& verdict);
  size_t count() const { return cases_.size(); }

 private:
  struct Case {
    MemoryEntry entry;
    Perturbation kind = Perturbation::Jitter;
  };
  bool prepare_case(size_t instance, Perturbation kind);
  /// Makes the values that the original left in module variables the entry's answers.
  Status keep_variables(MemoryEntry entry);

  Workbench& bench_;
  Verification& verification_;
  Tolerances& tolerances_;
  std::vector<Case> cases_;
  std::vector<DeviceMemory> memory_;
  size_t recorded_ = 0;  ///< Number of ReplayMemory's entries that were recorded.
  bool prepared_ = false;
};

}  // namespace kernelift::sandbox
