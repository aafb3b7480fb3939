// The process that measures on a GPU. It keeps the context, the recorded memory and the original's image; a candidate
// arrives as a cubin, is loaded, verified on every instance, raced against the original (A B A B) and verified again.
// All copying and comparing happens on the device. What the original teaches about itself is learned once, like on the
// CPU device (calibration.cpp there): tolerances, which bytes are written without being read, how long it takes. A
// fault or a hang ends the process's use: usable() says so, and the owner starts another one.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <set>

#include "core/model/kernel_facts.h"
#include "sandbox/evaluate/baseline_report.h"
#include "sandbox/evaluate/cuda/runner/cross_check.h"
#include "sandbox/evaluate/cuda/runner/gpu_code.h"
#include "sandbox/evaluate/inquiry.h"
#include "sandbox/judge/perturbation.h"
#include "sandbox/judge/timing/race.h"

namespace kernelift {

struct GpuRunnerSettings {
  std::chrono::milliseconds launch_limit{10'000};
  bool cold = false;
  RaceRules race;
  std::optional<Tolerance> tolerance;
  bool for_candidates = true;        ///< False: nothing but the original is asked about.
  std::optional<Deadline> deadline;  ///< The original is not calibrated any longer than that.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< Of an original that takes long.
  /// Experiments on the original that ended an earlier process: "poison 0 2", "poison unchanged in", "perturb 1
  /// jitter", "application", "sums", "cross-check". Not tried again.
  std::set<std::string> fatal;
};

/// The original, in all the shapes that a runner wants it in.
struct GpuOriginal {
  TrialCode code;  ///< As our compiler builds it: what candidates of that compiler are raced against.
  std::vector<std::string> roundings = {};  ///< Images of it that round otherwise.
  std::string application = {};             ///< The machine code that the application has of it; empty: not known.
  std::function<void(const std::string&)> tell = {};  ///< In the process that asks: GpuRunnerSettings::tell.
  std::vector<std::string> at_random = {};            ///< Images of it whose sums are rounded at random.
};

/// Measures a launch beyond its duration (sandbox/device/cuda/counters/profile.h): what fills a KernelFacts.
using LaunchProfiler = std::function<Status(int ordinal, const std::function<Status()>& prepare,
                                            const std::function<Status()>& launch, KernelFacts& facts)>;

/// Seconds of each launch of `kernel` while `work` runs, by another clock than the device's events
/// (sandbox/device/cuda/counters/kernel_trace.h).
using KernelTracer =
    std::function<Result<std::vector<double>>(const std::string& kernel, const std::function<Status()>& work)>;

class GpuRunner {
 public:
  /// `announce` is told what is being tried on the original, "" when it is over: whoever finds this process dead knows.
  static Result<std::unique_ptr<GpuRunner>> create(Device& device, const Mep& mep, const std::filesystem::path& folder,
                                                   const GpuRunnerSettings& settings,
                                                   std::function<void(const std::string&)> announce);
  Result<BaselineReport> calibrate(const GpuOriginal& original);
  /// Before it is calibrated again, for other code or other caches, with its memory in place.
  void ask_anew(bool cold, const std::set<std::string>& fatal) { settings_.cold = cold, settings_.fatal = fatal; }
  /// EXPECTS: calibrated. nullopt when its time was over before there was a verdict.
  std::optional<Evaluation> evaluate(const TrialCode& candidate, const Inquiry& inquiry);
  /// How the original spends its time on its heaviest instance. EXPECTS: calibrated. The last thing that is asked of a
  /// runner: a profiler's session disturbs what is timed after it.
  Result<KernelFacts> kernel_facts(const LaunchProfiler& profile);
  /// The original's launches on its heaviest instance, timed by events and by `trace`. An Error means that this process
  /// was lost to it. EXPECTS: calibrated.
  Result<CrossCheck> cross_check(const KernelTracer& trace);
  /// False after a fault: nothing more can be measured in this process.
  bool usable() const { return usable_; }
  const std::vector<std::string>& notes() const { return memory_->notes(); }

 private:
  GpuRunner(Device& device, const Mep& mep, const GpuRunnerSettings& settings)
      : device_(device), mep_(mep), settings_(settings) {}
  struct Samples {
    std::optional<TrialFailure> failure;
    std::vector<double> baseline, candidate;
  };
  /// What a launch left wrong: nothing, or the first buffer by name.
  struct Judged {
    std::optional<TrialFailure> failure;  ///< It did not run, or wrote outside.
    std::vector<BufferReport> buffers;    ///< Filled when it ran.
    std::optional<Mismatch> first;        ///< Of the first buffer that differs.
    size_t bad_buffer = 0;
    std::set<size_t> altered;  ///< Regions whose numbers are not to the last bit as they should be.
    double seconds = 0;
    double largest_ulps = 0;  ///< Of what is right: how far from the answer, in units of the last place.
  };
  /// An entry of memory_->instances() and the recorded instance whose launch it is for: perturbed inputs add entries.
  struct Place {
    size_t memory = 0, instance = 0;
  };

  /// What lies in outputs before a launch that is judged: as recorded, poison, or the answer to the recorded inputs, so
  /// that whoever sees from it that the work was done already passes on the wrong answer to perturbed ones.
  enum class Before { Recorded, Poisoned, Stale };

