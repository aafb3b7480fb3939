// The CUDA device's Evaluator. Candidates become cubins side by side on all cores; each GPU has a runner process that
// takes them one after the other while compilation goes on. Equal code is measured once. Compile workers and runners
// are forked before anything here has touched the driver, which this process never does. Where the application's own
// compiler is here, whoever may be the best is built by it as well and raced against the machine code that the
// application runs: the verdict's figures are then what a patch gives (as_built.h). Where clang's build of the original
// does not reproduce the capture and nvcc's does (a decision hangs on how a sum is rounded), nvcc's takes its place,
// and candidates are judged by nvcc's builds alone.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <mutex>

#include "sandbox/device/cuda/cuda_device.h"
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/cpu/processor_check.h"
#include "sandbox/evaluate/cuda/as_built.h"
#include "sandbox/evaluate/cuda/device_sanitizer.h"
#include "sandbox/evaluate/device_limits.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/evaluation_queue.h"
#include "sandbox/evaluate/length_judgement.h"
#include "sandbox/evaluate/runner/runner_process.h"
#include "sandbox/evaluate/shared_era.h"
#include "sandbox/evaluate/size_comparison.h"

namespace kernelift::sandbox {

/// "cuda", "cuda:1", "auto" → a GPU's ordinal; -1: any of them. An Error for anything else.
Result<int> cuda_ordinal(const std::string& device);
/// Makes runners of a MEP; opened with ordinal -1 one sees all GPUs and uses the first.
using GpuRunners =
    std::function<Result<std::unique_ptr<ForkServer>>(const Mep&, const std::filesystem::path&, const RunnerSettings&)>;
/// The stack and heap limits that the MEP was recorded with, and the addresses of its memory.
CudaDeviceOptions device_options(const Mep& mep);
/// NVIDIA's, with device_options().
Result<std::unique_ptr<ForkServer>> cuda_runners(const Mep& mep, const std::filesystem::path& folder,
                                                 const RunnerSettings& settings);

/// A GPU that answered, with the process that asked it: whoever goes on to use it need not ask twice.
struct OpenedGpu {
  std::unique_ptr<ForkServer> runners;
  std::unique_ptr<RunnerProcess> process;
  int wanted = -1;  ///< cuda_ordinal() of the device that was asked for.
  int ordinal() const { return std::max(wanted, 0); }
};
/// An Error says what the GPU, its driver or the name of the device lacks. `all_of_model`: other GPUs of the model are
/// counted as well, which starts them all.
Result<OpenedGpu> open_gpu(const std::string& device, const Mep& mep, const std::filesystem::path& folder,
                           const RunnerSettings& settings, bool all_of_model, const GpuRunners& runners = cuda_runners);
RunnerSettings runner_settings(const EvaluatorOptions& options);
/// What the application itself ran, recorded with an instance: machine code that suits `arch`; else empty.
std::string recorded_code(const Mep& mep, const std::filesystem::path& folder, const std::string& arch);

class CudaEvaluator : public Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> create(const Mep& mep, const std::filesystem::path& folder,
                                                   const EvaluatorOptions& options, OpenedGpu opened);

  std::future<Evaluation> submit(Candidate candidate) override;
  Evaluation verify(const Candidate& candidate) override;
  int parallelism() const override;
  void abandon() override;
  void forget_rivals() override;
  Evaluation confirm(const Candidate& candidate) override;
  std::optional<Evaluation> confirm_by(const Candidate& candidate,
                                       std::chrono::steady_clock::time_point deadline) override;
  std::string why_late() const override { return late_; }
  Evaluation with_other_sizes(Evaluation evaluation, const Candidate& candidate) override {
    return size_comparison_->judged(std::move(evaluation), candidate);
  }
  std::future<Evaluation> ask_other_sizes(Evaluation evaluation, Candidate candidate) override {
    return size_comparison_->ask(std::move(evaluation), std::move(candidate));
  }
  Evaluation with_checks(Evaluation evaluation, const Candidate& candidate) override;
  Evaluation with_formulas(Evaluation evaluation, const Candidate& candidate) override;
  Evaluation with_sanitizers(Evaluation evaluation, const Candidate& candidate, BuiltBy built_by) override;
  ConfirmCost confirm_cost() const override;
  std::optional<Evaluation> judge_original() override;
  std::string only_as_built() const override { return only_as_built_; }
  std::string device_limits() const override { return limits_text(facts_); }
  Result<KernelModel> kernel_model() override { return baseline_.model(); }

 private:
  /// One GPU and who measures on it.
  struct Gpu {
    int ordinal = 0;
    std::unique_ptr<RunnerProcess> process;
    std::atomic<bool> fresh = true;  ///< The process has judged nothing but finalists.
    std::set<std::string> fatal;
    BaselineReport report;
    std::mutex busy;
    bool alive() const { return process && process->alive(); }
    /// For finalists.
    bool ready() const { return fresh && alive(); }
    std::atomic<bool> has_spare = false;
    /// A process that has opened the GPU and done nothing yet, or is about to: some drivers take seconds to start, and
    /// a finalist needs a fresh process, as does the next candidate after a crash. Guarded by `busy`.
    std::future<Result<std::unique_ptr<RunnerProcess>>> spare;
  };
  /// What it is raced against: our build of the original, or what the application runs.
  enum class Against { Clang, Application };

