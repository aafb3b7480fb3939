// The CPU device's Evaluator. Candidates are compiled side by side on all cores; one after the other they take the only
// measuring slot, during which the compile workers stand still. Equal code is measured once: candidates whose image and
// launches are equal share a verdict, and what is equal to the original is its equal without being run.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/runner_process.h"

namespace kernelift {

class CpuEvaluator : public Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> create(const Mep& mep, const std::filesystem::path& folder,
                                                   const EvaluatorOptions& options);
  ~CpuEvaluator() override;

  std::future<Verdict> submit(Candidate candidate) override;
  int parallelism() const override;
  void abandon() override;
  Verdict confirm(const Candidate& candidate) override;
  std::optional<Verdict> confirm_by(const Candidate& candidate, Deadline deadline) override;
  ConfirmCost confirm_cost() const override;

 private:
  struct Job {
    Candidate candidate;
    std::promise<Verdict> promise;
    CompileReply compiled;
    std::chrono::steady_clock::time_point begun;
    uint64_t era = 0;  ///< Of submission: abandon() begins a new one.
  };
  CpuEvaluator() = default;
  void compile_jobs();
  void measure_jobs();
  Verdict measure(const Job& job);
  Verdict rejected(const CompileReply& compiled) const;
  void finish(Job& job, Verdict verdict) const;
  Hash code_key(const Candidate& candidate, const std::string& image) const;
  Verdict same_as_baseline() const;
  Status restart_runner(std::optional<Deadline> deadline = {});
  /// The original measured afresh, unless that was done since the last search or there is no time for it.
  Status refresh(std::optional<Deadline> deadline);
  std::optional<Verdict> confirm_within(const Candidate& candidate, std::optional<Deadline> deadline);
  double confirmation_seconds() const;
  std::function<void(bool)> quieting();

  EvaluatorOptions options_;
  std::string device_;
  CompiledBaseline baseline_;
  TrialCode baseline_code_;
  Hash baseline_key_;
  BaselineReport report_;
  std::unique_ptr<Nursery> runners_;
  std::unique_ptr<RunnerProcess> runner_;
  std::map<Hash, Verdict> measured_;  ///< Touched by the measuring thread only.
  /// The best lower bounds so far: of candidates that a source patch can express, and of all.
  double best_applicable_ = 1, best_ = 1;
  std::mutex confirming_;             ///< One measurement at a time, confirmations included.
  bool fresh_ = false;                ///< The runner has judged nothing but finalists.
  double calibration_seconds_ = 0;
  double confirmed_seconds_ = 0;      ///< The longest confirmation so far.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> to_compile_, to_measure_;
  bool closing_ = false;
  uint64_t era_ = 0;
  struct SharedEra;
  std::unique_ptr<SharedEra> shared_era_;  ///< What runners see of era_.
  unsigned compilers_ = 0;  ///< Compiling threads that are still at work.
  std::vector<std::thread> threads_;
};

}  // namespace kernelift
