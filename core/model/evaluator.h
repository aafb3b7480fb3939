// The seam between tuner and sandbox: give a candidate, get its evaluation, later. Real ones compile, run and judge
// (sandbox/evaluate); `simulate` answers from recorded trials; tests use a fake. Thread-safe.
#pragma once
#include <chrono>
#include <future>
#include <optional>

#include "core/base/result.h"
#include "core/model/candidate/candidate.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/kernel_facts.h"
#include "core/model/verdict/verdict.h"

namespace kernelift {

/// What confirming costs, in seconds, as far as the evaluator has measured it; 0: not known.
struct ConfirmCost {
  double once = 0;       ///< Before the first finalist: the original measured afresh, unless there is no time for it.
  double each = 0;       ///< Per finalist, with all the samples it should have.
  double own = 0;        ///< Of `each`, for launches of the finalist, if it is as fast as the original.
  double first = 0;      ///< Of the first finalist beside that, however little time there is.
  bool guessed = false;  ///< None was confirmed yet, and it may turn out to take several times as long.
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Never throws and never fails: whatever goes wrong with the candidate is in the verdict, and what keeps it from
  /// being judged in a NotJudged.
  virtual std::future<Evaluation> submit(Candidate candidate) = 0;
  /// Compiles it and compares its results with all recorded ones; where that can be left out, nothing is timed. A right
  /// one's verdict then has no timings, and nothing is known of its speed.
  virtual Evaluation verify(const Candidate& candidate) { return submit(candidate).get(); }
  /// How many submissions can usefully be in flight.
  virtual int parallelism() const { return 1; }
  /// A leader turned out to be wrong: candidates are measured as if there had been none, until there is another.
  virtual void forget_rivals() {}
  /// What is in flight is no longer of interest: its futures are answered soon, as not judged where it was not done.
  virtual void abandon() {}
  /// Re-times a finalist in a fresh process with fresh samples and the held-out instances; its figures are the ones
  /// reported.
  virtual Evaluation confirm(const Candidate& candidate) = 0;
  /// As confirm, but over by `deadline`, with fewer samples where it must be; nullopt when that cannot be done.
  virtual std::optional<Evaluation> confirm_by(const Candidate& candidate,
                                               std::chrono::steady_clock::time_point deadline) {
    return confirm(candidate);
  }
  /// What the time of the last confirm_by() went to, if it had no answer by its deadline: "building by nvcc 2.1 s,
  /// judging 3.4 s". Empty: not known.
  virtual std::string why_late() const { return {}; }
  /// The evaluation of a right candidate with what is known of it at sizes that were not recorded, or as wrong if it is
  /// wrong there; a Verdict stays one. A confirmation does that by itself. Takes some ten milliseconds and runs
  /// nothing.
  virtual Evaluation with_other_sizes(Evaluation evaluation, const Candidate& candidate) { return evaluation; }
  /// The same beside other work: the answer may take seconds where sizes enter in products, and what is in flight goes
  /// on.
  virtual std::future<Evaluation> ask_other_sizes(Evaluation evaluation, Candidate candidate) {
    std::promise<Evaluation> answer;
    answer.set_value(with_other_sizes(std::move(evaluation), candidate));
    return answer.get_future();
  }
  /// The evaluation of a right candidate with what is found about its accesses to memory (races, bounds) where
  /// submissions are not looked at so: on GPUs, and where it is no faster than the original. A confirmation does that
  /// by itself. Takes up to half a minute.
  virtual Evaluation with_checks(Evaluation evaluation, const Candidate& candidate) { return evaluation; }
  /// The same with what field runs say of its formulas (Verdict::field). Runs it, within some seconds.
  virtual Evaluation with_formulas(Evaluation evaluation, const Candidate& candidate) { return evaluation; }
  /// The same with what the vendor's tools report of its accesses and barriers on a GPU (Verdict::sanitized), if they
  /// are installed; `built_by`: of whose image. Takes up to some minutes, and is asked of what is about to be patched
  /// in.
  virtual Evaluation with_sanitizers(Evaluation evaluation, const Candidate& candidate, BuiltBy built_by) {
    return evaluation;
  }
  /// Returns once no launch is being timed that work on this machine's processors would slow down; soon.
  virtual void wait_while_timing() const {}
  virtual ConfirmCost confirm_cost() const { return {}; }
  /// The original, run and judged as if it were a candidate: unless it is right, it does not repeat its own results,
  /// and nothing can be. nullopt: that cannot be asked here.
  virtual std::optional<Evaluation> judge_original() { return std::nullopt; }
  /// A sentence: candidates are judged only as the application's own compiler builds them, so that recipes for ours are
  /// refused, and why. Empty: that is not so.
  virtual std::string only_as_built() const { return {}; }
  /// What the device has room for and allows a block, in one line; empty: not known.
  virtual std::string device_limits() const { return {}; }
  /// What the original does with memory; an Error says why that is not known.
  virtual Result<KernelModel> kernel_model() { return refused("this evaluator has no compiler"); }
  /// How the original spends its time, as far as that can be known here; nullopt: nothing is. May take a second, and is
  /// asked before the first submission.
  virtual std::optional<KernelFacts> kernel_facts() { return std::nullopt; }
};

}  // namespace kernelift
