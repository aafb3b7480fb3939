// State shared by the parts of a runner: the device with a MEP's memory placed on it, the original as loaded code, the
// results of calibration, and the current inquiry. Verification, Racing, PerturbedInputs and Calibration each hold a
// reference to one workbench; it makes no decision about candidates.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "sandbox/evaluate/runner/baseline_report.h"
#include "sandbox/evaluate/runner/field/length_question.h"
#include "sandbox/evaluate/runner/inquiry.h"
#include "sandbox/evaluate/runner/laps.h"
#include "sandbox/evaluate/runner/memory/loaded_code.h"
#include "sandbox/evaluate/runner/timing/measurement_plan.h"

namespace kernelift::sandbox {

struct RunnerSettings {
  std::chrono::milliseconds launch_limit{10'000};
  bool cold = false;  ///< Caches are emptied before every timed launch.
  RaceRules race;
  std::optional<Tolerance> tolerance;  ///< The user's; overrides the MEP's.
  bool for_candidates = true;          ///< False: only the original is run (replay).
  std::optional<Deadline> deadline;    ///< Deadline of calibration, and of what comes after it.
  std::optional<Deadline> begun;       ///< When the run began that ends there.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< Shows a message to the waiting user.
  /// Called with `true` before timing and with `false` after it; our other work on this machine is paused in between.
  std::function<void(bool)> quiet = [](bool) {};
  /// Seconds that the original may take for perturbed inputs to be made with the calibration; what takes longer is done
  /// for finalists only.
  double perturbing_limit = 2;
  /// Unless 0: the runner does nothing but check mode. The original is not calibrated but run in check mode, too, and
  /// checks of one candidate end after about so many seconds.
  double check_seconds = 0;
  /// Asks a runner of the CPU device for error bounds of the original's sums; null: none is asked. Not needed on a
  /// processor.
  AskLengths lengths = {};
  /// The same runner is asked where a finalist's result differs at a size that was not recorded; null: it is not.
  AskReference why_no_reference = {};
  bool keep_quiet = false;  ///< The runner's process requests `quiet`; not needed on a GPU.
  /// Experiments on the original that ended an earlier process and are not repeated: "poison 0 2", "poison unchanged
  /// in", "perturb 1 jitter", "application", "sums", "size n = 1", "cross-check".
  std::set<std::string> fatal;
  /// Current era, in memory shared with the requesting process: inquiries of earlier eras are abandoned. May be null.
  const std::atomic<uint64_t>* era = nullptr;
};

/// An entry of ReplayMemory::instances(), and the recorded instance whose launch it belongs to. Perturbed inputs are
/// additional entries of recorded instances.
struct MemoryEntry {
  size_t memory = 0, instance = 0;
};

struct Workbench {
  static Result<std::unique_ptr<Workbench>> create(Device& device, const Mep& mep, const std::filesystem::path& folder,
                                                   const RunnerSettings& settings,
                                                   std::function<void(const std::string&)> announce);

  /// The inquiry's deadline has passed, or its era is over.
  bool ended() const;
  /// Orders instances by weight, then by index.
  bool heavier(size_t a, size_t b) const;
  size_t heaviest() const;
  /// The user's tolerance, or the MEP's; nullopt: neither gives one.
  std::optional<FloatTolerance> user_tolerance() const;
  /// Launches per timed sample of a kernel that takes `seconds`.
  int batch_for(double seconds) const;
  /// Translates a device's fault, naming the buffer near the faulting access. Updates `usable`, `lost` and `cut`.
  RunFailure failure_of(const DeviceOutcome& outcome, size_t instance);
  /// The build of the original that the current inquiry is timed against.
  const LoadedCode& rival() const { return inquiry.against_application ? *application : baseline; }

  Device& device;
  const Mep mep;
  RunnerSettings settings;
  std::function<void(const std::string&)> announce;  ///< Called with the experiment that begins, and with "" after it.
  const MeasuringRules rules;
  std::unique_ptr<JudgingKernels> kernels;
  std::unique_ptr<ReplayMemory> memory;

  LoadedCode baseline;
  RunnableCode original;                  ///< Of which the baseline was loaded.
  std::optional<LoadedCode> application;  ///< The application's own machine code, if it reproduces the capture.
  std::vector<LoadedCode> rounded;        ///< Builds of the original that round differently.
  std::vector<LoadedCode> at_random;      ///< Builds of the original with randomly rounded sums.
  BaselineReport report;
  MeasurementPlan plan;  ///< Known once the original ran on every instance.
  /// Limit of a launch of the original on inputs that were not recorded; the settings' is a candidate's.
  std::optional<std::chrono::milliseconds> original_limit;
  std::vector<double> run_seconds;  ///< Duration of the original's first run, by instance.
  Inquiry inquiry;
  Laps laps;           ///< Of that, or of calibrating.
  bool usable = true;  ///< False after a fault that the process does not survive.
  bool lost = false;   ///< The device itself failed, not because of a candidate.
  bool cut = false;    ///< The inquiry's time ended before its verdict.

 private:
  Workbench(Device& on, const Mep& of, const RunnerSettings& with, std::function<void(const std::string&)> told)
      : device(on), mep(of), settings(with), announce(std::move(told)), rules(MeasuringRules::of(on.facts())) {}
};

}  // namespace kernelift::sandbox
