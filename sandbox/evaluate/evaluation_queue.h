// From submission to verdict: candidates are compiled side by side on all cores, and taken from there by the
// evaluator's measurers, one at a time each. A measurer may ask for another build of a candidate by a slower compiler:
// the rest goes on meanwhile, the most promising are built first, and then it is measured again. What measuring means
// is the evaluator's; queues, threads, futures, abandoned eras and the way in which evaluators tell equal code apart
// live here.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/runner/baseline_report.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift {

/// A candidate on its way.
struct EvaluationJob {
  Candidate candidate;
  CompileReply compiled;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  uint64_t era = 0;                 ///< Of submission: abandon() begins a new one.
  std::optional<Verdict> screened;  ///< The first verdict on what is to be built and measured again.
  CompileReply rebuilt;             ///< What came of that.
  bool measurer_lost = false;       ///< Its measurer cannot measure anything any more.
};

class EvaluationQueue {
 public:
  struct Hooks {
    /// One thread each: a verdict on what compiled, and on what was rebuilt. nullopt, with job.screened set: to be
    /// rebuilt. With job.measurer_lost set it gets no more jobs, and another takes this one, unless it is the last.
    std::vector<std::function<std::optional<Evaluation>(EvaluationJob&)>> measurers;
    /// The other compiler, called from so many threads.
    std::function<CompileReply(const Candidate&)> rebuild;
    unsigned rebuilders = 0;
    bool rebuild_all = false;  ///< Whatever compiled goes there first; nothing is measured as compiled.
    /// The original and what came of it: that is not compiled again, however little time a candidate's compilation has.
    std::string source;
    CompileReply original;
    /// Adds to any finished verdict whose it is: the device, facts about its image.
    std::function<void(const EvaluationJob&, Verdict&)> label;
    /// An era began: what was submitted in an earlier one is to be given up where it is. Called under the queue's lock.
    std::function<void(uint64_t era)> era_began = [](uint64_t) {};
  };
  EvaluationQueue(CompilePool& pool, Hooks hooks);
  /// Answers what is in flight first: a future must never be left broken.
  ~EvaluationQueue();

  std::future<Evaluation> submit(Candidate candidate);
  /// What waits or is being compiled is answered at once, and what the other compiler is at: by what it was screened
  /// as, if it was.
  void abandon();
  /// A candidate sent to be rebuilt would not have to wait.
  bool rebuilder_idle() const;
  /// Beside the queue, in the caller's own time, for finalists: compiled, and later labelled like everybody else.
  EvaluationJob compile(const Candidate& candidate) const;
  Evaluation finished(const EvaluationJob& job, Evaluation evaluation) const;

 private:
  struct Waiting : EvaluationJob {
    std::promise<Evaluation> promise;
  };
  CompileReply compiled(const Candidate& candidate, uint64_t era) const;
  bool is_over(uint64_t era) const;
  using Measure = std::function<std::optional<Evaluation>(EvaluationJob&)>;
  void compile_jobs();
  void rebuild_jobs();
  void measure_jobs(const Measure& measure);
  /// False: nobody else is left.
  bool leave_to_others();
  /// Waits until `jobs` has one; false: there never will be.
  bool some_come(const std::deque<Waiting>& jobs, std::unique_lock<std::mutex>& lock);
  /// The first of `jobs`, once there is one; nullopt when there never will be.
  std::optional<Waiting> next(std::deque<Waiting>& jobs);
  /// Puts it in line, unless its era is over: what was screened before what was not, the fastest of that first.
  void pass_on(Waiting job, std::deque<Waiting>& jobs);
  void finish(Waiting& job, Evaluation evaluation);
  /// Answered by what is known of it.
  void give_up(Waiting& job);

  CompilePool& pool_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> to_compile_, to_rebuild_, to_measure_;
  size_t measurers_ = 0;
  bool closing_ = false;
  uint64_t era_ = 0;
  size_t open_ = 0;                ///< Submitted and not answered.
  std::list<Waiting> rebuilding_;  ///< In the other compiler's hands, but abandon() can answer them.
  std::vector<std::thread> threads_;
};

TrialCode trial_code(const Candidate& candidate, const std::string& image);
/// What is run, without how it came about: candidates of one key share a measurement.
Hash code_key(const Candidate& candidate, const std::string& image);
Verdict rejected(const CompileReply& compiled);
/// These three are not about the candidate.
NotJudged abandoned();
/// Where the original cannot be measured any more: `why`, as BaselineReport or whoever started the runner says. While
/// searching nothing was launched; of a finalist nothing can be said.
NotJudged not_launched(const std::string& why);
NotJudged not_confirmable(const std::string& why);
/// Of what is the original's very code, which is its equal without being run.
Verdict same_as_original(const BaselineReport& report, bool cold);

}  // namespace kernelift
