// Inputs that were not recorded, with the original's answers: recorded inputs, perturbed (judge/perturbation.h). Each
// is an additional entry of ReplayMemory with the perturbed input as `given` and the original's result as `answer`. A
// perturbation is dropped if the original fails on it, writes outside its buffers, or gives two different answers.
// Tolerances are widened by differently rounded builds, as for recorded inputs.
#pragma once
#include "sandbox/evaluate/runner/field/length_bounds.h"
#include "sandbox/evaluate/runner/tolerances.h"
#include "sandbox/evaluate/runner/unsteady_answers.h"
#include "sandbox/evaluate/runner/write_set.h"

namespace kernelift::sandbox {

class PerturbedInputs {
 public:
  static constexpr size_t kMostInstances = 4, kKinds = 2;
  PerturbedInputs(Workbench& bench, Verification& verification, Tolerances& tolerances, LengthBounds& length_bounds,
                  UnsteadyAnswers& unsteady)
      : bench_(bench),
        verification_(verification),
        tolerances_(tolerances),
        length_bounds_(length_bounds),
        unsteady_(unsteady) {}

  /// Makes the inputs and runs the original on them, once per calibration. `instances`: at most kMostInstances. False:
  /// the process was lost, or the inquiry's time is over.
  bool prepare(const std::vector<size_t>& instances);
  /// To be called before another calibration.
  void forget();
  /// Runs `code` on each perturbed input, with poisoned outputs and with outputs that hold the recorded answer. False:
  /// the verdict says what is wrong.
  bool verify(const LoadedCode& code, Verdict& verdict);
  size_t count() const { return cases_.size(); }

  /// The instance with slightly larger values, if the original is known to bear mixtures of these and recorded ones;
  /// else null.
  const ReplayInstance* to_mix(size_t instance) const;
  /// Whether mixtures mix this buffer. Where a launch changes few blocks, only these are put back, as recorded.
  static bool is_mixed(const ReplayBuffer& recorded, const ReplayBuffer& perturbed) {
    return recorded.given != perturbed.given && recorded.range_count == 0;
  }
  /// The seed by which a mixture draws the elements of a region.
  static uint64_t seed_of(uint64_t mix, size_t region) { return mix + region * 0x2545f4914f6cdd1dull; }
  /// Whether a mixture has the perturbed values of module variables.
  static bool mixes_variables(uint64_t mix) { return mix >> 32 & 1; }
  /// `mix` with or without them.
  static uint64_t mix_with(uint64_t mix, bool variables) {
    constexpr uint64_t kBit = uint64_t(1) << 32;
    return variables ? mix | kBit : mix & ~kBit;
  }
  /// Makes a mixture an entry of memory, with the original's answer and tolerances of its own, until drop_mixture(),
  /// which drops the one that was made last. Error bounds of sums are lent by the recorded inputs and the perturbed
  /// ones. nullopt: the original does not repeat its answer, or there is no memory for it. EXPECTS: to_mix().
  std::optional<MemoryEntry> make_mixture(size_t instance, uint64_t mix);
  /// Whether the last one could not be laid for want of memory; otherwise the original did not repeat its answer.
  bool lacked_memory() const { return lacked_memory_; }
  void drop_mixture();

 private:
  struct Case {
    MemoryEntry entry;
    Perturbation kind = Perturbation::Jitter;
    bool filled = false;  ///< Arrays of zeros have values.
    bool mixes = false;   ///< The original bears mixtures of it and the recorded inputs.
  };
  /// `fill`: arrays of zeros get values, too (fill_zeros). False: it was dropped.
  bool prepare_case(size_t instance, Perturbation kind, bool fill);
  /// Adds an entry with the inputs of `made`: the original's results become its answers, and tolerances are widened by
  /// its other builds. nullopt: the original fails, or its results depend on what was in its outputs.
  std::optional<MemoryEntry> add_entry(ReplayInstance made, size_t instance);
  /// Inputs of a mixture, in memory that is added to memory_.
  std::optional<ReplayInstance> mixture(size_t instance, uint64_t mix);
  /// Frees the memory of the mixture that was made last.
  void forget_mixture();
  /// Whether the original runs on some mixtures.
  bool bears_mixtures(size_t instance);

  Workbench& bench_;
  Verification& verification_;
  Tolerances& tolerances_;
  LengthBounds& length_bounds_;
  UnsteadyAnswers& unsteady_;
  bool lacked_memory_ = false;
  std::vector<Case> cases_;
  std::vector<DeviceMemory> memory_;
  std::vector<size_t> memory_before_;  ///< Per mixture: the size of memory_ before it was made.
  size_t recorded_ = 0;                ///< Number of ReplayMemory's entries that were recorded.
  bool prepared_ = false;
};

}  // namespace kernelift::sandbox
