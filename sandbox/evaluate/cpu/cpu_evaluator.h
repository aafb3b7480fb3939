// The CPU device's Evaluator. Candidates are compiled side by side on all cores; one after the other they take the only
// measuring slot, during which the compile workers stand still. Equal code is measured once: candidates whose image and
// launches are equal share a verdict, and what is equal to the original is its equal without being run.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/evaluation_queue.h"
#include "sandbox/evaluate/runner/runner_process.h"

namespace kernelift {

class CpuEvaluator : public Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> create(const Mep& mep, const std::filesystem::path& folder,
                                                   const EvaluatorOptions& options);
  ~CpuEvaluator() override;

  std::future<Evaluation> submit(Candidate candidate) override;
  int parallelism() const override;
  void abandon() override;
  Evaluation confirm(const Candidate& candidate) override;
  std::optional<Evaluation> confirm_by(const Candidate& candidate, Deadline deadline) override;
  ConfirmCost confirm_cost() const override;

 private:
  CpuEvaluator() = default;
  Evaluation measure(const EvaluationJob& job);
  /// By the runner, and by a fresh one where that one ended: it runs no candidate itself, so its end says nothing of
  /// this one unless it comes twice. EXPECTS: confirming_ is held, the runner lives.
  std::optional<Evaluation> judge(const TrialCode& code, const Inquiry& inquiry);
  void label(const EvaluationJob& job, Verdict& verdict) const;
  Status restart_runner(std::optional<Deadline> deadline = {});
  /// Likewise; what is wrong then, be it that the original strays this time. Nothing: candidates can be judged.
  std::string restarted(std::optional<Deadline> deadline = {});
  /// The original measured afresh, unless that was done since the last search or there is no time for it.
  Status refresh(std::optional<Deadline> deadline);
  std::optional<Evaluation> confirm_within(const Candidate& candidate, std::optional<Deadline> deadline);

  EvaluatorOptions options_;
  std::string device_;
  CompiledBaseline baseline_;
  Original original_;
  std::set<std::string> fatal_;
  Hash baseline_key_;
  BaselineReport report_;
  std::unique_ptr<ForkServer> runners_;
  std::unique_ptr<RunnerProcess> runner_;
  std::map<Hash, Verdict> measured_;  ///< Touched by the measuring thread only.
  /// The best lower bounds so far: of candidates that a source patch can express, and of all.
  double best_applicable_ = 1, best_ = 1;
  std::mutex confirming_;  ///< One measurement at a time, confirmations included.
  // What confirm_cost() tells while another thread may be filling report_ anew.
  std::atomic<bool> fresh_ = false,
                    asked_ = false;  ///< The runner has judged nothing but finalists; it has judged one.
  std::atomic<double> calibration_seconds_ = 0, confirmation_seconds_ = 0,
                      perturbing_seconds_ = 0;  ///< As the last calibration tells.
  std::atomic<double> slowness_ = 1;            ///< So many times what was expected a confirmation took, at the worst.

  struct SharedEra;
  std::unique_ptr<SharedEra> shared_era_;   ///< What runners see of the queue's era.
  std::unique_ptr<EvaluationQueue> queue_;  ///< Goes first: its threads use all of the above.
};

}  // namespace kernelift