  TrialFailure failure_of(const DeviceOutcome& outcome);
  Judged run(const GpuCode& code, Place place, Before before, bool detailed);
  Status describe(const GpuCode& code, Place place, const std::vector<judging::Finding>& found, Judged& judged);
  /// What is out of tolerance on the device may be nearer to the exact sums: that is seen here, of few.
  bool is_nearer(const GpuBuffer& buffer, uint64_t live);
  std::optional<Mismatch> first_mismatch(const GpuBuffer& buffer, size_t row, uint64_t live, uint64_t index);
  bool verify(const GpuCode& code, Place place, Stage stage, Verdict& verdict, Before before = Before::Poisoned);
  Samples time(const GpuCode& baseline, const GpuCode& candidate, size_t instance, int rounds, int batch);
  bool race(const GpuCode& candidate, size_t instance, Race& race, std::optional<Deadline> until, Verdict& verdict);
  bool time_all(const GpuCode& candidate, const std::vector<size_t>& instances, Verdict& verdict);
  bool judge(const GpuCode& candidate, Verdict& verdict);
  /// False: the original ended on perturbed inputs, and this process with it; nothing is said of the candidate.
  bool knows_perturbed(Verdict& verdict);
  bool verify_perturbed(const GpuCode& code, Verdict& verdict, size_t& tried);
  bool ended() const;
  int batch_for(double seconds) const;
  void wait_until_calm();
  void look_at_clocks();

  // calibration
  size_t heaviest() const;
  InstanceReport begin_report(size_t instance) const;
  /// False: it does not, as report_ says. An Error where it takes too long for candidates to be judged in time.
  Result<bool> runs_at_all();
  bool is_long(size_t instance) const { return run_seconds_[instance] > kLongSeconds; }
  /// Further runs of it would tell nothing that is asked for.
  bool once_is_enough(size_t instance) const { return !settings_.for_candidates && is_long(instance); }
  int calibration_rounds(double seconds) const;
  /// An Error once the time for calibration is over.
  Status in_time() const;
  /// From now on a launch may take many times `slowest`, and no longer.
  void limit_launches(double slowest);
  Status calibrate_instance(size_t instance, InstanceReport& report);
  /// Does its recorded content lead into recorded memory? What is written over that leads the original astray.
  bool holds_addresses(const GpuInstance& memory, const GpuBuffer& region);
  /// Loads and checks the application's own code; what is wrong with it is in the report.
  Status calibrate_application(const std::string& image);
  /// Copies of outputs, and of what else a launch has `altered`. No copy: what was given.
  Status keep_results(size_t instance, const std::set<size_t>& altered, std::vector<DeviceMemory>& copies);
  /// By a further run of the original, whose results lie in live memory. Says what does not repeat; empty: all does,
  /// but for floats that are rounded otherwise from run to run (`varies`).
  Result<std::string> set_tolerances(size_t instance, const std::vector<DeviceMemory>& once, bool& varies);
  Status add_envelopes(const std::vector<std::string>& roundings);
  /// By how far `code`, as right as the original, is from the answers. False: it does not run.
  Result<bool> widen_envelopes(const GpuCode& code, Place place);
  Status add_nearer_references(const std::vector<std::string>& images);
  /// Of what `place` leaves in buffers of floats, where at_random_ has something to say. An Error: the GPU was lost to
  /// it.
  Status find_exact_sums(Place place);
  Status learn_writes(size_t instance, const std::vector<DeviceMemory>& results);
  /// The regions that are poisoned for that, see written_regions.h.
  std::vector<size_t> poisoned(size_t instance) const {
    return to_poison(memory_->instances()[instance].regions, unchanged_too_, is_long(instance));
  }
  Result<bool> learn_region(size_t instance, size_t region, const std::vector<DeviceMemory>& results);
  double fastest_write(size_t instance);
  void ask_perturbed();
  bool ask_perturbed(size_t instance, Perturbation kind);
  bool user_tolerance(FloatTolerance& tolerance) const;
  void take_user_tolerance();

  Device& device_;
  Mep mep_;
  GpuRunnerSettings settings_;
  std::function<void(const std::string&)> announce_;
  std::unique_ptr<Support> support_;
  std::unique_ptr<GpuMemory> memory_;
  const GpuCode& rival() const { return inquiry_.against_application ? *application_ : baseline_; }

  GpuCode baseline_;
  std::optional<GpuCode> application_;  ///< Reproduces the capture on every instance.
  std::vector<GpuCode> otherwise_;      ///< The original, rounded otherwise.
  std::vector<GpuCode> at_random_;      ///< Its sums rounded at random.
  BaselineReport report_;
  bool unchanged_too_ = true;        ///< Whether regions that never changed are worth finding out about.
  std::vector<double> run_seconds_;  ///< Of the original's first run, by instance.
  std::vector<Place> perturbed_;
  std::vector<DeviceMemory> perturbed_memory_;
  bool asked_perturbed_ = false;
  Inquiry inquiry_;
  Deadline clocks_checked_{};
  bool usable_ = true;
  bool lost_ = false;  ///< By no fault of a candidate.
  static constexpr int kRetakes = 5, kPatience = 20;
  bool calm_ = true;          ///< When the clocks were last looked at.
  int patience_ = kPatience;  ///< Pauses that a clock which is held down is waited for.
  int retakes_ = kRetakes;    ///< How often this inquiry's samples may still be taken again.
  int throttled_ = 0;         ///< Samples of this inquiry that were kept though the clock was held down.
};

/// Order of instances: most of the kernel's time first.
inline bool heavier(const Mep& mep, size_t a, size_t b) {
  return mep.instances[a].weight != mep.instances[b].weight ? mep.instances[a].weight > mep.instances[b].weight : a < b;
}

}  // namespace kernelift
