// Takes candidates from submission to verdict: they are compiled in parallel on all cores, then measured by the
// evaluator's measurers, one at a time each. A measurer may request another build of a candidate by a slower compiler;
// others are measured meanwhile, the most promising candidates are rebuilt first, and a rebuilt candidate is measured
// again. It may as well put off a candidate until a question about it is answered, which needs no measurer. The
// evaluator defines how to measure; this file has queues, threads, futures, abandoned eras, and the keys by which
// evaluators recognise equal code.
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

namespace kernelift::sandbox {

/// A submitted candidate.
struct EvaluationJob {
  Candidate candidate;
  CompileReply compiled;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::optional<double> measuring;  ///< Seconds that measurers had it; absent: it was in no queue.
  uint64_t era = 0;                 ///< Era of its submission; abandon() begins a new one.
  std::optional<Verdict> screened;  ///< First verdict on a candidate that is rebuilt and measured again.
  CompileReply rebuilt;             ///< Result of the other compiler.
  bool measurer_lost = false;       ///< Set by a measurer that cannot measure any more.
  bool put_off = false;             ///< Set by a measurer that waits for the answer to a question.
  double may_gain = 0;    ///< RunnerProcess::promise() of a job that is put off: the highest is answered first.
  bool answered = false;  ///< It has been put off, and measured again with the answer, if there is one.
};

class EvaluationQueue {
 public:
  struct Hooks {
    /// Measurers, one thread each: return the evaluation of a compiled or rebuilt candidate; nullopt with job.screened
    /// set requests a rebuild, and with job.put_off an answer. A measurer that sets job.measurer_lost gets no more
    /// jobs, and another one takes this job, unless it is the last.
    std::vector<std::function<std::optional<Evaluation>(EvaluationJob&)>> measurers;
    /// The other compiler, called from `rebuilders` threads.
    std::function<CompileReply(const Candidate&)> rebuild;
    unsigned rebuilders = 0;
    /// Finds the answer for which a job was put off, in a thread of its own; to be given up once the job's era is over.
    std::function<void(const EvaluationJob&)> answer;
    bool rebuild_all = false;  ///< Every compiled candidate is rebuilt before it is measured.
    /// The original's source and its compiled image, which is reused: the time limit for candidates might not suffice.
    std::string source;
    CompileReply original;
    /// Adds the device, and facts about the image, to a finished verdict.
    std::function<void(const EvaluationJob&, Verdict&)> label;
    /// Called under the queue's lock when an era begins: jobs of earlier eras should be given up.
    std::function<void(uint64_t era)> era_began = [](uint64_t) {};
  };
  EvaluationQueue(CompilePool& pool, Hooks hooks);
  /// Answers jobs in flight first, so that no future is left without a value.
  ~EvaluationQueue();

  std::future<Evaluation> submit(Candidate candidate);
  /// Answers at once all jobs that wait, are being compiled or are being rebuilt: with the screened verdict, if there
  /// is one.
  void abandon();
  /// Candidates that are put off now.
  size_t put_off() const;
  /// Whether a candidate sent to be rebuilt would be built at once.
  bool rebuilder_idle() const;
  /// For finalists, outside the queue and in the caller's thread: compiles, and later labels, like submitted
  /// candidates.
  EvaluationJob compile(const Candidate& candidate) const;
  /// Every evaluation leaves the evaluator through here: labelled, and with bounded texts.
  Evaluation finished(const EvaluationJob& job, Evaluation evaluation) const;

 private:
  struct Waiting : EvaluationJob {
    uint64_t number = 0;  ///< In the order of submission.
    std::promise<Evaluation> promise;
  };
  CompileReply compiled(const Candidate& candidate, uint64_t era) const;
  bool is_over(uint64_t era) const;
  using Measure = std::function<std::optional<Evaluation>(EvaluationJob&)>;
  void compile_jobs();
  void rebuild_jobs();
  void answer_jobs();
  void measure_jobs(const Measure& measure);
  /// Retires the calling measurer. False: it is the last one.
  bool leave_to_others();
  /// Waits until `jobs` has one; false: none will come.
  bool wait_for_job(const std::deque<Waiting>& jobs, std::unique_lock<std::mutex>& lock);
  /// Takes the first of `jobs`, once there is one; nullopt: none will come.
  std::optional<Waiting> next(std::deque<Waiting>& jobs);
  /// Enqueues it, unless its era is over: what is put off by its promise; else screened jobs before others, the fastest
  /// first; the others as they were submitted, the most promising first, whichever is compiled first.
  void pass_on(Waiting job, std::deque<Waiting>& jobs);
  void finish(Waiting& job, Evaluation evaluation);
  /// Answers with the screened verdict, or as abandoned.
  void give_up(Waiting& job);

  CompilePool& pool_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> to_compile_, to_rebuild_, to_answer_, to_measure_;
  size_t answering_ = 0;  ///< Jobs that answer_jobs() holds.
  size_t measurers_ = 0;
  bool closing_ = false;
  uint64_t era_ = 0, submitted_ = 0;
  size_t open_ = 0;                ///< Jobs submitted and not answered.
  std::list<Waiting> rebuilding_;  ///< Jobs that the other compiler is building; abandon() answers them too.
  std::vector<std::thread> threads_;
};

RunnableCode runnable_code(const Candidate& candidate, const std::string& image);
/// Hash of the image and launches, independent of source and recipe: candidates with equal keys share a measurement.
Hash code_key(const Candidate& candidate, const std::string& image);
Verdict rejected(const CompileReply& compiled);
/// The next three say nothing about the candidate.
NotJudged abandoned();
/// The original cannot be measured any more, for the reason `why`: while searching, and for a finalist.
NotJudged not_launched(const std::string& why);
NotJudged not_confirmable(const std::string& why);
/// Verdict on code that equals the original's, without running it.
Verdict same_as_original(const BaselineReport& report, bool cold);

}  // namespace kernelift::sandbox
