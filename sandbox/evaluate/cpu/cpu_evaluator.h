// The CPU device's Evaluator. Candidates are compiled in parallel on all cores and measured one after the other;
// compile workers are paused during timing. Equal code is measured once: candidates with equal image and launches share
// a verdict, and code that equals the original's is not run.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/evaluation_queue.h"
#include "sandbox/evaluate/field_comparison.h"
#include "sandbox/evaluate/length_judgement.h"
#include "sandbox/evaluate/runner/runner_process.h"
#include "sandbox/evaluate/shared_era.h"
#include "sandbox/evaluate/size_comparison.h"

namespace kernelift::sandbox {

class CpuEvaluator : public Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> create(const Mep& mep, const std::filesystem::path& folder,
                                                   const EvaluatorOptions& options);
  ~CpuEvaluator() override;

  std::future<Evaluation> submit(Candidate candidate) override;
  Evaluation verify(const Candidate& candidate) override;
  int parallelism() const override;
  void abandon() override;
  void forget_rivals() override;
  Evaluation confirm(const Candidate& candidate) override;
  std::optional<Evaluation> confirm_by(const Candidate& candidate, Deadline deadline) override;
  Evaluation with_other_sizes(Evaluation evaluation, const Candidate& candidate) override {
    return size_comparison_->judged(std::move(evaluation), candidate);
  }
  std::future<Evaluation> ask_other_sizes(Evaluation evaluation, Candidate candidate) override {
    return size_comparison_->ask(std::move(evaluation), std::move(candidate));
  }
  Evaluation with_checks(Evaluation evaluation, const Candidate& candidate) override;
  void wait_while_timing() const override;
  Result<KernelModel> kernel_model() override { return baseline_.model(); }
  Evaluation with_formulas(Evaluation evaluation, const Candidate& candidate) override;
  ConfirmCost confirm_cost() const override;
  std::string device_limits() const override { return limits_; }
  std::optional<Evaluation> judge_original() override;

 private:
  CpuEvaluator() = default;
  Evaluation measure(const EvaluationJob& job);
  /// Has the runner judge `code`, and a fresh runner if that one ended: runners do not run candidates themselves, so a
  /// single end is not the candidate's fault. EXPECTS: confirming_ is held, the runner is alive.
  std::optional<Evaluation> judge(const RunnableCode& code, const Inquiry& inquiry);
  /// What counts of a candidate whose `verdict` is Ok, once it has run in check mode. `own`: its compile. EXPECTS: as
  /// judge().
  std::optional<Evaluation> checked(const Candidate& candidate, const CompileReply& own, const Inquiry& inquiry,
                                    Verdict verdict);
  /// judge(), and what LengthJudgement makes of that. EXPECTS: as judge().
  std::optional<Evaluation> judge_by_length(const EvaluationJob& job, RunnableCode code, Inquiry inquiry);
  Evaluation in_field(Evaluation evaluation, const EvaluationJob& job, const Inquiry& inquiry);
  void label(const EvaluationJob& job, Verdict& verdict) const;
  Status restart_runner(std::optional<Deadline> deadline = {});
  /// restart_runner(); returns what is wrong afterwards (perhaps that the original does not reproduce its capture this
  /// time). Empty: candidates can be judged.
  std::string restarted(std::optional<Deadline> deadline = {});
  /// Whether candidates can be judged now.
  bool is_ready() const;
  /// restarted() if they cannot; empty if they can.
  std::string made_ready();
  /// Measures the original afresh, unless that was done since the last search or there is no time for it.
  Status refresh(std::optional<Deadline> deadline);
  std::optional<Evaluation> confirm_within(const Candidate& candidate, std::optional<Deadline> deadline);

  EvaluatorOptions options_;
  std::string device_, limits_;
  CompiledBaseline baseline_;
  std::unique_ptr<SizeComparison> size_comparison_;
  std::unique_ptr<FieldComparison> field_comparison_;
  std::optional<LengthJudgement> length_judgement_;
  Original original_;
  std::set<std::string> fatal_;
  Hash baseline_key_;
  BaselineReport report_;
  std::unique_ptr<ForkServer> runners_;
  std::unique_ptr<RunnerProcess> runner_;
  std::map<Hash, Verdict> measured_;  ///< Used by the measuring thread only.
  struct Checked {
    Verdict said;
    bool at_sizes = false;  ///< At sizes that were not recorded, too.
  };
  std::map<Hash, Checked> checks_;  ///< What check mode said, by code. Guarded by confirming_.
  /// The best lower bounds so far: of candidates that a source patch can express, and of all.
  std::atomic<double> best_applicable_ = 1, best_ = 1;
  double tolerance_ = 0;   ///< As Verdict::tolerance.
  std::mutex confirming_;  ///< One measurement at a time, confirmations included.
  // State for confirm_cost(), which may be called while another thread fills report_.
  std::atomic<bool> fresh_ = false;            ///< The runner has judged only finalists.
  std::atomic<bool> finalist_judged_ = false;  ///< The runner has judged a finalist.
  std::atomic<double> calibration_seconds_ = 0, confirmation_seconds_ = 0, own_seconds_ = 0,
                      perturbing_seconds_ = 0;  ///< Expected seconds, by the last calibration.
  std::atomic<double> slowness_ = 1;            ///< Largest ratio of a confirmation's actual to expected duration.

  std::unique_ptr<SharedEra> shared_era_;
  std::unique_ptr<EvaluationQueue> queue_;  ///< Destroyed first: its threads use all of the above.
};

}  // namespace kernelift::sandbox
