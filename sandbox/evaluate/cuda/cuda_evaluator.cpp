// See cuda_evaluator.h.
#include "sandbox/evaluate/cuda/cuda_evaluator.h"

#include <algorithm>

#include "sandbox/device/cuda/counters/profile.h"
#include "sandbox/device/cuda/cuda_device.h"
#include "sandbox/device/cuda/cubin_symbols.h"

namespace kernelift {
namespace {


TrialCode trial_code(const Candidate& candidate, const std::string& image) {
  return {image, candidate.launches, candidate.scratch, candidate.values};
}

Verdict abandoned() {
  Verdict verdict;
  verdict.outcome = Outcome::TimedOut, verdict.stage = Stage::Time;
  verdict.detail = "abandoned: the run ended before it was measured";
  return verdict;
}

Verdict rejected(const CompileReply& compiled) {
  Verdict verdict;
  verdict.outcome = compiled.outcome, verdict.stage = compiled.stage, verdict.detail = compiled.detail;
  return verdict;
}

GpuRunnerSettings runner_settings(const EvaluatorOptions& options) {
  GpuRunnerSettings settings;
  settings.launch_limit = options.launch_limit;
  settings.cold = options.cold;
  settings.race.most_rounds = options.most_rounds;
  settings.tolerance = options.tolerance;
  return settings;
}

}  // namespace

Result<int> cuda_ordinal(const std::string& device) {
  if (device == "cuda" || device == "auto") return -1;
  if (device.starts_with("cuda:") && device.size() > 5 && device.find_first_not_of("0123456789", 5) == std::string::npos && device.size() < 10)
    return std::stoi(device.substr(5));
  return usage_error("'" + device + "' is not a device (auto, cpu, cuda, cuda:0, cuda:1 …)");
}

Result<std::unique_ptr<Nursery>> cuda_runners(const Mep& mep, const std::filesystem::path& folder, const GpuRunnerSettings& settings) {
  CudaDeviceOptions device;
  for (auto& instance : mep.instances) {
    device.stack_bytes = std::max(device.stack_bytes, instance.settings.stack_limit);
    device.heap_bytes = std::max(device.heap_bytes, instance.settings.heap_limit);
    device.cache_config = instance.settings.cache_config;
    for (auto& region : instance.regions) device.wanted.push_back({region.address, region.address + region.size});
  }
  auto open = [device](int ordinal) {
    CudaDeviceOptions options = device;
    options.alone = ordinal >= 0;
    options.ordinal = std::max(ordinal, 0);
    return open_cuda_device(options);
  };
  return GpuProcess::nursery(mep, std::filesystem::absolute(folder), settings, {open, profile_launch});
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

Result<std::unique_ptr<Evaluator>> CudaEvaluator::create(const Mep& mep, const std::filesystem::path& folder, const EvaluatorOptions& options) {
  if (mep.instances.empty())
    return answer_is_no((folder / "mep.json").string() +
                        " holds no recorded instance, so there is nothing to measure; record the application and extract again");
  std::unique_ptr<CudaEvaluator> evaluator(new CudaEvaluator(mep, folder, options));
  KERNELIFT_TRY(evaluator->prepare());
  return std::unique_ptr<Evaluator>(std::move(evaluator));
}

Status CudaEvaluator::prepare() {
  KERNELIFT_ASSIGN(int wanted, cuda_ordinal(options_.device));
  // The runner's nursery first: it is forked while this process is still small.
  KERNELIFT_ASSIGN(runners_, cuda_runners(mep_, folder_, runner_settings(options_)));
  auto first = std::make_unique<Lane>();
  first->ordinal = std::max(wanted, 0);
  KERNELIFT_ASSIGN(first->process, GpuProcess::open(*runners_, wanted));
  facts_ = first->process->facts();
  first->process.reset();
  lanes_.push_back(std::move(first));
  for (int twin : facts_.twins) {
    if (wanted >= 0 || twin == 0) continue;
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->ordinal = twin;
  }
  CompilePoolOptions pool;
  pool.target = CompileTarget::Cubin;
  pool.workers = options_.compile_workers;
  pool.time_limit = options_.compile_limit;
  pool.few = options_.few_candidates;
  pool.frontend.arch = facts_.arch;
  KERNELIFT_ASSIGN(baseline_, compile_baseline(mep_, folder_, pool));
  baseline_code_.image = baseline_.reply.image;
  baseline_key_ = code_key({}, baseline_code_.image);
  auto begin = Deadline::clock::now();
  KERNELIFT_TRY(start_lane(*lanes_[0], baseline_code_));
  calibration_seconds_ = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  if (!lanes_[0]->report.pass())
    return answer_is_no("the original kernel does not reproduce its capture, so no candidate could be judged: " + lanes_[0]->report.complaint());
  compilers_ = baseline_.pool->workers();
  for (unsigned i = 0; i < compilers_; ++i) threads_.emplace_back([this] { compile_jobs(); });
  for (auto& lane : lanes_) threads_.emplace_back([this, lane = lane.get()] { measure_jobs(*lane); });
  return done();
}

CudaEvaluator::~CudaEvaluator() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
  // Runners go before the nursery that reaps them.
  lanes_.clear();
}

Status CudaEvaluator::start_lane(Lane& lane, const TrialCode& baseline) {
  lane.process.reset();  // Its memory is needed by the next one.
  KERNELIFT_ASSIGN(lane.process, GpuProcess::start(*runners_, lane.ordinal, baseline, baseline_.roundings, options_.cold, lane.fatal, lane.report));
  return done();
}

int CudaEvaluator::parallelism() const { return static_cast<int>(2 * baseline_.pool->workers() + lanes_.size()); }

std::future<Verdict> CudaEvaluator::submit(Candidate candidate) {
  Job job;
  job.candidate = std::move(candidate);
  job.begun = std::chrono::steady_clock::now();
  auto future = job.promise.get_future();
  std::lock_guard lock(mutex_);
  job.era = era_;
  to_compile_.push_back(std::move(job));
  changed_.notify_all();
  return future;
}

void CudaEvaluator::finish(Job& job, Verdict verdict) const {
  verdict.device = facts_.label;
  verdict.compile_seconds = job.compiled.seconds();
  verdict.evaluate_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - job.begun).count();
  double spills = 0;
  for (auto& kernel : job.compiled.kernels) spills += kernel.spill_bytes;
  if (!job.compiled.kernels.empty()) verdict.counters["spill_bytes"] = spills;
  // Tells which candidates came out as the same machine code; as many bits as a double holds.
  constexpr int kDroppedBits = 12;
  if (job.compiled.ok()) verdict.counters["image_id"] = static_cast<double>(hash_text(job.compiled.image).high >> kDroppedBits);
  job.promise.set_value(std::move(verdict));
}

