// One tuning: the original first, then candidates from every tier as a bandit sees fit, many in flight, each verdict
// stored before the next is chosen; at the end the finalists are re-timed in fresh processes, and those figures count.
// All of it within the time that was given: as much is kept back as confirming was measured to cost.
// Knows the sandbox only as an Evaluator and the outside world only through its Run.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "core/model/evaluator.h"
#include "core/model/mep.h"
#include "tuner/proposer.h"

namespace kernelift {

struct Progress {
  size_t tried = 0, failed = 0, in_flight = 0;
  double best = 1;                ///< Lower end of the best candidate's speedup; 1 while nothing beats the original.
  std::string best_note, tier;    ///< What the best is; the tier last asked.
  double seconds = 0;             ///< Since this sitting began.
  double seconds_left = -1;       ///< -1: no time budget.
  int64_t evaluations_left = -1;  ///< -1: no evaluation budget.
  bool improved = false;          ///< This call reports a new best.
  std::string message;            ///< A sentence for the log, or empty.
};

/// Time as the loop sees it; tests bring their own.
struct TuneClock {
  using Time = std::chrono::steady_clock::time_point;
  std::function<Time()> now;  ///< Empty: the machine's.
  std::function<void(std::chrono::duration<double>)> sleep;
};

struct TuneOptions {
  /// Time budget of the whole run; 0: none. A promise: finalists are confirmed within it.
  double seconds = 0;
  /// When this sitting's time began, if before tune(): starting the evaluator counts too.
  std::optional<TuneClock::Time> started;
  TuneClock clock;
  int64_t evaluations = 0;  ///< Candidates measured in the whole run, the original not counted; 0: none.
  uint64_t seed = 1;
  size_t finalists = 3;       ///< Confirmed of each kind: overall, and applicable as a source patch.
  bool recipes_apply = true;  ///< `apply` has a way for what only a recipe gains: not on the CPU device.
  const std::atomic<bool>* interrupted = nullptr;  ///< Set by SIGINT: stop at once, everything is stored.
  std::function<void(const Progress&)> progress;
};

struct TuneReport {
  std::optional<RunTrial> baseline;
  std::optional<RunTrial> best,
      best_applicable;  ///< With confirmed figures; a gain only if its lower end > kSmallestGain.
  size_t tried = 0, failed = 0;
  size_t added = 0;                        ///< Of those tried, the ones of this sitting.
  std::map<std::string, size_t> outcomes;  ///< By name(Outcome).
  std::map<std::string, size_t> tiers;     ///< Candidates tried per tier.
  double seconds = 0;
  bool interrupted = false;
  std::string stopped_by;     ///< "time", "evaluations", "nothing left to try", "interrupt".
  std::string unconfirmed;    ///< Why nothing was tried, or what seems to win not confirmed; or empty.
  std::string nothing_added;  ///< Why a run that was gone on with is as it was; or empty.

  bool gained(const std::optional<RunTrial>& trial) const {
    return trial && trial->figures().speedup_low() > kSmallestGain;
  }
};

Json to_json(const TuneReport& report);

/// What is to be said where nothing gained, of so many candidates: "nothing tried", "undecided" (the search was cut
/// short), or "no gain" (it came to its end).
std::string without_gain(size_t tried, const std::string& stopped_by);
/// The run's own note of what ended its last sitting; empty in runs of former versions.
inline constexpr const char* kStoppedBy = "stopped_by";

/// The original as a candidate: the text of the MEP's kernel file, the recorded launch, the default recipe.
Result<Candidate> original_candidate(const Mep& mep, const std::filesystem::path& folder);
/// What a run belongs to: mep.json and the kernel's text.
Result<std::string> hash_mep(const std::filesystem::path& folder, const Mep& mep);

/// What a run keeps of its MEP for reports; `text` is that of kernel.cu. What is not tried is added when it is tuned.
TunedKernel kernel_of(const Mep& mep, const std::string& text);

/// A run as it is, where its time is spent, but for what measuring the original anew would take; nullopt where there is
/// more.
Result<std::optional<TuneReport>> spent_already(const Run& run, const TuneOptions& options);

/// An Error means that the original itself cannot be measured, or that the run cannot be stored.
Result<TuneReport> tune(const Mep& mep, const std::filesystem::path& folder, Evaluator& evaluator, Run& run,
                        std::vector<std::unique_ptr<Proposer>> proposers, const TuneOptions& options);

}  // namespace kernelift
