// The CudaEvaluator's finalists: confirmed, with what else is asked of them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sandbox/evaluate/cuda/cuda_evaluator.h"
#include "sandbox/evaluate/runner/perturbed_inputs.h"

namespace kernelift::sandbox {
namespace {

/// nullptr: there was no time, or it was not judged.
Verdict* verdict_in(std::optional<Evaluation>& answer) { return answer ? std::get_if<Verdict>(&*answer) : nullptr; }

}  // namespace

std::optional<Evaluation> CudaEvaluator::confirm_patch(Gpu& gpu, EvaluationJob& job, const Inquiry& inquiry) {
  auto note = [](Verdict& verdict, const std::string& what) {
    verdict.detail = what + (verdict.detail.empty() ? "" : ": " + verdict.detail);
  };
  Inquiry applied = inquiry;
  applied.against_application = knows_application(gpu);
  std::optional<Evaluation> answer;
  bool built = applied.against_application && as_built_->builds();
  if (built) {
    answer = job.rebuilt.ok() ? judge_by_length(gpu, job, job.rebuilt.image, applied).verdict : rejected(job.rebuilt);
    // Its process may have had to be replaced by one that cannot tell.
    built = applied.against_application = knows_application(gpu);
    if (auto* verdict = verdict_in(answer); built && verdict)
      note(*verdict, "as built by " + as_built_->compiler()), verdict->built_by = BuiltBy::Application;
  }
  if (!built) {
    std::string why = as_built_->trouble().empty() ? gpu.report.application_trouble : as_built_->trouble();
    if (!only_as_built_.empty()) return not_confirmable(why);
    answer = judge_by_length(gpu, job, job.compiled.image, inquiry).verdict;
    auto* verdict = verdict_in(answer);
    if (verdict && knows_application(gpu)) claim_no_more_than_embedded(gpu.report, *verdict);
    if (verdict) note(*verdict, "not confirmed as the application's own compiler builds it: " + why);
  }
  // Where our compiler gains more from the same source than the application's, its image can be embedded instead.
  auto* verdict = verdict_in(answer);
  if (verdict && applied.against_application && only_as_built_.empty())
    if (auto embedded = judge_by_length(gpu, job, job.compiled.image, applied).verdict)
      add_embedded_figures(*embedded, *verdict);
  return answer;
}

std::optional<Evaluation> CudaEvaluator::confirm_embedded(Gpu& gpu, EvaluationJob& job, Inquiry inquiry) {
  inquiry.against_application = knows_application(gpu);
  auto answer = judge_by_length(gpu, job, job.compiled.image, inquiry).verdict;
  if (inquiry.against_application && !knows_application(gpu)) {
    inquiry.against_application = false;
    answer = judge_by_length(gpu, job, job.compiled.image, inquiry).verdict;
  }
  auto* verdict = verdict_in(answer);
  if (!verdict || !inquiry.against_application) return answer;
  add_embedded_figures(*verdict, *verdict);
  verdict->detail = "built by clang, against the original as the application was built" +
                    (verdict->detail.empty() ? "" : ": " + verdict->detail);
  return answer;
}

void CudaEvaluator::refresh(Gpu& gpu, std::optional<Deadline> deadline) {
  if (gpu.ready()) return;
  const bool usable = gpu.alive() && gpu.report.judges();
  // If measuring the original would use up the finalist's time, the existing calibration is kept.
  const double left = deadline ? std::chrono::duration<double>(*deadline - Deadline::clock::now()).count() : 0;
  if (usable && deadline && left < calibration_seconds_ + perturbing_seconds_ + expected_seconds_ / 2) return;
  (void)start_process(gpu);  // judge() tries again, and says what is wrong.
  gpu.fresh = true;
}

std::optional<Evaluation> CudaEvaluator::confirm_until(const Candidate& candidate, std::optional<Deadline> deadline) {
  bool patch = candidate.recipe.of_application();
  laps_ = {};
  EvaluationJob job = patch || only_as_built_.empty() ? queue_->compile(candidate) : refused_recipe(candidate);
  if (!job.compiled.ok()) return queue_->finished(job, rejected(job.compiled));
  auto begin = Deadline::clock::now();
  laps_.end("compiling");
  if (patch && as_built_->builds()) job.rebuilt = as_built_->build(candidate);
  auto built = Deadline::clock::now();
  laps_.end("building by " + as_built_->compiler());
  Inquiry inquiry;
  inquiry.confirm = true, inquiry.deadline = deadline;
  inquiry.era = job.era = SharedEra::kAlways;
  const legality::Bounds bounds = SizeComparison::bounds_of_finalist(deadline);
  inquiry.sizes = size_comparison_->sizes_to_run(candidate, bounds);
  laps_.end("comparing at other sizes");
  // This machine's processor looks at it while the GPU does.
  auto said =
      std::async(std::launch::async, [this, candidate, compiled = job.compiled, sizes = inquiry.sizes, deadline] {
        return processor_check_->said(candidate, compiled, sizes, deadline);
      });
  Gpu& gpu = *gpus_[0];
  std::lock_guard one_at_a_time(gpu.busy);
  refresh(gpu, deadline);
  laps_.end("measuring the original");
  begin +=
      Deadline::clock::now() - built;  // A process's start is counted apart: whether it is needed is not known before.
  auto answer = patch ? confirm_patch(gpu, job, inquiry) : confirm_embedded(gpu, job, inquiry);
  laps_.end("formulas");
  auto* verdict = verdict_in(answer);
  if (verdict && gpu.alive()) add_clang_figures(gpu, job, *verdict, deadline);
  if (verdict && verdict->ok()) answer = ProcessorCheck::with(std::move(*answer), said.get());
  else beside_ = std::move(said);  // Nobody needs to wait for it.
  laps_.end("check mode and formulas on this machine's processor");
  const double seconds = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  confirm_seconds_ = answer ? seconds : std::max(confirm_seconds_.load(), seconds);  // It would have taken longer.
  if (answer) answer = size_comparison_->confirmed(std::move(*answer), candidate, bounds);
  laps_.end("comparing for all sizes");
  const bool late = deadline && Deadline::clock::now() > *deadline;
  late_ = answer && !late ? "" : laps_.text();
  if (!answer) return std::nullopt;
  return queue_->finished(job, std::move(*answer));
}

std::optional<Evaluation> CudaEvaluator::judge_original() {
  Gpu& gpu = *gpus_[0];
  std::lock_guard one_at_a_time(gpu.busy);
  Inquiry inquiry;
  inquiry.era = SharedEra::kAlways;
  return judge(gpu, runnable_code({}, original_.code.image), inquiry).verdict;
}

Evaluation CudaEvaluator::with_checks(Evaluation evaluation, const Candidate& candidate) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok()) return evaluation;
  const EvaluationJob job = queue_->compile(candidate);
  return with_bounded_texts(processor_check_->judged(std::move(evaluation), candidate, job.compiled));
}