void CudaEvaluator::compile_jobs() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !to_compile_.empty(); });
      if (to_compile_.empty()) {
        --compilers_;
        changed_.notify_all();
        return;
      }
      job = std::move(to_compile_.front());
      to_compile_.pop_front();
    }
    job.compiled = baseline_.pool->compile(job.candidate.source, job.candidate.recipe);
    if (!job.compiled.ok()) {
      finish(job, rejected(job.compiled));
      continue;
    }
    std::lock_guard lock(mutex_);
    if (job.era != era_) {
      finish(job, abandoned());
      continue;
    }
    to_measure_.push_back(std::move(job));
    changed_.notify_all();
  }
}

void CudaEvaluator::measure_jobs(Lane& lane) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      // Jobs in flight at the end are answered too: a future must never be left broken.
      changed_.wait(lock, [&] { return compilers_ == 0 || !to_measure_.empty(); });
      if (to_measure_.empty()) return;
      job = std::move(to_measure_.front());
      to_measure_.pop_front();
    }
    finish(job, measure(lane, job.candidate, job.compiled));
  }
}

void CudaEvaluator::abandon() {
  std::lock_guard lock(mutex_);
  ++era_;
  for (auto* jobs : {&to_compile_, &to_measure_}) {
    for (auto& job : *jobs) finish(job, abandoned());
    jobs->clear();
  }
}

