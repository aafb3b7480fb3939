// See cpu_evaluator.h.
#include "sandbox/evaluate/cpu/cpu_evaluator.h"

#include <algorithm>

#include "sandbox/device/confined_cpu/confined_cpu.h"
#include "sandbox/evaluate/cpu/cpu_runners.h"
#include "sandbox/evaluate/cpu/processor_check.h"
#include "sandbox/evaluate/cuda/cuda_evaluator.h"
#include "sandbox/evaluate/device_limits.h"

namespace kernelift::sandbox {

namespace {

/// Safety factor on the duration of a confirmation that calibration estimates.
constexpr double kExpected = 1.5;
/// Of the search's time, for candidates that are refused by the derived tolerance.
constexpr double kShareOfLength = 0.1;

}  // namespace

Result<std::unique_ptr<Evaluator>> CpuEvaluator::create(const Mep& mep, const std::filesystem::path& folder,
                                                        const EvaluatorOptions& options) {
  std::unique_ptr<CpuEvaluator> evaluator(new CpuEvaluator);
  evaluator->options_ = options, evaluator->tolerance_ = options.tolerance.value_or(mep.tolerance).relative;
  evaluator->device_ = cpu_device_label(options.threads);
  evaluator->shared_era_ = std::make_unique<SharedEra>();
  if (!evaluator->shared_era_->now()) return environment_error("not enough memory to start the processes that measure");
  RunnerSettings settings = runner_settings(options);
  settings.era = evaluator->shared_era_->now();
  // The runners' fork server first: it is forked while this process is still small.
  KERNELIFT_ASSIGN(evaluator->runners_, cpu_runners(mep, folder, settings, options.threads));
  CompilePoolOptions pool;
  pool.workers = options.compile_workers;
  pool.time_limit = options.compile_limit;
  pool.few = options.few_candidates;
  Laps laps;
  KERNELIFT_ASSIGN(evaluator->baseline_, compile_baseline(mep, folder, pool));
  laps.end("compiling it");
  add_roundings(mep, evaluator->baseline_, true);
  laps.end("compiling it to round otherwise");
  evaluator->original_ = {runnable_code({}, evaluator->baseline_.reply.image),
                          evaluator->baseline_.roundings.ways,
                          {},
                          options.tell,
                          evaluator->baseline_.roundings.at_random};
  evaluator->original_.code.side_by_side =
      evaluator->baseline_.pool->compile_side_by_side(evaluator->baseline_.source, {}, evaluator->baseline_.reply);
  evaluator->size_comparison_ =
      std::make_unique<SizeComparison>(mep, *evaluator->baseline_.pool, evaluator->baseline_.source, options.size_seed);
  evaluator->length_judgement_.emplace(options.tolerance.value_or(mep.tolerance), kShareOfLength);
  evaluator->field_comparison_ = std::make_unique<FieldComparison>(
      *evaluator->baseline_.pool, evaluator->baseline_.source, evaluator->baseline_.reply);
  evaluator->original_.code.checked =
      evaluator->baseline_.pool->compile_checked(evaluator->baseline_.source, {}, evaluator->baseline_.reply).image;
  evaluator->baseline_key_ = code_key({}, evaluator->baseline_.reply.image);
  evaluator->original_.begins_search = true;
  laps.end("compiling it for other orders and for check mode");
  if (Status started = evaluator->restart_runner(options.deadline); !started.ok()) {
    laps.end("placing what was recorded");
    return late(options, laps, std::move(started).error());
  }
  laps.end_with(evaluator->runner_->laps(), "waiting for its process");
  evaluator->original_.begins_search = false;
  evaluator->limits_ = limits_text(evaluator->runner_->facts());
  keep_calibrated(folder, mep, evaluator->device_, {}, evaluator->report_, options.cold, {});
  if (!evaluator->report_.pass())
    return answer_is_no("the original kernel does not reproduce its capture, so no candidate could be judged: " +
                        evaluator->report_.complaint());
  if (!evaluator->report_.judges())
    return refused("candidates could not be judged: " + evaluator->report_.unverifiable);

  tell_beginning(options, laps);
  EvaluationQueue::Hooks hooks;
  hooks.source = evaluator->baseline_.source, hooks.original = evaluator->baseline_.reply;
  hooks.measurers.push_back([self = evaluator.get()](const EvaluationJob& job) { return self->measure(job); });
  hooks.label = [self = evaluator.get()](const EvaluationJob& job, Verdict& verdict) { self->label(job, verdict); };
  hooks.era_began = [now = evaluator->shared_era_->now()](uint64_t era) { now->store(era); };
  evaluator->queue_ = std::make_unique<EvaluationQueue>(*evaluator->baseline_.pool, std::move(hooks));
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

CpuEvaluator::~CpuEvaluator() = default;

Status CpuEvaluator::restart_runner(std::optional<Deadline> deadline) {
  auto begin = Deadline::clock::now();
  RunnerStart with;
  with.deadline = deadline;
  with.quiet = [pool = baseline_.pool.get()](bool quiet) { quiet ? pool->pause() : pool->resume(); };
  KERNELIFT_ASSIGN(runner_,
                   RunnerProcess::start(*runners_, 0, original_, options_.cold, fatal_, report_, std::move(with)));
  calibration_seconds_ = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  confirmation_seconds_ = kExpected * report_.confirmation_seconds, own_seconds_ = kExpected * report_.own_seconds,
  perturbing_seconds_ = kExpected * report_.perturbing_seconds;
  fresh_ = true, finalist_judged_ = false;
  return done();
}

std::string CpuEvaluator::restarted(std::optional<Deadline> deadline) {
  Status ready = restart_runner(deadline);
  return ready.ok() ? report_.complaint() : ready.error().message;
}

bool CpuEvaluator::is_ready() const { return runner_ && runner_->alive() && report_.judges(); }

std::string CpuEvaluator::made_ready() { return is_ready() ? std::string() : restarted(); }

int CpuEvaluator::parallelism() const { return static_cast<int>(baseline_.pool->workers()) + 1; }

std::future<Evaluation> CpuEvaluator::submit(Candidate candidate) { return queue_->submit(std::move(candidate)); }

Evaluation CpuEvaluator::verify(const Candidate& candidate) {
  EvaluationJob job = queue_->compile(candidate);
  if (!job.compiled.ok()) return queue_->finished(job, rejected(job.compiled));
  std::lock_guard one_at_a_time(confirming_);
  if (std::string trouble = made_ready(); !trouble.empty()) return not_launched(trouble);
  Inquiry inquiry;
  inquiry.untimed = true, inquiry.era = SharedEra::kAlways;
  auto answer = judge_by_length(job, runnable_code(candidate, job.compiled.image), inquiry);
  return queue_->finished(job, answer ? std::move(*answer) : abandoned());
}

void CpuEvaluator::abandon() {
  queue_->abandon();
  size_comparison_->abandon();
}

void CpuEvaluator::forget_rivals() { best_ = 1, best_applicable_ = 1; }

void CpuEvaluator::label(const EvaluationJob& job, Verdict& verdict) const {
  verdict.device = device_, verdict.tolerance = tolerance_;
  uint64_t code_bytes = 0, fiber_kernels = 0;
  for (auto& kernel : job.compiled.kernels) {
    code_bytes += kernel.code_bytes;
    fiber_kernels += kernel.mode == "fiber";
  }
  if (!job.compiled.ok()) return;
  verdict.image.code_bytes = code_bytes, verdict.image.fiber_kernels = fiber_kernels;
  verdict.image.identity = ImageIdentity::of(job.compiled.image);
}

std::optional<Evaluation> CpuEvaluator::judge(const RunnableCode& code, const Inquiry& inquiry) {
  auto verdict = runner_->evaluate(code, inquiry);
  if (!verdict || runner_->alive()) return verdict;
  if (std::string trouble = restarted(inquiry.deadline); !trouble.empty()) return not_launched(trouble);
  return runner_->evaluate(code, inquiry);
}

std::optional<Evaluation> CpuEvaluator::judge_by_length(const EvaluationJob& job, RunnableCode code, Inquiry inquiry) {
  auto first = judge(code, inquiry);
  if (!runner_->alive()) return first;
  LengthJudgement::Ask ask;
  ask.formula = [&](Deadline until) {
    Inquiry runs = inquiry;
    runs.deadline = until;
    return field_comparison_->compared(
        job.candidate, job.compiled, runs,
        [this](const RunnableCode& image, const Inquiry& asked) { return judge(image, asked); });
  };
  ask.again = [&]() -> std::optional<Evaluation> {
    if (!field_comparison_->add_length_images(code)) return NotJudged{kNoLengthImages};
    inquiry.held_to_length = true;
    return judge(code, inquiry);
  };
  return length_judgement_->judged(std::move(first), inquiry, ask);
}

std::optional<Evaluation> CpuEvaluator::checked(const Candidate& candidate, const CompileReply& own,
                                                const Inquiry& inquiry, Verdict verdict) {
  const Hash key = code_key(candidate, own.image);
  Verdict said;
  // A search checks the recorded inputs alone, a confirmation other sizes as well.
  const bool at_sizes = !inquiry.sizes.launches.empty();
  if (auto known = checks_.find(key); known != checks_.end() && (known->second.at_sizes || !at_sizes)) {
    said = known->second.said;
  } else {
    CompileReply compiled = baseline_.pool->compile_checked(candidate.source, candidate.recipe, own);
    if (compiled.ok()) {
      Inquiry check = inquiry;
      check.check = true;
      auto answer = judge(runnable_code(candidate, compiled.image), check);
      // A finalist that is right is not lost because the time was over.
      if (!answer && inquiry.deadline && Deadline::clock::now() >= *inquiry.deadline)
        return with_check(std::move(verdict), not_checked("there was no time left for it"));
      if (!answer) return std::nullopt;
      auto* given = std::get_if<Verdict>(&*answer);
      if (!given) return answer;
      said = std::move(*given);
      if (said.unreached) said.unreached->read(candidate.source);
    } else {
      said = not_checked("it does not compile for that: " + compiled.detail);
    }
    // What a search had no time for is left to the confirmation.
    if (said.detail.empty() || !said.ok() || inquiry.confirm) checks_[key] = {said, at_sizes};
  }
  return with_check(std::move(verdict), said);
}

Evaluation CpuEvaluator::measure(const EvaluationJob& job) {
  const std::string& image = job.compiled.image;
  Hash key = code_key(job.candidate, image);
  if (auto wrong = size_comparison_->refuted(job.candidate)) return std::move(*wrong);
  std::lock_guard one_at_a_time(confirming_);
  if (options_.share_measurements) {
    if (key == baseline_key_) return same_as_original(report_, options_.cold);
    if (auto known = measured_.find(key); known != measured_.end()) return known->second;
  }
  if (std::string trouble = made_ready(); !trouble.empty()) return not_launched(trouble);
  bool applicable = job.candidate.recipe.of_application();
  Inquiry inquiry;
  inquiry.rival = (applicable ? best_applicable_ : best_).load();
  inquiry.era = job.era;
  const RunnableCode code = runnable_code(job.candidate, image);
  auto answer = judge_by_length(job, code, inquiry);
  fresh_ = false;
  if (!answer) return abandoned();
  auto* verdict = std::get_if<Verdict>(&*answer);
  // Check mode takes longer than all else that a candidate costs.
  if (verdict && verdict->gains()) {
    answer = checked(job.candidate, job.compiled, inquiry, std::move(*verdict));
    if (!answer) return abandoned();
    verdict = std::get_if<Verdict>(&*answer);
  }
  if (!verdict) return std::move(*answer);
  if (runner_->alive()) measured_[key] = *verdict;
  best_ = std::max(best_.load(), verdict->speedup_low());
  if (applicable) best_applicable_ = std::max(best_applicable_.load(), verdict->speedup_low());
  return std::move(*verdict);
}

ConfirmCost CpuEvaluator::confirm_cost() const {
  ConfirmCost cost;
  cost.once = fresh_ ? 0 : calibration_seconds_.load();
  cost.each = slowness_ * confirmation_seconds_, cost.own = slowness_ * own_seconds_;
  cost.first = fresh_ && finalist_judged_ ? 0 : slowness_ * perturbing_seconds_;
  return cost;
}

std::optional<Evaluation> CpuEvaluator::judge_original() {
  std::lock_guard one_at_a_time(confirming_);
  if (std::string trouble = made_ready(); !trouble.empty()) return not_launched(trouble);
  Inquiry inquiry;
  inquiry.era = SharedEra::kAlways;
  return judge(runnable_code({}, baseline_.reply.image), inquiry);
}

Status CpuEvaluator::refresh(std::optional<Deadline> deadline) {
  const bool usable = is_ready();
  if (usable && fresh_) return done();
  // If measuring the original would use up the finalist's time, the existing calibration is kept.
  double left = deadline ? std::chrono::duration<double>(*deadline - Deadline::clock::now()).count() : 0;
  if (usable && deadline && left < kExpected * calibration_seconds_ + perturbing_seconds_ + confirmation_seconds_ / 2)
    return done();
  return restart_runner(deadline);
}

std::optional<Evaluation> CpuEvaluator::confirm_within(const Candidate& candidate, std::optional<Deadline> deadline) {
  EvaluationJob job = queue_->compile(candidate);
  if (!job.compiled.ok()) return queue_->finished(job, rejected(job.compiled));
  std::lock_guard one_at_a_time(confirming_);
  auto over = [&] { return deadline && Deadline::clock::now() >= *deadline; };
  Status ready = refresh(deadline);
  if (!ready.ok() && over()) return std::nullopt;
  if (!ready.ok()) return queue_->finished(job, not_confirmable(ready.error().message));
  if (!report_.judges()) return queue_->finished(job, not_confirmable(no_longer_reproduced(report_)));
  double expected = confirmation_seconds_ + (finalist_judged_ ? 0 : perturbing_seconds_.load());
  auto begin = Deadline::clock::now();
  Inquiry inquiry;
  inquiry.confirm = true, inquiry.deadline = deadline;
  const legality::Bounds bounds = SizeComparison::bounds_of_finalist(deadline);
  inquiry.sizes = size_comparison_->sizes_to_run(candidate, bounds);
  inquiry.era = SharedEra::kAlways;
  RunnableCode code = runnable_code(candidate, job.compiled.image);
  code.side_by_side = baseline_.pool->compile_side_by_side(candidate.source, candidate.recipe, job.compiled);
  auto verdict = judge_by_length(job, code, inquiry);
  if (auto* found = verdict ? std::get_if<Verdict>(&*verdict) : nullptr; found && found->ok())
    verdict = checked(candidate, job.compiled, inquiry, std::move(*found));
  if (verdict) verdict = in_field(std::move(*verdict), job, inquiry);
  finalist_judged_ = true;
  // For a confirmation that its deadline cut short this is a lower bound.
  double took = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  if (expected > 0) slowness_ = std::max<double>(slowness_, took / expected);
  if (!verdict) return std::nullopt;
  return queue_->finished(job, size_comparison_->confirmed(std::move(*verdict), candidate, bounds));
}

Evaluation CpuEvaluator::in_field(Evaluation evaluation, const EvaluationJob& job, const Inquiry& inquiry) {
  return field_comparison_->judged(
      std::move(evaluation), job.candidate, job.compiled, inquiry,
      [this](const RunnableCode& code, const Inquiry& field) { return judge(code, field); });
}

Evaluation CpuEvaluator::with_checks(Evaluation evaluation, const Candidate& candidate) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  // submit() has checked what is faster.
  if (!verdict || !verdict->ok() || verdict->gains()) return evaluation;
  EvaluationJob job = queue_->compile(candidate);
  std::lock_guard one_at_a_time(confirming_);
  if (!job.compiled.ok()) return evaluation;
  if (std::string trouble = made_ready(); !trouble.empty())
    return with_check(std::move(*verdict), not_checked(trouble));
  Inquiry inquiry;
  inquiry.era = SharedEra::kAlways;
  if (auto answer = checked(candidate, job.compiled, inquiry, *verdict)) return std::move(*answer);
  return with_check(std::move(*verdict), not_checked("the process that runs it ended"));
}

void CpuEvaluator::wait_while_timing() const { baseline_.pool->wait_while_paused(); }

Evaluation CpuEvaluator::with_formulas(Evaluation evaluation, const Candidate& candidate) {
  EvaluationJob job = queue_->compile(candidate);
  std::lock_guard one_at_a_time(confirming_);
  if (!job.compiled.ok() || !is_ready()) return evaluation;
  Inquiry inquiry;
  inquiry.era = SharedEra::kAlways;
  return in_field(std::move(evaluation), job, inquiry);
}

Evaluation CpuEvaluator::confirm(const Candidate& candidate) {
  return confirm_within(candidate, {}).value_or(abandoned());
}

std::optional<Evaluation> CpuEvaluator::confirm_by(const Candidate& candidate, Deadline deadline) {
  return confirm_within(candidate, deadline);
}

Result<std::unique_ptr<Evaluator>> make_evaluator(const Mep& mep, const std::filesystem::path& folder,
                                                  const EvaluatorOptions& options) {
  if (options.device.starts_with("hip"))
    return refused("candidates cannot be measured on '" + options.device + "' yet; --device cpu and --device cuda can");
  if (mep.instances.empty())
    return answer_is_no(
        (folder / "mep.json").string() +
        " holds no recorded instance, so there is nothing to measure; record the application and extract again");
  if (std::ranges::all_of(mep.instances, [](auto& instance) { return instance.held_out; }))
    return answer_is_no((folder / "mep.json").string() +
                        " holds no recorded instance to tune on: all are held out for finalists");
  if (!options.allow_weak_jail) KERNELIFT_TRY(require_jail());
  if (options.device != "cpu") {
    auto gpu = open_gpu(options.device, mep, folder, runner_settings(options), true);
    if (gpu.ok()) return CudaEvaluator::create(mep, folder, options, std::move(*gpu));
    if (options.device != "auto") return std::move(gpu).error();
  }
  return CpuEvaluator::create(mep, folder, options);
}

}  // namespace kernelift::sandbox
