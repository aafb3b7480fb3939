// The CUDA device's Evaluator. Candidates become cubins side by side on all cores; each GPU has a runner process that takes
// them one after the other while compilation goes on. Equal code is measured once. Compile workers and runners are forked
// before anything here has touched the driver, which this process never does.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "sandbox/compile/nvcc_image.h"
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/cuda/gpu_process.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift {

/// "cuda", "cuda:1", "auto" → a GPU's ordinal; -1: all alike. An Error for anything else.
Result<int> cuda_ordinal(const std::string& device);
/// Runners of this MEP; opened with ordinal -1 one sees all GPUs and uses the first. They have the stack and heap limits
/// that the MEP was recorded with.
Result<std::unique_ptr<Nursery>> cuda_runners(const Mep& mep, const std::filesystem::path& folder, const GpuRunnerSettings& settings);
/// What the application itself ran, recorded with an instance: machine code that suits `arch`; else empty.
std::string recorded_code(const Mep& mep, const std::filesystem::path& folder, const std::string& arch);

class CudaEvaluator : public Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> create(const Mep& mep, const std::filesystem::path& folder,
                                                   const EvaluatorOptions& options);
  ~CudaEvaluator() override;

  std::future<Verdict> submit(Candidate candidate) override;
  int parallelism() const override;
  void abandon() override;
  Verdict confirm(const Candidate& candidate) override;
  std::optional<Verdict> confirm_by(const Candidate& candidate, std::chrono::steady_clock::time_point deadline) override;
  ConfirmCost confirm_cost() const override;

 private:
  struct Job {
    Candidate candidate;
    std::promise<Verdict> promise;
    CompileReply compiled;
    std::chrono::steady_clock::time_point begun;
    uint64_t era = 0;  ///< Of submission: abandon() begins a new one.
  };
  /// One GPU and who measures on it.
  struct Lane {
    int ordinal = 0;
    std::unique_ptr<GpuProcess> process;
    std::set<std::string> fatal;
    BaselineReport report;
    std::mutex busy;
  };
  CudaEvaluator(const Mep& mep, const std::filesystem::path& folder, const EvaluatorOptions& options)
      : mep_(mep), folder_(folder), options_(options) {}
  Status prepare();
  Status start_lane(Lane& lane, const TrialCode& baseline);
  void compile_jobs();
  void measure_jobs(Lane& lane);
  Verdict measure(Lane& lane, const Candidate& candidate, const CompileReply& compiled);
  void finish(Job& job, Verdict verdict) const;
  Hash code_key(const Candidate& candidate, const std::string& image) const;
  Verdict same_as_baseline(const Lane& lane) const;
  /// The candidate in a fresh process, against `baseline`. nullopt: no time.
  std::optional<Verdict> afresh(Lane& lane, const TrialCode& baseline, const TrialCode& candidate, const Inquiry& inquiry);
  std::optional<Verdict> confirm_until(const Candidate& candidate, std::optional<Deadline> deadline);
  /// As the application's own compiler builds both (DESIGN D8); adds to `verdict` or replaces its figures.
  void confirm_as_built(Lane& lane, const Candidate& candidate, const CompileReply& compiled, const Inquiry& inquiry, Verdict& verdict);
  const std::string& application_baseline();

  Mep mep_;
  std::filesystem::path folder_;
  EvaluatorOptions options_;
  DeviceFacts facts_;
  CompiledBaseline baseline_;
  TrialCode baseline_code_;
  Hash baseline_key_;
  std::unique_ptr<Nursery> runners_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::optional<std::string> application_baseline_;  ///< Asked for once; empty: there is none.
  std::optional<Result<NvccCompiler>> nvcc_;
  std::atomic<double> calibration_seconds_ = 0, confirm_seconds_ = 0, rival_ = 1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Hash, Verdict> measured_;
  std::deque<Job> to_compile_, to_measure_;
  bool closing_ = false;
  uint64_t era_ = 0;
  unsigned compilers_ = 0;  ///< Compiling threads that are still at work.
  std::vector<std::thread> threads_;
};

}  // namespace kernelift