Hash CudaEvaluator::code_key(const Candidate& candidate, const std::string& image) const {
  Candidate run;  // What is run, without how it came about.
  run.launches = candidate.launches, run.scratch = candidate.scratch;
  if (!candidate.launches.empty() || !candidate.scratch.empty()) run.values = candidate.values;
  run.source = image;
  return run.key();
}

Verdict CudaEvaluator::same_as_baseline(const Lane& lane) const {
  Verdict verdict;
  verdict.stage = Stage::Time;
  verdict.detail = "the same code as the original";
  for (auto& instance : lane.report.instances) {
    if (instance.held_out) continue;
    Timing timing;
    timing.instance = instance.id, timing.weight = instance.weight, timing.cold = options_.cold;
    timing.baseline_seconds = timing.seconds = instance.seconds;
    verdict.timings.push_back(timing);
  }
  return verdict;
}

Verdict CudaEvaluator::measure(Lane& lane, const Candidate& candidate, const CompileReply& compiled) {
  Hash key = code_key(candidate, compiled.image);
  std::lock_guard one_at_a_time(lane.busy);
  if (options_.share_measurements) {
    std::lock_guard lock(mutex_);
    if (key == baseline_key_) return same_as_baseline(*lanes_[0]);
    if (auto known = measured_.find(key); known != measured_.end()) return known->second;
  }
  if (!lane.process || !lane.process->alive())
    if (auto restarted = start_lane(lane, baseline_code_); !restarted.ok() || !lane.report.pass()) {
      Verdict verdict;
      verdict.outcome = Outcome::LaunchFailed, verdict.stage = Stage::Load;
      verdict.detail = restarted.ok() ? lane.report.complaint() : restarted.error().message;
      return verdict;
    }
  Inquiry inquiry;
  inquiry.rival = rival_;
  Verdict verdict = lane.process->evaluate(trial_code(candidate, compiled.image), inquiry).value_or(abandoned());
  if (verdict.ok()) {
    double low = verdict.speedup_low();
    for (double best = rival_; low > best && !rival_.compare_exchange_weak(best, low);) {}
  }
  std::lock_guard lock(mutex_);
  measured_[key] = verdict;
  return verdict;
}

std::optional<Verdict> CudaEvaluator::afresh(Lane& lane, const TrialCode& baseline, const TrialCode& candidate, const Inquiry& inquiry) {
  constexpr int kTries = 3;  // An experiment on perturbed inputs may cost a process.
  for (int i = 0; i < kTries; ++i) {
    auto begin = Deadline::clock::now();
    Status ready = start_lane(lane, baseline);
    calibration_seconds_ = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
    if (!ready.ok() || !lane.report.pass()) {
      Verdict verdict;
      verdict.outcome = Outcome::Unstable, verdict.stage = Stage::Verify;
      verdict.detail = "the original no longer reproduces its capture: " + (ready.ok() ? lane.report.complaint() : ready.error().message);
      return verdict;
    }
    auto verdict = lane.process->evaluate(candidate, inquiry);
    std::string experiment = lane.process->alive() ? "" : lane.process->experiment();
    if (experiment.empty() || !lane.fatal.insert(experiment).second) return verdict;
  }
  return std::nullopt;
}

const std::string& CudaEvaluator::application_baseline() {
  if (application_baseline_) return *application_baseline_;
  application_baseline_ = recorded_code(mep_, folder_, facts_.arch);
  nvcc_.emplace(NvccCompiler::find(nvcc_options(mep_, facts_.arch)));
  if (application_baseline_->empty() && nvcc_->ok()) {
    CompileReply own = (**nvcc_).compile(baseline_.source, {mep_.kernel_name});
    if (own.ok()) application_baseline_ = own.image;
  }
  return *application_baseline_;
}

