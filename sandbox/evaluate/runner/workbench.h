// What the parts of a runner share: the device with a MEP's memory placed on it, the original as loaded code, what
// calibration learned of it, and the inquiry that is being answered. Parts (Verification, Racing, PerturbedInputs,
// Calibration) each hold a reference to one workbench; nothing here decides anything about a candidate.
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
#include "sandbox/evaluate/runner/inquiry.h"
#include "sandbox/evaluate/runner/loaded_code.h"
#include "sandbox/judge/timing/race.h"

namespace kernelift {

struct RunnerSettings {
  std::chrono::milliseconds launch_limit{10'000};
  bool cold = false;  ///< Caches are emptied before every timed launch.
  RaceRules race;
  std::optional<Tolerance> tolerance;  ///< The user's; wins over the MEP's.
  bool for_candidates = true;          ///< False: only the original is of interest (replay).
  std::optional<Deadline> deadline;    ///< Calibration ends by then.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< Messages for a user who waits.
  /// `true` before something is timed, `false` after: other work of ours on this machine stands still in between.
  std::function<void(bool)> quiet = [](bool) {};
  bool keep_quiet = false;  ///< A runner's process asks for that; on a GPU compilation may go on.
  /// Experiments on the original that ended an earlier process: "poison 0 2", "poison unchanged in", "perturb 1
  /// jitter", "application", "sums", "cross-check". Not tried again.
  std::set<std::string> fatal;
  /// In memory shared with the process that asks: an inquiry of an earlier era than this one is given up.
  const std::atomic<uint64_t>* era = nullptr;
};

/// How long and how often is measured on a kind of device.
struct MeasuringRules {
  double sample_seconds = 50e-6;  ///< Launches are batched to samples of at least this length,
  int most_launches = 16;         ///< of at most so many launches.
  double patience = 100;          ///< A candidate that takes so many times as long as the original is ended.
  int runs = 2;                   ///< Of the original, beside the first, to see whether it repeats itself.
  static MeasuringRules of(const DeviceFacts& facts);
};

/// An entry of ReplayMemory::instances() and the recorded instance whose launch it belongs to: perturbed inputs add
/// entries.
struct Place {
  size_t memory = 0, instance = 0;
};

struct Workbench {
  static Result<std::unique_ptr<Workbench>> create(Device& device, const Mep& mep, const std::filesystem::path& folder,
                                                   const RunnerSettings& settings,
                                                   std::function<void(const std::string&)> announce);

  /// The inquiry's time is over, or its era is.
  bool ended() const;
  bool is_long(size_t instance) const { return run_seconds[instance] > kLongSeconds; }
  /// Further runs of the original on this instance would answer no question: only the original is of interest, and it
  /// takes long.
  bool once_is_enough(size_t instance) const { return !settings.for_candidates && is_long(instance); }
  /// By weight, then by number.
  bool heavier(size_t a, size_t b) const;
  size_t heaviest() const;
  /// The user's, or the MEP's; nullopt: neither gives one.
  std::optional<FloatTolerance> user_tolerance() const;
  /// Launches that make one timed sample of a kernel of that duration.
  int batch_for(double seconds) const;
  /// A device's fault as a verdict's, with the buffer that the access was near. Notes whether the device can go on.
  TrialFailure failure_of(const DeviceOutcome& outcome, size_t instance);
  /// The original that candidates are timed against.
  const LoadedCode& rival() const { return inquiry.against_application ? *application : baseline; }

  Device& device;
  const Mep mep;
  RunnerSettings settings;
  std::function<void(const std::string&)> announce;  ///< Told which experiment on the original begins; "": it is over.
  const MeasuringRules rules;
  std::unique_ptr<JudgingKernels> kernels;
  std::unique_ptr<ReplayMemory> memory;

  LoadedCode baseline;
  std::optional<LoadedCode> application;  ///< The application's own machine code; it reproduces the capture.
  std::vector<LoadedCode> rounded;        ///< The original, compiled so that it rounds otherwise.
  std::vector<LoadedCode> at_random;      ///< The original, its sums rounded at random.
  BaselineReport report;
  std::vector<double> run_seconds;  ///< Of the original's first run, by instance.
  Inquiry inquiry;
  bool usable = true;  ///< False after a fault that the process does not survive.
  bool lost = false;   ///< The device failed, by no fault of a candidate.
  bool cut = false;    ///< The inquiry's time ended while something was tried for it.

 private:
  Workbench(Device& on, const Mep& of, const RunnerSettings& with, std::function<void(const std::string&)> told)
      : device(on), mep(of), settings(with), announce(std::move(told)), rules(MeasuringRules::of(on.facts())) {}
};

}  // namespace kernelift