  CudaEvaluator(const Mep& mep, const std::filesystem::path& folder, const EvaluatorOptions& options)
      : mep_(mep), folder_(folder), options_(options) {}
  Status prepare(OpenedGpu opened);
  /// From now on the original is nvcc's build of it.
  Status use_nvcc_baseline();
  /// Of a recipe where nvcc alone builds what is judged.
  EvaluationJob refused_recipe(const Candidate& candidate) const;
  /// Calibrates `opened`, else the spare process, else a new one.
  Status start_process(Gpu& gpu, std::unique_ptr<RunnerProcess> opened = nullptr);
  void start_spare(Gpu& gpu);
  bool knows_application(const Gpu& gpu) const {
    return !as_built_->application().empty() && gpu.report.application_trouble.empty();
  }
  unsigned rebuilders() const;
  bool is_original(const Candidate& candidate) const;
  std::optional<Evaluation> measure(Gpu& gpu, EvaluationJob& job);
  /// measure() with gpu.busy held; what it returns counts only if the job is not put off.
  std::optional<Evaluation> measure_held(Gpu& gpu, EvaluationJob& job);
  Evaluation measure_rebuilt(Gpu& gpu, EvaluationJob& job);
  struct Judgement {
    std::optional<Evaluation> verdict;  ///< nullopt: no time.
    bool sure = false;                  ///< It is about the code; else about the GPU or the original.
  };
  /// What judge_by_length() puts a job off for: the candidate's formula, and bounds of the recorded launches.
  void find_formula(const EvaluationJob& job);
  /// By a process that lives, started if need be. One that ended in an experiment on the original, or without an
  /// answer, may not have ended by the code's doing: another one judges it again. EXPECTS: gpu.busy is held.
  Judgement judge(Gpu& gpu, const RunnableCode& code, const Inquiry& inquiry);
  /// The same of a job's candidate, as `image`, and what LengthJudgement makes of that: of a screening only if the
  /// candidate may be faster than the best so far; it is put off until its formula is known, as no GPU is needed for
  /// that.
  Judgement judge_by_length(Gpu& gpu, EvaluationJob& job, const std::string& image, Inquiry inquiry);
  /// Screened, unless equal code was before. EXPECTS: gpu.busy is held.
  Evaluation race(Gpu& gpu, EvaluationJob& job, const std::string& image, Against against,
                  std::optional<Deadline> deadline = {});
  /// Where the original is concerned, nothing has to be run.
  Verdict original_verdict(const Gpu& gpu) const;
  void label(const EvaluationJob& job, Verdict& verdict) const;

  std::optional<Evaluation> confirm_until(const Candidate& candidate, std::optional<Deadline> deadline);
  /// A fresh process for finalists, which measures the original anew, if the deadline leaves time for that.
  void refresh(Gpu& gpu, std::optional<Deadline> deadline);
  /// The finalist as a patch of the source gives it to the application, and as embedding our image of it would.
  std::optional<Evaluation> confirm_patch(Gpu& gpu, EvaluationJob& job, const Inquiry& inquiry);
  /// One whose recipe the application's compiler does not have.
  std::optional<Evaluation> confirm_embedded(Gpu& gpu, EvaluationJob& job, Inquiry inquiry);
  /// What gains over clang's build of the original gains nothing for the application where that is the slower one, and
  /// it must not outrank candidates that were raced against what the application runs: it has the gain that its own
  /// time gives over that.
  static void claim_no_more_than_embedded(const BaselineReport& original, Verdict& verdict);
  static void add_embedded_figures(const Evaluation& raced, Verdict& verdict);
  /// Into Verdict::by_clang: of a race between two of clang's builds.
  static void note_clang_figures(const Evaluation& raced, Verdict& verdict);
  void add_clang_figures(Gpu& gpu, EvaluationJob& job, Verdict& verdict, std::optional<Deadline> deadline = {});

  Mep mep_;
  std::filesystem::path folder_;
  EvaluatorOptions options_;
  DeviceFacts facts_;
  SharedEra era_;
  CompiledBaseline baseline_;
  std::unique_ptr<SizeComparison> size_comparison_;
  std::unique_ptr<ProcessorCheck> processor_check_;
  std::optional<DeviceSanitizer> sanitizer_;         ///< Made when it is first asked for.
  std::future<ProcessorCheck::Said> beside_;         ///< Of the last finalist that the GPU refused.
  Laps laps_;                                        ///< Of a confirmation.
  std::string late_;                                 ///< why_late().
  std::optional<LengthJudgement> length_judgement_;  ///< Known once prepare() is done.
  Original original_;
  Hash original_key_;
  std::optional<AsBuilt> as_built_;  ///< Known once prepare() is done.
  std::string only_as_built_;
  std::unique_ptr<ForkServer> runners_;
  /// Of the last calibration and confirmation; expected of one that has not been made; of its first; of a process that
  /// opens the GPU.
  std::atomic<double> calibration_seconds_ = 0, confirm_seconds_ = 0, expected_seconds_ = 0, own_seconds_ = 0,
                      perturbing_seconds_ = 0, opening_seconds_ = 0;
  std::vector<std::unique_ptr<Gpu>> gpus_;

  mutable std::mutex mutex_;  ///< Guards what follows.
  std::map<std::pair<Against, Hash>, Verdict> measured_;
  BuildChoice choice_;
  double best_ = 1;                         ///< Of all that were raced against the application's code.
  std::unique_ptr<EvaluationQueue> queue_;  ///< Goes first: its threads use all of the above.
};

}  // namespace kernelift::sandbox
