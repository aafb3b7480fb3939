// The tuning loop: measures the original, then candidates from every tier in the order that a bandit chooses, many in
// flight, and stores each verdict before choosing the next candidate; at the end finalists are timed again in fresh
// processes, and these figures are reported. All of it happens within the given time: the measured cost of confirming
// is kept in reserve. The loop uses the sandbox only as an Evaluator and writes only to its Run.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "core/model/evaluator.h"
#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/tune_report.h"

namespace kernelift::tuner {

struct Progress {
  size_t tried = 0, failed = 0, in_flight = 0;
  double best = 1;                ///< Lower end of the best candidate's speedup; 1 while nothing beats the original.
  std::string best_note, tier;    ///< Note of the best candidate; tier of the last submitted candidate.
  double seconds = 0;             ///< Since this sitting began.
  double seconds_left = -1;       ///< -1: no time budget.
  int64_t evaluations_left = -1;  ///< -1: no evaluation budget.
  bool improved = false;          ///< This call reports a new best.
  std::string message;            ///< A sentence for the log, or empty.
  std::string spending;           ///< "models 12 requests, 34k tokens, 0.21 USD", or empty.
};

/// The loop's clock; tests provide their own.
struct TuneClock {
  using Time = std::chrono::steady_clock::time_point;
  std::function<Time()> now;  ///< Empty: the machine's clock.
  std::function<void(std::chrono::duration<double>)> sleep;
};

struct TuneOptions {
  /// Time budget of the whole run, confirmation of the finalists included; 0: none.
  double seconds = 0;
  /// Begin of this sitting, if it was before tune(): starting the evaluator counts, too.
  std::optional<TuneClock::Time> started;
  TuneClock clock;
  double patience = 0;      ///< Seconds without a new best after which the search ends; 0: it goes on.
  int64_t evaluations = 0;  ///< Budget of measured candidates of the whole run, without the original; 0: none.
  uint64_t seed = 1;
  size_t finalists = 3;       ///< Finalists confirmed of each kind: of all, and of those applicable as a source patch.
  bool recipes_apply = true;  ///< `apply` can apply a gain of a recipe alone; false on the CPU device.
  const std::atomic<bool>* interrupted = nullptr;  ///< Set by SIGINT: stop at once; everything is stored.
  std::function<void(const Progress&)> progress;
};

/// The original as a candidate: the text of the MEP's kernel file, the recorded launch, the default recipe.
Result<Candidate> original_candidate(const Mep& mep, const std::filesystem::path& folder);
/// Hash of mep.json and the kernel's text, by which a run belongs to a MEP.
Result<std::string> hash_mep(const std::filesystem::path& folder, const Mep& mep);

/// What a run keeps of its MEP for reports; `text` is that of kernel.cu. Reasons why something was not tried are added
/// when it is tuned.
TunedKernel kernel_of(const Mep& mep, const std::string& text);

/// The report of a run whose time is spent (what is left would only suffice to measure the original); nullopt if there
/// is time left.
Result<std::optional<TuneReport>> spent_already(const Run& run, const TuneOptions& options);

/// An Error means that the original cannot be measured, or that the run cannot be stored.
Result<TuneReport> tune(const Mep& mep, const std::filesystem::path& folder, Evaluator& evaluator, Run& run,
                        std::vector<std::unique_ptr<Proposer>> proposers, const TuneOptions& options);

}  // namespace kernelift::tuner