Evaluation CudaEvaluator::with_formulas(Evaluation evaluation, const Candidate& candidate) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok()) return evaluation;
  const EvaluationJob job = queue_->compile(candidate);
  return with_bounded_texts(processor_check_->with_formulas(std::move(evaluation), candidate, job.compiled));
}

Evaluation CudaEvaluator::with_sanitizers(Evaluation evaluation, const Candidate& candidate, BuiltBy built_by) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  const auto program = find_compute_sanitizer();
  if (!verdict || !verdict->ok() || !program) return evaluation;
  const EvaluationJob job = queue_->compile(candidate);
  CompileReply reply = job.compiled;
  if (built_by == BuiltBy::Application && as_built_->builds()) reply = as_built_->build(candidate);
  if (!reply.ok()) return evaluation;
  Gpu& gpu = *gpus_[0];
  std::lock_guard one_at_a_time(gpu.busy);
  if (!sanitizer_) sanitizer_.emplace(sanitized_launches(*program, mep_, folder_, gpu.ordinal));
  evaluation =
      sanitizer_->judged(*verdict, runnable_code(candidate, reply.image), runnable_code({}, original_.code.image));
  return with_bounded_texts(std::move(evaluation));
}

Evaluation CudaEvaluator::confirm(const Candidate& candidate) {
  return confirm_until(candidate, std::nullopt).value_or(abandoned());
}

std::optional<Evaluation> CudaEvaluator::confirm_by(const Candidate& candidate,
                                                    std::chrono::steady_clock::time_point deadline) {
  return confirm_until(candidate, deadline);
}

ConfirmCost CudaEvaluator::confirm_cost() const {
  // Before there was one: the launches of two verdicts, as the application would have it patched and embedded; and, as
  // a guess, all else, a build by its compiler above all.
  constexpr double kGuessSeconds = 4, kVerdicts = 2, kMostlyLaunches = 10;
  // For a finalist that is held to the error bounds of the original's sums: those of perturbed inputs, and about as
  // long for other sizes.
  constexpr double kOfSizes = 1;
  const size_t perturbed = PerturbedInputs::kKinds * std::min(mep_.instances.size(), PerturbedInputs::kMostInstances);
  const double rounds =
      std::ceil(static_cast<double>(perturbed) / static_cast<double>(processor_check_->answers_at_once()));
  ConfirmCost cost;
  if (!gpus_[0]->fresh) cost.once = calibration_seconds_ + (gpus_[0]->has_spare ? 0 : opening_seconds_.load());
  if (const double known = confirm_seconds_; known > 0) {
    cost.each = known;
    return cost;
  }
  const double launches = kVerdicts * expected_seconds_;
  cost.each = kGuessSeconds + launches;
  if (launches > kGuessSeconds) cost.own = kVerdicts * own_seconds_;
  // Of launches that take much longer than all else it is known how long they take.
  cost.guessed = launches < kMostlyLaunches;
  cost.first = perturbing_seconds_.load() + (rounds + kOfSizes) * processor_check_->bounds_seconds();
  return cost;
}

}  // namespace kernelift::sandbox