void CudaEvaluator::confirm_as_built(Lane& lane, const Candidate& candidate, const CompileReply& compiled, const Inquiry& inquiry,
                                     Verdict& verdict) {
  auto note = [&](const std::string& what) { verdict.detail += (verdict.detail.empty() ? "" : "; ") + what; };
  TrialCode application;
  application.image = application_baseline();
  if (application.image.empty()) return note("not confirmed as the application's own compiler builds it: " +
                                             (nvcc_->ok() ? "it does not compile the original's slice" : nvcc_->error().message));
  verdict.counters["clang_baseline_us"] = verdict.timings.empty() ? 0 : verdict.timings[0].baseline_seconds * 1e6;
  verdict.counters["clang_us"] = verdict.timings.empty() ? 0 : verdict.timings[0].seconds * 1e6;
  verdict.counters["clang_speedup"] = verdict.speedup(), verdict.counters["clang_speedup_low"] = verdict.speedup_low();
  TrialCode built = trial_code(candidate, compiled.image);
  bool source_alone = candidate.recipe.is_default();
  if (source_alone) {
    if (!nvcc_->ok()) return note("not confirmed as the application's own compiler builds it: " + nvcc_->error().message);
    std::vector<std::string> kernels;
    for (auto& launch : candidate.launches) kernels.push_back(launch.kernel);
    if (kernels.empty()) kernels.push_back(mep_.kernel_name);
    CompileReply by_nvcc = (**nvcc_).compile(candidate.source, kernels);
    if (!by_nvcc.ok()) {
      Verdict refused = rejected(by_nvcc);
      refused.detail = "by the application's own compiler: " + refused.detail, refused.counters = verdict.counters;
      verdict = refused;
      return;
    }
    built.image = by_nvcc.image;
  }
  auto as_built = afresh(lane, application, built, inquiry);
  if (!as_built) return note("no time was left to confirm it as the application's own compiler builds it");
  as_built->counters.merge(verdict.counters);
  if (!as_built->ok()) as_built->detail = "as the application's own compiler builds it: " + as_built->detail;
  else if (source_alone) as_built->detail = "both built by " + nvcc_->value().program().filename().string();
  else as_built->detail = "against the original as the application was built; the compilers differ";
  if (!as_built->timings.empty()) {
    as_built->counters["application_baseline_us"] = as_built->timings[0].baseline_seconds * 1e6;
    as_built->counters["application_us"] = as_built->timings[0].seconds * 1e6;
  }
  verdict = std::move(*as_built);
}

std::optional<Verdict> CudaEvaluator::confirm_until(const Candidate& candidate, std::optional<Deadline> deadline) {
  auto begin = Deadline::clock::now();
  Job job;
  job.candidate = candidate;
  job.begun = begin;
  auto future = job.promise.get_future();
  job.compiled = baseline_.pool->compile(candidate.source, candidate.recipe);
  if (!job.compiled.ok()) {
    finish(job, rejected(job.compiled));
    return future.get();
  }
  Inquiry inquiry;
  inquiry.confirm = true, inquiry.deadline = deadline;
  Lane& lane = *lanes_[0];
  std::lock_guard one_at_a_time(lane.busy);
  auto verdict = afresh(lane, baseline_code_, trial_code(candidate, job.compiled.image), inquiry);
  if (!verdict) return std::nullopt;
  if (verdict->ok()) confirm_as_built(lane, candidate, job.compiled, inquiry, *verdict);
  // Screening goes on against the original as clang builds it, in a process of its own.
  lane.process.reset();
  confirm_seconds_ = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  finish(job, std::move(*verdict));
  return future.get();
}

Verdict CudaEvaluator::confirm(const Candidate& candidate) { return confirm_until(candidate, std::nullopt).value_or(abandoned()); }

std::optional<Verdict> CudaEvaluator::confirm_by(const Candidate& candidate, std::chrono::steady_clock::time_point deadline) {
  return confirm_until(candidate, deadline);
}

ConfirmCost CudaEvaluator::confirm_cost() const {
  // Two processes, each of which learns the original afresh, and the samples of two verdicts.
  constexpr double kSamples = 2.5;
  return {0, confirm_seconds_ > 0 ? confirm_seconds_.load() : 2 * calibration_seconds_ + kSamples};
}

}  // namespace kernelift
