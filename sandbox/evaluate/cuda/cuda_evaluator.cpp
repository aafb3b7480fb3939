// See cuda_evaluator.h.
#include "sandbox/evaluate/cuda/cuda_evaluator.h"

#include <algorithm>
#include <utility>

#include "core/toolchain/cubin.h"
#include "sandbox/device/cuda/counters/kernel_trace.h"
#include "sandbox/device/cuda/counters/profile.h"

namespace kernelift::sandbox {
namespace {

/// Of the search's time, for candidates that are refused by the derived tolerance though they may be the fastest.
constexpr double kShareOfDeviceLength = 0.25;

/// Candidates at a time whose formula is asked for, in turn; and for how long each.
constexpr size_t kMostPutOff = 24;
constexpr std::chrono::seconds kLongestQuestion{10};
constexpr unsigned kManyProcessors = 4;  // One of them is not missed by the search.

std::optional<RaceFigures> figures_of(const Evaluation& raced) {
  auto* verdict = std::get_if<Verdict>(&raced);
  if (!verdict || !verdict->ok() || verdict->timings.empty()) return std::nullopt;
  const Timing& first = verdict->timings[0];
  return RaceFigures{verdict->speedup(), verdict->speedup_low(), first.seconds, first.baseline_seconds};
}

}  // namespace

RunnerSettings runner_settings(const EvaluatorOptions& options) {
  RunnerSettings settings;
  settings.launch_limit = options.launch_limit;
  settings.cold = options.cold;
  settings.deadline = options.deadline, settings.begun = options.begun;
  settings.race.most_rounds = options.most_rounds;
  settings.tolerance = options.tolerance;
  return settings;
}

Result<int> cuda_ordinal(const std::string& device) {
  if (device == "cuda" || device == "auto") return -1;
  if (device.starts_with("cuda:") && device.size() > 5 &&
      device.find_first_not_of("0123456789", 5) == std::string::npos && device.size() < 10)
    return std::stoi(device.substr(5));
  return usage_error("'" + device + "' is not a device (auto, cpu, cuda, cuda:0, cuda:1 …)");
}

CudaDeviceOptions device_options(const Mep& mep) {
  CudaDeviceOptions device;
  for (auto& instance : mep.instances) {
    device.stack_bytes = std::max(device.stack_bytes, instance.settings.stack_limit);
    device.heap_bytes = std::max(device.heap_bytes, instance.settings.heap_limit);
    device.printf_bytes = std::max(device.printf_bytes, instance.settings.printf_limit);
    for (auto& region : instance.regions)
      if (region.kind != MemoryKind::Texture) device.wanted.push_back({region.address, region.address + region.size});
  }
  return device;
}

Result<std::unique_ptr<ForkServer>> cuda_runners(const Mep& mep, const std::filesystem::path& folder,
                                                 const RunnerSettings& settings) {
  auto open = [device = device_options(mep)](int ordinal) {
    CudaDeviceOptions options = device;
    options.alone = ordinal >= 0;
    options.ordinal = std::max(ordinal, 0);
    return open_cuda_device(options);
  };
  return RunnerProcess::fork_server(mep, std::filesystem::absolute(folder), settings,
                                    {.device = open, .profile = profile_launch, .trace = trace_kernel});
}

Result<OpenedGpu> open_gpu(const std::string& device, const Mep& mep, const std::filesystem::path& folder,
                           const RunnerSettings& settings, bool all_of_model, const GpuRunners& runners) {
  OpenedGpu gpu;
  KERNELIFT_ASSIGN(gpu.wanted, cuda_ordinal(device));
  // The fork server is forked while this process is still small.
  KERNELIFT_ASSIGN(gpu.runners, runners(mep, folder, settings));
  KERNELIFT_ASSIGN(gpu.process, RunnerProcess::open(*gpu.runners, all_of_model ? gpu.wanted : gpu.ordinal()));
  return gpu;
}

std::string recorded_code(const Mep& mep, const std::filesystem::path& folder, const std::string& arch) {
  for (auto& instance : mep.instances) {
    if (instance.code.empty() || "sm_" + std::to_string(instance.settings.binary_version) != arch) continue;
    auto bytes = Mep::load(folder, instance.code);
    if (!bytes.ok()) continue;
    std::string image(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (is_cubin(image)) return image;
  }
  return {};
}

Result<std::unique_ptr<Evaluator>> CudaEvaluator::create(const Mep& mep, const std::filesystem::path& folder,
                                                         const EvaluatorOptions& options, OpenedGpu opened) {
  std::unique_ptr<CudaEvaluator> evaluator(new CudaEvaluator(mep, folder, options));
  KERNELIFT_TRY(evaluator->prepare(std::move(opened)));
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

Status CudaEvaluator::prepare(OpenedGpu opened) {
  if (!era_.now()) return environment_error("not enough memory to start the processes that measure");
  runners_ = std::move(opened.runners);
  facts_ = opened.process->facts();
  gpus_.push_back(std::make_unique<Gpu>());
  gpus_[0]->ordinal = opened.ordinal();
  for (int ordinal : facts_.same_model) {
    if (opened.wanted >= 0 || ordinal == 0) continue;
    gpus_.push_back(std::make_unique<Gpu>());
    gpus_.back()->ordinal = ordinal;
  }
  CompilePoolOptions pool;
  pool.target = CompileTarget::Cubin;
  pool.workers = options_.compile_workers;
  pool.time_limit = options_.compile_limit;
  pool.few = options_.few_candidates;
  pool.frontend.arch = facts_.arch;
  Laps laps;
  KERNELIFT_ASSIGN(baseline_, compile_baseline(mep_, folder_, pool));
  laps.end("compiling it");
  RunnerSettings checking = runner_settings(options_);
  checking.era = era_.now();
  processor_check_ = std::make_unique<ProcessorCheck>(mep_, folder_, checking, baseline_);
  length_judgement_.emplace(options_.tolerance.value_or(mep_.tolerance), kShareOfDeviceLength);
  add_roundings(mep_, baseline_, true);
  laps.end("compiling it to round otherwise");
  size_comparison_ = std::make_unique<SizeComparison>(mep_, *baseline_.pool, baseline_.source, options_.size_seed);
  as_built_.emplace(mep_, facts_.arch, baseline_.source, recorded_code(mep_, folder_, facts_.arch),
                    recorded_data(folder_));
  original_ = {runnable_code({}, baseline_.reply.image), baseline_.roundings.ways, as_built_->application(),
               options_.tell, baseline_.roundings.at_random};
  original_key_ = code_key({}, baseline_.reply.image);
  original_.begins_search = true;
  laps.end("preparing to build as the application is built");
  if (Status started = start_process(*gpus_[0], std::move(opened.process)); !started.ok()) {
    laps.end("placing what was recorded");
    return late(options_, laps, std::move(started).error());
  }
  laps.end_with(gpus_[0]->process->laps(), "waiting for its process");
  original_.begins_search = false;
  if (gpus_[0]->report.application_alone) KERNELIFT_TRY(use_nvcc_baseline());
  keep_calibrated(folder_, mep_, facts_.label, only_as_built_.empty() ? "clang" : as_built_->compiler(),
                  gpus_[0]->report, options_.cold, gpus_[0]->process->notes());
  if (!gpus_[0]->report.pass())
    return answer_is_no("the original kernel does not reproduce its capture, so no candidate could be judged: " +
                        gpus_[0]->report.complaint());
  if (!gpus_[0]->report.judges()) return refused("candidates could not be judged: " + gpus_[0]->report.unverifiable);
  start_spare(*gpus_[0]);
  EvaluationQueue::Hooks hooks;
  hooks.source = baseline_.source, hooks.original = baseline_.reply;
  for (auto& gpu : gpus_)
    hooks.measurers.push_back([this, gpu = gpu.get()](EvaluationJob& job) { return measure(*gpu, job); });
  hooks.label = [this](const EvaluationJob& job, Verdict& verdict) { label(job, verdict); };
  hooks.era_began = [this](uint64_t era) { era_.now()->store(era); };
  hooks.rebuild = [this](const Candidate& candidate) { return as_built_->build(candidate); };
  hooks.answer = [this](const EvaluationJob& job) { find_formula(job); };
  tell_beginning(options_, laps);
  hooks.rebuilders = rebuilders(), hooks.rebuild_all = !only_as_built_.empty();
  queue_ = std::make_unique<EvaluationQueue>(*baseline_.pool, std::move(hooks));
  return done();
}

Status CudaEvaluator::use_nvcc_baseline() {
  Gpu& gpu = *gpus_[0];
  std::string by_clang = gpu.report.complaint();
  Candidate original;
  original.source = baseline_.source;
  CompileReply own;
  if (as_built_->builds()) own = as_built_->build(original);
  if (!as_built_->builds())
    return answer_is_no(only_by_nvcc(by_clang) + "; but nothing can be built so: " + as_built_->trouble());
  if (!own.ok()) return answer_is_no(only_by_nvcc(by_clang) + "; but nothing can be built so: " + own.detail);
  original_.code.image = own.image, original_key_ = code_key({}, own.image);
  original_.at_random.clear();  // clang's.
  KERNELIFT_TRY(start_process(gpu, std::move(gpu.process)));
  if (!gpu.report.pass())
    return answer_is_no("the original's source reproduces its capture neither as clang builds it (" + by_clang +
                        ") nor as " + as_built_->compiler() +
                        " does, so no candidate could be judged: " + gpu.report.complaint());
  only_as_built_ = only_by_nvcc(by_clang), options_.as_built = true;
  return done();
}

Status CudaEvaluator::start_process(Gpu& gpu, std::unique_ptr<RunnerProcess> opened) {
  gpu.process.reset();  // Its memory is needed by the next one.
  if (!opened && gpu.spare.valid()) {
    auto spare = gpu.spare.get();
    gpu.has_spare = false;
    if (spare.ok() && (*spare)->alive()) opened = std::move(*spare);
  }
  auto begin = Deadline::clock::now();
  RunnerStart with;
  with.opened = std::move(opened), with.deadline = options_.deadline;
  with.lengths = [this](const std::vector<LengthQuestion>& all) { return processor_check_->length_bounds(all); };
  with.why_no_reference = [this](const SizedInstance& sized) { return processor_check_->why_no_reference(sized); };
  KERNELIFT_ASSIGN(gpu.process, RunnerProcess::start(*runners_, gpu.ordinal, original_, options_.cold, gpu.fatal,
                                                     gpu.report, std::move(with)));
  calibration_seconds_ = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  expected_seconds_ = gpu.report.confirmation_seconds, own_seconds_ = gpu.report.own_seconds;
  perturbing_seconds_ = gpu.report.perturbing_seconds;
  return done();
}

void CudaEvaluator::start_spare(Gpu& gpu) {
  // The driver's own memory for it must not be missed: inputs, what is given and answers lie on the GPU.
  constexpr uint64_t kImages = 3, kOwn = 2ull << 30;
  uint64_t recorded = 0;
  for (auto& instance : mep_.instances) recorded += instance.region_bytes();
  if (gpu.spare.valid() || kImages * recorded + kOwn > facts_.memory_bytes) return;
  gpu.spare = std::async(std::launch::async, [this, &gpu] {
    const auto begin = Deadline::clock::now();
    auto opened = RunnerProcess::open(*runners_, gpu.ordinal, {}, options_.deadline);
    opening_seconds_ = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
    gpu.has_spare = opened.ok();
    return opened;
  });
}

unsigned CudaEvaluator::rebuilders() const {
  unsigned cores = only_as_built_.empty() ? baseline_.pool->workers() / 2 : baseline_.pool->workers();
  return options_.as_built && as_built_->builds() ? std::max(1u, cores) : 0;
}

int CudaEvaluator::parallelism() const {
  // Who waits for the slower compiler must not keep the others from being tried.
  constexpr unsigned kWaitingEach = 3;
  const size_t waiting = kWaitingEach * rebuilders() + (queue_ ? queue_->put_off() : 0);
  return static_cast<int>(2 * baseline_.pool->workers() + gpus_.size() + waiting);
}

EvaluationJob CudaEvaluator::refused_recipe(const Candidate& candidate) const {
  EvaluationJob job;
  job.candidate = candidate;
  job.compiled.outcome = Outcome::Refused, job.compiled.detail = "a recipe is clang's to follow, but " + only_as_built_;
  return job;
}

std::future<Evaluation> CudaEvaluator::submit(Candidate candidate) {
  if (only_as_built_.empty() || candidate.recipe.of_application()) return queue_->submit(std::move(candidate));
  EvaluationJob job = refused_recipe(candidate);
  std::promise<Evaluation> answer;
  answer.set_value(queue_->finished(job, rejected(job.compiled)));
  return answer.get_future();
}

Evaluation CudaEvaluator::verify(const Candidate& candidate) {
  if (!only_as_built_.empty()) return submit(candidate).get();  // The slower compiler is the queue's.
  EvaluationJob job = queue_->compile(candidate);
  if (!job.compiled.ok()) return queue_->finished(job, rejected(job.compiled));
  Gpu& gpu = *gpus_[0];
  std::lock_guard one_at_a_time(gpu.busy);
  Inquiry inquiry;
  inquiry.untimed = true, inquiry.era = job.era = SharedEra::kAlways;
  auto judgement = judge_by_length(gpu, job, job.compiled.image, inquiry);
  return queue_->finished(job, judgement.verdict ? std::move(*judgement.verdict) : abandoned());
}

void CudaEvaluator::abandon() {
  queue_->abandon();
  size_comparison_->abandon();
}

void CudaEvaluator::forget_rivals() {
  std::lock_guard lock(mutex_);
  best_ = 1, choice_ = {};
}

void CudaEvaluator::label(const EvaluationJob& job, Verdict& verdict) const {
  verdict.device = facts_.label, verdict.tolerance = options_.tolerance.value_or(mep_.tolerance).relative;
  bool rebuilt = !job.rebuilt.image.empty();
  if (!rebuilt)
    for (auto& kernel : job.compiled.kernels)
      verdict.image.spill_bytes = verdict.image.spill_bytes.value_or(0) + kernel.spill_bytes;
  if (!job.compiled.ok()) return;
  verdict.image.identity = ImageIdentity::of(rebuilt ? job.rebuilt.image : job.compiled.image);
  verdict.image.clang_identity = ImageIdentity::of(job.compiled.image);
}

bool CudaEvaluator::is_original(const Candidate& candidate) const {
  return candidate.source == baseline_.source && candidate.recipe.is_default() && candidate.launches.empty() &&
         candidate.scratch.empty();
}

Verdict CudaEvaluator::original_verdict(const Gpu& gpu) const {
  Verdict verdict = same_as_original(gpu.report, options_.cold);
  if (!options_.as_built || !knows_application(gpu)) return verdict;
  for (auto& timing : verdict.timings)
    for (auto& instance : gpu.report.instances)
      if (instance.id == timing.instance) timing.baseline_seconds = timing.seconds = instance.application_seconds;
  return verdict;
}

CudaEvaluator::Judgement CudaEvaluator::judge(Gpu& gpu, const RunnableCode& code, const Inquiry& inquiry) {
  for (bool died_silently = false;;) {
    Status ready = done();
    if (!gpu.alive()) ready = start_process(gpu), start_spare(gpu);
    if (!ready.ok()) return {not_confirmable(ready.error().message), false};
    if (!gpu.report.judges()) return {not_confirmable(no_longer_reproduced(gpu.report)), false};
    // A process that took another's place may not know it: whoever asks must look again.
    if (inquiry.against_application && !knows_application(gpu))
      return {not_confirmable(gpu.report.application_trouble), false};
    auto verdict = gpu.process->evaluate(code, inquiry);
    if (inquiry.confirm) laps_.end_with(gpu.process->laps(), "waiting for the GPU's process");
    if (!verdict || gpu.process->alive()) return {verdict, verdict.has_value()};
    // Each experiment ends one process at most, so this comes to an end.
    std::string experiment = gpu.process->experiment();
    bool again = experiment.empty() ? !gpu.process->answered() && !std::exchange(died_silently, true)
                                    : gpu.fatal.insert(experiment).second;
    if (!again) return {verdict, true};
  }
}

CudaEvaluator::Judgement CudaEvaluator::judge_by_length(Gpu& gpu, EvaluationJob& job, const std::string& image,
                                                        Inquiry inquiry) {
  const RunnableCode code = runnable_code(job.candidate, image);
  Judgement judgement = judge(gpu, code, inquiry);
  const bool asks = judgement.sure && gpu.alive() && job.compiled.ok();
  const bool timed = !inquiry.confirm && !inquiry.untimed;
  if (!asks || (timed && gpu.process->promise() <= 0)) return judgement;
  LengthJudgement::Ask ask;
  const bool known = processor_check_->knows_formula(job.candidate, job.compiled);
  // Its answer would change nothing.
  const std::string no_bounds = processor_check_->no_length_bounds();
  ask.known = known || job.answered || !no_bounds.empty();
  if (timed && !ask.known && queue_->put_off() < kMostPutOff && length_judgement_->would_ask(judgement.verdict)) {
    job.put_off = true, job.may_gain = gpu.process->promise();
    return judgement;
  }
  ask.formula = [&](Deadline until) {
    FieldEquality unasked;
    if (unasked.why = no_bounds; !unasked.why.empty()) return unasked;
    if (unasked.why = kNoTimeForFormula; job.answered && !known) return unasked;
    return processor_check_->formula(job.candidate, job.compiled, until, inquiry.era);
  };
  ask.again = [&]() -> std::optional<Evaluation> {
    inquiry.held_to_length = true;
    auto again = judge(gpu, code, inquiry);
    return again.sure ? again.verdict : std::nullopt;
  };
  judgement.verdict = length_judgement_->judged(std::move(judgement.verdict), inquiry, ask);
  return judgement;
}

void CudaEvaluator::find_formula(const EvaluationJob& job) {
  const auto until = Deadline::clock::now() + kLongestQuestion;
  const FieldEquality field = processor_check_->formula(job.candidate, job.compiled, until, job.era);
  if (field.found == FieldEquality::Found::Equal) processor_check_->find_recorded_bounds(until, job.era);
}

Evaluation CudaEvaluator::race(Gpu& gpu, EvaluationJob& job, const std::string& image, Against against,
                               std::optional<Deadline> deadline) {
  const Candidate& candidate = job.candidate;
  std::pair key{against, code_key(candidate, image)};
  Inquiry inquiry;
  inquiry.against_application = against == Against::Application, inquiry.deadline = deadline;
  inquiry.era = job.era;
  {
    std::lock_guard lock(mutex_);
    if (options_.share_measurements) {
      if (key == std::pair{Against::Clang, original_key_}) return same_as_original(gpu.report, options_.cold);
      if (auto known = measured_.find(key); known != measured_.end()) return known->second;
    }
    // Who is raced against clang's original may yet be built otherwise, so it is not given up too early.
    if (against == Against::Application)
      inquiry.rival = candidate.recipe.of_application() ? choice_.best_built() : best_;
    else inquiry.rival = rebuilders() > 0 ? choice_.bar() : choice_.best_screened();
  }
  auto [answer, sure] = judge_by_length(gpu, job, image, inquiry);
  Evaluation evaluation = answer.value_or(abandoned());
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (job.put_off) return evaluation;
  // What was abandoned may have been refused for lack of time.
  if (!sure || !verdict || era_.now()->load() > job.era) return evaluation;
  std::lock_guard lock(mutex_);
  measured_[key] = *verdict;
  double low = verdict->speedup_low();
  if (against == Against::Application) best_ = std::max(best_, low);
  // Without a second compiler all are raced against clang's original, whatever their recipe.
  if (against == Against::Clang && (candidate.recipe.of_application() || rebuilders() == 0)) choice_.screened(low);
  if (against == Against::Application && candidate.recipe.of_application()) choice_.built(low);
  return evaluation;
}

std::optional<Evaluation> CudaEvaluator::measure(Gpu& gpu, EvaluationJob& job) {
  if (auto wrong = size_comparison_->refuted(job.candidate)) return wrong;
  std::lock_guard one_at_a_time(gpu.busy);
  auto evaluation = measure_held(gpu, job);
  auto* verdict = evaluation ? std::get_if<Verdict>(&*evaluation) : nullptr;
  if (verdict && verdict->ok() && verdict->speedup_low() > 1 && baseline_.pool->workers() >= kManyProcessors)
    processor_check_->check_original_ahead(options_.deadline);
  return job.put_off ? std::nullopt : std::move(evaluation);
}

std::optional<Evaluation> CudaEvaluator::measure_held(Gpu& gpu, EvaluationJob& job) {
  if (!gpu.alive() || !gpu.report.judges()) {
    const Status restarted = start_process(gpu);
    start_spare(gpu);
    if (!restarted.ok() || !gpu.report.judges()) {
      job.measurer_lost = true;
      return not_launched(restarted.ok() ? gpu.report.complaint() : restarted.error().message);
    }
  }
  gpu.fresh = false;
  if (options_.share_measurements && is_original(job.candidate)) return original_verdict(gpu);
  if (job.screened || !only_as_built_.empty()) return measure_rebuilt(gpu, job);
  bool known = options_.as_built && knows_application(gpu);
  // A recipe that the application's compiler does not have: what would be embedded is this very image.
  if (known && !job.candidate.recipe.of_application()) {
    Evaluation raced = race(gpu, job, job.compiled.image, Against::Application);
    if (knows_application(gpu)) return raced;
    known = false;
  }
  Evaluation raced = race(gpu, job, job.compiled.image, Against::Clang);
  auto* right = std::get_if<Verdict>(&raced);
  if (!known || !right || !right->ok()) return raced;
  Verdict verdict = *right;
  double by_clang = verdict.speedup();
  note_clang_figures(raced, verdict);
  claim_no_more_than_embedded(gpu.report, verdict);
  if (!as_built_->builds()) return verdict;
  verdict.built_by = BuiltBy::Clang;
  verdict.detail += (verdict.detail.empty() ? "" : "; ") + ("both built by clang, not by " + as_built_->compiler());
  BuildChoice::Worth worth;
  {
    std::lock_guard lock(mutex_);
    worth = choice_.of(job.candidate, by_clang);
  }
  if (worth == BuildChoice::Worth::No || (worth == BuildChoice::Worth::IfIdle && !queue_->rebuilder_idle()))
    return verdict;
  job.screened = std::move(verdict);
  return std::nullopt;
}

Evaluation CudaEvaluator::measure_rebuilt(Gpu& gpu, EvaluationJob& job) {
  auto untold = [&](const std::string& why) { return job.screened ? Evaluation(*job.screened) : not_launched(why); };
  // A compiler that fails at the original as well says nothing of the candidate, nor does a machine that has no room
  // for it.
  if (!job.rebuilt.ok() && (!as_built_->builds() || !AsBuilt::is_about_source(job.rebuilt)))
    return untold(job.rebuilt.detail);
  Evaluation raced = job.rebuilt.ok() ? race(gpu, job, job.rebuilt.image, Against::Application) : rejected(job.rebuilt);
  if (job.put_off) return raced;
  // It was screened on another GPU, or by a process that has been replaced: here there is nothing to race it against.
  if (!knows_application(gpu)) return untold(gpu.report.application_trouble);
  if (!std::holds_alternative<Verdict>(raced)) return raced;
  Verdict& verdict = std::get<Verdict>(raced);
  verdict.detail = "as built by " + as_built_->compiler() + (verdict.detail.empty() ? "" : ": " + verdict.detail);
  verdict.built_by = BuiltBy::Application;
  add_clang_figures(gpu, job, verdict);
  return raced;
}

void CudaEvaluator::claim_no_more_than_embedded(const BaselineReport& original, Verdict& verdict) {
  for (auto& timing : verdict.timings)
    for (auto& instance : original.instances) {
      if (instance.id != timing.instance || instance.application_seconds <= 0 ||
          instance.application_seconds >= timing.baseline_seconds)
        continue;
      double shorter = instance.application_seconds / timing.baseline_seconds;
      timing.speedup *= shorter, timing.speedup_low *= shorter, timing.speedup_high *= shorter;
      timing.baseline_seconds = instance.application_seconds;
    }
}

void CudaEvaluator::add_clang_figures(Gpu& gpu, EvaluationJob& job, Verdict& verdict,
                                      std::optional<Deadline> deadline) {
  if (!only_as_built_.empty()) return;
  if (!job.screened) return note_clang_figures(race(gpu, job, job.compiled.image, Against::Clang, deadline), verdict);
  verdict.by_clang = job.screened->by_clang;
}

void CudaEvaluator::note_clang_figures(const Evaluation& raced, Verdict& verdict) {
  if (auto figures = figures_of(raced)) verdict.by_clang = figures;
}

void CudaEvaluator::add_embedded_figures(const Evaluation& raced, Verdict& verdict) {
  if (auto figures = figures_of(raced)) verdict.embedded = figures;
}

}  // namespace kernelift::sandbox
