// What the original answers to inputs that were never recorded: recorded ones, perturbed (judge/perturbation.h). Each
// is a further entry of ReplayMemory with the perturbed input as given and the original's result as the answer. A
// perturbation is dropped where the original itself fails on it, writes outside, or does not give the same answer
// twice; where it rounds differently there, tolerances are widened as usual.
#pragma once
#include "sandbox/evaluate/runner/tolerances.h"
#include "sandbox/evaluate/runner/write_set.h"

namespace kernelift {

class PerturbedInputs {
 public:
  static constexpr size_t kMostInstances = 3, kKinds = 2;
  PerturbedInputs(Workbench& bench, Verification& verification, Tolerances& tolerances)
      : bench_(bench), verification_(verification), tolerances_(tolerances) {}

  /// Asks the original, once per calibration. `instances`: at most kMostInstances. False: the process was lost, or the
  /// time is over.
  bool ask(const std::vector<size_t>& instances);
  /// Before another calibration.
  void forget();
  /// Runs `code` on each perturbed input, with outputs poisoned and with an older answer in them. False: the verdict
  /// says what is wrong.
  bool verify(const LoadedCode& code, Verdict& verdict);
  size_t count() const { return cases_.size(); }

 private:
  struct Case {
    Place place;
    Perturbation kind = Perturbation::Jitter;
  };
  bool ask(size_t instance, Perturbation kind);
  /// What the original left in module variables becomes their answer.
  Status keep_variables(Place place);

  Workbench& bench_;
  Verification& verification_;
  Tolerances& tolerances_;
  std::vector<Case> cases_;
  std::vector<DeviceMemory> memory_;
  size_t recorded_ = 0;  ///< Entries of ReplayMemory that were recorded.
  bool asked_ = false;
};

}  // namespace kernelift
