// The process that measures, on whichever device. It keeps the recorded memory and the original's code; a candidate
// arrives as an image, is loaded, verified on every instance, raced against the original (A B A B) and verified again.
// A change of the rules of judging is made in the parts that this file puts together:
//   Calibration      what the original teaches about itself (with Tolerances, WriteSet)
//   Verification     one launch, judged
//   PerturbedInputs  inputs that nobody recorded
//   Racing           timing
// A fault or a hang on a GPU ends the process's use: usable() says so, and its owner starts another one.
#pragma once
#include "core/model/kernel_facts.h"
#include "sandbox/evaluate/runner/calibration.h"
#include "sandbox/evaluate/runner/cross_check.h"
#include "sandbox/evaluate/runner/perturbed_inputs.h"

namespace kernelift {

/// Measures a launch beyond its duration (sandbox/device/cuda/counters/profile.h): what fills a KernelFacts.
using LaunchProfiler = std::function<Status(int ordinal, const std::function<Status()>& prepare,
                                            const std::function<Status()>& launch, KernelFacts& facts)>;

/// Seconds of each launch of `kernel` while `work` runs, by another clock than the device's events
/// (sandbox/device/cuda/counters/kernel_trace.h).
using KernelTracer =
    std::function<Result<std::vector<double>>(const std::string& kernel, const std::function<Status()>& work)>;

class Runner {
 public:
  /// `announce` is told which experiment on the original begins, "" when it is over: so that the owner of a process
  /// that is found dead knows what it died of.
  static Result<std::unique_ptr<Runner>> create(Device& device, const Mep& mep, const std::filesystem::path& folder,
                                                const RunnerSettings& settings,
                                                std::function<void(const std::string&)> announce);
  /// Runs the original on every instance, compares with the capture, and learns what may be expected of a candidate.
  Result<BaselineReport> calibrate(const Original& original);
  /// Before it is calibrated again, for other code or other caches, with its memory in place.
  void ask_anew(bool cold, const std::set<std::string>& fatal, std::optional<Deadline> deadline);
  /// EXPECTS: calibrated. nullopt when its time was over before there was a verdict.
  std::optional<Evaluation> evaluate(const TrialCode& candidate, const Inquiry& inquiry);
  /// How the original spends its time on its heaviest instance. EXPECTS: calibrated. The last request to a runner: a
  /// profiler's session disturbs what is timed after it.
  Result<KernelFacts> kernel_facts(const LaunchProfiler& profile);
  /// The original's launches on its heaviest instance, timed by events and by `trace`. An Error means that this process
  /// was lost to it. EXPECTS: calibrated.
  Result<CrossCheck> cross_check(const KernelTracer& trace);
  /// False after a fault: nothing more can be measured in this process.
  bool usable() const { return bench_->usable; }
  const std::vector<std::string>& notes() const { return bench_->memory->notes(); }

 private:
  explicit Runner(std::unique_ptr<Workbench> bench);
  /// One candidate loaded afresh: verified, timed, verified again. `second`: by a further process of a processor, with
  /// the images the other way round, to tell a gain from the luck of addresses. False: the verdict says why not.
  bool try_once(const TrialCode& candidate, bool second, Verdict& verdict);
  bool load(const TrialCode& candidate, bool first, LoadedCode& into, Verdict& verdict);
  /// A candidate that is faster than writing its results takes: is it right where its answers cannot be known before?
  void look_again(const TrialCode& candidate, Verdict& verdict);
  /// The heaviest instance that is timed while searching, then those held out.
  std::vector<size_t> perturbed_instances() const;
  /// What confirming a finalist will take, by what the same cost the original.
  void estimate_confirmation();
  bool verify_all(const LoadedCode& code, const std::vector<size_t>& instances, Stage stage, Verdict& verdict);

  std::unique_ptr<Workbench> bench_;
  Verification verification_;
  Racing racing_;
  Tolerances tolerances_;
  PerturbedInputs perturbed_;
  Calibration calibration_;
  double check_seconds_ = 0;  ///< What one pass of verification over all instances took.
};

}  // namespace kernelift
