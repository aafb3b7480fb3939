// The process that measures. It maps a MEP's memory once, learns from the original what may be expected of a candidate
// (how much results vary, what is written without being read, how long it takes), and then tries candidates one after
// the other, each in a child of its own. It runs no candidate code itself, so its comparisons can be believed.
#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "sandbox/evaluate/baseline_report.h"
#include "sandbox/evaluate/cpu/perturbed_oracle.h"
#include "sandbox/evaluate/cpu/trial.h"
#include "sandbox/evaluate/inquiry.h"
#include "sandbox/judge/timing/race.h"

namespace kernelift {

struct RunnerSettings {
  TrialSettings trial;
  RaceRules race;
  std::optional<Tolerance> tolerance;  ///< The user's; wins over the MEP's.
  bool for_candidates = true;          ///< False: nothing but the original is asked about.
  /// In memory shared with whoever asks: what was asked in an earlier era than this is given up.
  const std::atomic<uint64_t>* era = nullptr;
};

/// What a runner says while it is at work.
struct RunnerVoice {
  std::function<void(bool)> quiet = [](bool) {};  ///< `true` before something is timed, `false` after.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< What a user who waits wants to know.
};

class Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(const Mep& mep, const std::filesystem::path& folder,
                                                const RunnerSettings& settings, RunnerVoice voice);
  /// Runs the original on every instance, compares with the capture, and derives tolerances and write sets.
  /// `roundings`: images of the original that round otherwise. An Error when the deadline comes first, or is bound to.
  Result<BaselineReport> calibrate(const TrialCode& baseline, const Roundings& roundings,
                                   std::optional<Deadline> deadline = {});
  /// EXPECTS: calibrated. nullopt when its time was over before there was a verdict.
  std::optional<Verdict> evaluate(const TrialCode& candidate, const Inquiry& inquiry);

 private:
  /// An instance, and whose weight its timing carries: its own, or that of all instances like it.
  struct Timed {
    size_t instance = 0;
    double weight = 1;
  };
  using Results = std::vector<std::vector<std::byte>>;  ///< Of all buffers, then all variables; empty: as it was given.
  Runner() = default;
  /// What it learns of an instance only a fresh `trial` knows.
  Status calibrate_instance(std::unique_ptr<Trial>& trial, size_t instance, InstanceReport& report);
  Status learn_writes(size_t instance, const Results& results);
  /// Which bytes of a region are written whatever was there. In `trial`, which is started where there is none, and gone
  /// where the original ended of the poison. `hung`: it did not even end.
  Status learn_region(size_t instance, size_t region, const Results& results, std::unique_ptr<Trial>& trial,
                      bool& hung);
  /// The regions that are poisoned for that, see written_regions.h.
  std::vector<size_t> poisoned(size_t instance) const;
  std::span<const std::byte> result(size_t instance, size_t index, const Results& results) const;
  bool consistent_under_poison(size_t instance, size_t region, const Results& results);
  /// By two runs of the original on the same memory. Says what does not repeat; empty: all does, but for floats that
  /// are rounded otherwise from run to run (`varies`).
  std::string set_tolerances(size_t instance, const Results& first, const Results& other, bool& varies);
  /// What the original leaves where blocks come in another order; nothing where it cannot be run so.
  Result<std::optional<Results>> run_on_other_cores(size_t instance);
  /// The user's, or the MEP's.
  std::optional<FloatTolerance> user_tolerance() const;
  /// Visits all buffers of an instance, then all variables: index, yardstick, the recorded answer, what lies there now.
  void each_answer(
      size_t instance,
      const std::function<void(size_t, Yardstick&, std::span<const std::byte>, std::span<const std::byte>)>& visit);
  /// Runs the original as an image that rounds otherwise; after each instance that is `wanted`, `learn` sees the
  /// memory.
  Status run_rounded(const std::string& image, const std::function<bool(size_t)>& wanted,
                     const std::function<void(size_t)>& learn);
  /// Runs the original as rounded otherwise, and widens tolerances by how far that moves its results.
  Status add_envelopes();
  /// Runs the original with its sums rounded at random: where are the exact ones?
  Status add_nearer_references();
  /// One run of the original, rounded in whatever way, took so long. An Error where that leaves no time for candidates.
  Status took(size_t instance, double seconds);
  bool is_long(size_t instance) const { return run_seconds_[instance] > kLongSeconds; }
  /// Further runs of it would tell nothing that is asked for.
  bool once_is_enough(size_t instance) const { return !settings_.for_candidates && is_long(instance); }
  /// Finds the instances that stand for others when candidates are screened.
  void group_instances();
  /// What run_trial() will take of a finalist, by what the same cost the original.
  void estimate_confirmation();
  /// Whose inputs finalists are tried on perturbed: the heaviest that is screened, then those held out.
  std::vector<size_t> perturbed_instances() const;
  /// Ways of rounding that are tried on those.
  Roundings perturbed_roundings() const;
  Results snapshot(size_t instance) const;
  std::vector<BufferReport> compare(size_t instance, Verdict* verdict) const;
  /// The evaluation's time is over.
  bool ended() const;
  Result<std::unique_ptr<Trial>> start_trial(const TrialCode* candidate, bool swapped = false,
                                             std::optional<std::chrono::milliseconds> launch_limit = {});
  /// Restores, runs, checks canaries and compares. False: the verdict says why not.
  bool verify(Trial& trial, size_t instance, Stage stage, Verdict& verdict);
  /// The perturbed inputs, each with outputs poisoned and with the recorded answer left in them. False as above.
  bool verify_perturbed(Trial& trial, Verdict& verdict);
  bool ran(const std::optional<TrialFailure>& failure, size_t instance, Verdict& verdict) const;
  bool race(Trial& trial, size_t instance, Race& race, std::optional<Deadline> until, Verdict& verdict);
  /// Times what is to be timed, one instance after the other; false: the verdict says why not. `races_after`,
  /// `checks_after`: races and passes over all instances that are still to come, and want their share of the time.
  bool time(Trial& trial, const std::vector<Timed>& instances, int races_after, int checks_after, Verdict& verdict);
  bool run_trial(const TrialCode& candidate, bool second, Verdict& verdict);
  /// What is faster than writing its results takes: is it right where its answers cannot be known beforehand?
  void look_again(const TrialCode& candidate, Verdict& verdict);
  int batch_for(double seconds) const;
  std::vector<Timed> timed() const;
  bool worth_a_second_look(const Verdict& verdict) const;

  Mep mep_;
  RunnerSettings settings_;
  RunnerVoice voice_;
  std::unique_ptr<ReplayMemory> memory_;
  TrialCode baseline_;
  Roundings roundings_;
  std::unique_ptr<PerturbedOracle> oracle_;  ///< Asked for once per calibration.
  BaselineReport report_;
  bool unchanged_too_ = true;        ///< Whether regions that never changed are worth finding out about.
  std::vector<double> run_seconds_;  ///< By instance, as far as known.
  /// With all that is done around launches: one restored, run and compared; a pair of samples.
  struct Cost {
    double check = 0, pair = 0;
  };
  std::vector<Cost> costs_;      ///< Of the original, by instance.
  std::vector<Timed> screened_;  ///< Heaviest first.
  Inquiry inquiry_;              ///< The one being answered.
  bool cut_ = false;             ///< Its time was over before it was.
  double check_seconds_ = 0;     ///< What one pass of verification over all instances took.
};

}  // namespace kernelift
