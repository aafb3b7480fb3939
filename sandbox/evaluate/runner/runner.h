// Judges candidates on a device. A Runner keeps the recorded memory and the original's code on the device; a candidate
// arrives as an image, is loaded, verified on every instance, raced against the original (A B A B) and verified again.
// The rules are in the classes that this one combines:
//   Calibration      learns from the original (with Tolerances, WriteSet)
//   Verification     runs and judges one launch
//   PerturbedInputs  inputs that were not recorded
//   LaunchTrials     what a timed launch finds, and comparisons of some
//   Racing           timing
// After a fault or a hang on a GPU nothing more can be measured in this process: usable() is false, and the owner
// starts another one.
#pragma once
#include "core/model/kernel_facts.h"
#include "sandbox/evaluate/runner/calibration.h"
#include "sandbox/evaluate/runner/check_mode.h"
#include "sandbox/evaluate/runner/cross_check.h"
#include "sandbox/evaluate/runner/field/field_equality.h"
#include "sandbox/evaluate/runner/perturbed_inputs.h"
#include "sandbox/evaluate/runner/sizes/size_runs.h"

namespace kernelift::sandbox {

/// Fills a KernelFacts from hardware counters of a launch (sandbox/device/cuda/counters/profile.h).
using LaunchProfiler = std::function<Status(int ordinal, const std::function<Status()>& prepare,
                                            const std::function<Status()>& launch, KernelFacts& facts)>;

/// Returns the seconds of each launch of `kernel` during `work`, by a clock other than the device's events
/// (sandbox/device/cuda/counters/kernel_trace.h).
using KernelTracer =
    std::function<Result<std::vector<double>>(const std::string& kernel, const std::function<Status()>& work)>;

class Runner {
 public:
  /// `announce` is called with the name of each dangerous experiment on the original before it begins, and with ""
  /// after it, so that the process's owner knows which experiment ended the process.
  static Result<std::unique_ptr<Runner>> create(Device& device, const Mep& mep, const std::filesystem::path& folder,
                                                const RunnerSettings& settings,
                                                std::function<void(const std::string&)> announce);
  /// Runs the original on every instance, compares it with the capture, and derives tolerances, write sets and limits.
  Result<BaselineReport> calibrate(const Original& original);
  /// Changes settings before another calibration (other code, another cache mode); recorded memory stays placed.
  void reconfigure(bool cold, const std::set<std::string>& fatal, std::optional<Deadline> deadline);
  /// EXPECTS: calibrated. nullopt if the inquiry's time was over before there was a verdict.
  std::optional<Evaluation> evaluate(const RunnableCode& candidate, const Inquiry& inquiry);
  /// Error bounds of the original's sums, for a runner on another device. `code`: RunnableCode::precise, error_bounds.
  /// EXPECTS: calibrated.
  LengthAnswer length_bounds(const RunnableCode& code, const LengthQuestion& question) {
    return length_bounds_.answer(code, question);
  }
  /// How many times as fast as the original the launch was that the last evaluate() verified last, a rough look at one
  /// launch; 0: not known, or too slow for the candidate to be faster than the inquiry's rival.
  double promise() const;
  /// What the time of the last evaluate() went to.
  const Laps& laps() const { return bench_->laps; }
  /// Facts about the original's performance on its heaviest instance. EXPECTS: calibrated. The last request to a
  /// runner: a profiler's session disturbs later timings.
  Result<KernelFacts> kernel_facts(const LaunchProfiler& profile);
  /// Times the original's launches on its heaviest instance by events and by `trace`. An Error: the device was lost.
  /// EXPECTS: calibrated.
  Result<CrossCheck> cross_check(const KernelTracer& trace);
  /// False after a fault: nothing more can be measured in this process.
  bool usable() const { return bench_->usable; }
  const std::vector<std::string>& notes() const { return bench_->memory->notes(); }

 private:
  std::optional<Evaluation> judge(const RunnableCode& candidate, const Inquiry& inquiry);
  explicit Runner(std::unique_ptr<Workbench> bench);
  /// Loads the candidate afresh, verifies it, times it, and verifies it again. `second`: in another process of a
  /// processor, with the images in the opposite order, since addresses of code alone may change its speed. False: the
  /// verdict says why it failed.
  bool try_once(const RunnableCode& candidate, bool second, Verdict& verdict);
  bool load(const RunnableCode& candidate, bool first, LoadedCode& into, Verdict& verdict);
  /// Verifies a Suspect candidate on perturbed inputs, whose answers it cannot know; makes it Cheated if it fails.
  void recheck(const RunnableCode& candidate, Verdict& verdict);
  /// Makes perturbed inputs with the calibration, if that takes little time.
  Status perturb_early();
  /// Overwrites what the original left in memory.
  Status wipe();
  /// The heaviest instance that is timed while searching, held-out instances, and others that are timed.
  std::vector<size_t> perturbed_instances() const;
  /// Estimates the time to confirm a finalist from the original's costs.
  void estimate_confirmation();
  /// Verifies a finalist with blocks in another order, and with the lanes of its warps side by side, unless the
  /// original fails that too. False: the verdict says that its result depends on the order of threads.
  bool verify_order(const RunnableCode& candidate, const LoadedCode& code, Verdict& verdict);
  bool verify_all(const LoadedCode& code, const std::vector<size_t>& instances, Stage stage, Verdict& verdict);

  std::unique_ptr<Workbench> bench_;
  LengthBounds length_bounds_;
  Verification verification_;
  Tolerances tolerances_;
  UnsteadyAnswers unsteady_;
  PerturbedInputs perturbed_;
  LaunchTrials trials_;
  Racing racing_;
  Calibration calibration_;
  CheckMode check_mode_;
  SizeRuns sizes_;
  FieldEqualityRuns field_runs_;
  std::string side_by_side_;                  ///< The original, RunnableCode::side_by_side.
  std::optional<bool> bears_side_by_side_{};  ///< Whether it is right so;
                                              ///< nullopt: not tried yet.
  std::optional<size_t> verified_last_{};     ///< The instance of that launch, in the last evaluate().
  double check_seconds_ = 0;                  ///< Duration of the last pass of verification over all instances.
  std::vector<double> verified_;              ///< Of the launches that verified the candidate, by instance.
};

}  // namespace kernelift::sandbox
