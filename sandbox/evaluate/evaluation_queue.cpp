// See evaluation_queue.h. A job is either in one list or held by one thread, which then has to answer it.
#include "sandbox/evaluate/evaluation_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/model/evaluator.h"

namespace kernelift::sandbox {
EvaluationQueue::EvaluationQueue(CompilePool& pool, Hooks hooks) : pool_(pool), hooks_(std::move(hooks)) {
  measurers_ = hooks_.measurers.size();
  for (unsigned i = 0; i < pool_.workers(); ++i) threads_.emplace_back([this] { compile_jobs(); });
  for (unsigned i = 0; i < hooks_.rebuilders; ++i) threads_.emplace_back([this] { rebuild_jobs(); });
  if (hooks_.answer) threads_.emplace_back([this] { answer_jobs(); });
  for (auto& measure : hooks_.measurers) threads_.emplace_back([this, &measure] { measure_jobs(measure); });
}

EvaluationQueue::~EvaluationQueue() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
}

std::future<Evaluation> EvaluationQueue::submit(Candidate candidate) {
  Waiting job;
  job.candidate = std::move(candidate);
  auto future = job.promise.get_future();
  std::lock_guard lock(mutex_);
  job.era = era_, job.number = ++submitted_;
  ++open_;
  to_compile_.push_back(std::move(job));
  changed_.notify_all();
  return future;
}

void EvaluationQueue::abandon() {
  std::deque<Waiting> dropped;
  {
    std::lock_guard lock(mutex_);
    hooks_.era_began(++era_);
    pool_.begin_era(era_);
    auto drop = [&](auto& jobs) {
      std::move(jobs.begin(), jobs.end(), std::back_inserter(dropped));
      jobs.clear();
    };
    drop(to_compile_), drop(to_rebuild_), drop(rebuilding_), drop(to_answer_), drop(to_measure_);
  }
  for (auto& job : dropped) give_up(job);
}

size_t EvaluationQueue::put_off() const {
  std::lock_guard lock(mutex_);
  return to_answer_.size() + answering_;
}

bool EvaluationQueue::rebuilder_idle() const {
  std::lock_guard lock(mutex_);
  return rebuilding_.size() + to_rebuild_.size() < hooks_.rebuilders;
}

CompileReply EvaluationQueue::compiled(const Candidate& candidate, uint64_t era) const {
  bool known = hooks_.original.ok() && !hooks_.original.image.empty() && candidate.recipe.is_default() &&
               candidate.source == hooks_.source;
  return known ? hooks_.original : pool_.compile(candidate.source, candidate.recipe, era);
}

EvaluationJob EvaluationQueue::compile(const Candidate& candidate) const {
  EvaluationJob job;
  job.candidate = candidate;
  job.compiled = compiled(candidate, CompilePool::kAnyEra);
  return job;
}

Evaluation EvaluationQueue::finished(const EvaluationJob& job, Evaluation evaluation) const {
  if (auto* verdict = std::get_if<Verdict>(&evaluation)) {
    verdict->compile_seconds = job.compiled.seconds() + job.rebuilt.seconds();
    // Without what it waited for others.
    verdict->evaluate_seconds = job.measuring ? verdict->compile_seconds + *job.measuring : seconds_since(job.begun);
    hooks_.label(job, *verdict);
  }
  return with_bounded_texts(std::move(evaluation));
}

void EvaluationQueue::finish(Waiting& job, Evaluation evaluation) {
  job.promise.set_value(finished(job, std::move(evaluation)));
  std::lock_guard lock(mutex_);
  if (--open_ == 0) changed_.notify_all();
}

void EvaluationQueue::give_up(Waiting& job) { finish(job, job.screened ? Evaluation(*job.screened) : abandoned()); }

bool EvaluationQueue::wait_for_job(const std::deque<Waiting>& jobs, std::unique_lock<std::mutex>& lock) {
  // On closing, threads run until all jobs in flight have passed through their remaining stages.
  changed_.wait(lock, [&] { return !jobs.empty() || (closing_ && open_ == 0); });
  return !jobs.empty();
}

bool EvaluationQueue::is_over(uint64_t era) const {
  std::lock_guard lock(mutex_);
  return era != era_;
}

std::optional<EvaluationQueue::Waiting> EvaluationQueue::next(std::deque<Waiting>& jobs) {
  std::unique_lock lock(mutex_);
  if (!wait_for_job(jobs, lock)) return std::nullopt;
  Waiting job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

void EvaluationQueue::pass_on(Waiting job, std::deque<Waiting>& jobs) {
  {
    std::lock_guard lock(mutex_);
    if (job.era == era_) {
      auto behind = std::find_if(jobs.begin(), jobs.end(), [&](auto& other) {
        if (job.put_off) return other.may_gain < job.may_gain;
        if (job.screened) return !other.screened || other.screened->speedup() < job.screened->speedup();
        return !other.screened && other.number > job.number;
      });
      jobs.insert(behind, std::move(job));
      changed_.notify_all();
      return;
    }
  }
  give_up(job);
}

void EvaluationQueue::compile_jobs() {
  while (auto job = next(to_compile_)) {
    job->compiled = compiled(job->candidate, job->era);
    if (job->compiled.ok()) pass_on(std::move(*job), hooks_.rebuild_all ? to_rebuild_ : to_measure_);
    else if (is_over(job->era)) give_up(*job);
    else finish(*job, rejected(job->compiled));
  }
}

void EvaluationQueue::rebuild_jobs() {
  std::unique_lock lock(mutex_);
  while (wait_for_job(to_rebuild_, lock)) {
    auto entry = rebuilding_.insert(rebuilding_.end(), std::move(to_rebuild_.front()));
    to_rebuild_.pop_front();
    const Candidate candidate = entry->candidate;
    const uint64_t era = era_;
    lock.unlock();
    CompileReply rebuilt = hooks_.rebuild(candidate);
    lock.lock();
    if (era != era_) continue;  // abandon() has answered the job and removed it.
    Waiting job = std::move(*entry);
    rebuilding_.erase(entry);
    lock.unlock();
    job.rebuilt = std::move(rebuilt);
    pass_on(std::move(job), to_measure_);
    lock.lock();
  }
}

void EvaluationQueue::measure_jobs(const Measure& measure) {
  while (auto job = next(to_measure_)) {
    const auto begin = std::chrono::steady_clock::now();
    auto verdict = measure(*job);
    job->measuring = job->measuring.value_or(0) + seconds_since(begin);
    if (std::exchange(job->measurer_lost, false) && leave_to_others()) return pass_on(std::move(*job), to_measure_);
    if (verdict) finish(*job, std::move(*verdict));
    else pass_on(std::move(*job), job->put_off ? to_answer_ : to_rebuild_);
  }
}

void EvaluationQueue::answer_jobs() {
  std::unique_lock lock(mutex_);
  while (wait_for_job(to_answer_, lock)) {
    Waiting job = std::move(to_answer_.front());
    to_answer_.pop_front();
    ++answering_;
    lock.unlock();
    hooks_.answer(job);
    job.put_off = false, job.answered = true;
    lock.lock();
    --answering_;
    lock.unlock();
    pass_on(std::move(job), to_measure_);
    lock.lock();
  }
}

bool EvaluationQueue::leave_to_others() {
  std::lock_guard lock(mutex_);
  if (measurers_ <= 1) return false;
  --measurers_;
  return true;
}

RunnableCode runnable_code(const Candidate& candidate, const std::string& image) {
  return {image, candidate.launches, candidate.scratch, candidate.values};
}

Hash code_key(const Candidate& candidate, const std::string& image) {
  Candidate run;
  run.launches = candidate.launches, run.scratch = candidate.scratch;
  if (!candidate.launches.empty() || !candidate.scratch.empty()) run.values = candidate.values;
  run.source = image;
  return run.key();
}

Verdict rejected(const CompileReply& compiled) {
  Verdict verdict;
  verdict.outcome = compiled.outcome, verdict.stage = compiled.stage, verdict.detail = compiled.detail;
  return verdict;
}

NotJudged abandoned() { return {"abandoned: the run ended before it was measured"}; }

NotJudged not_launched(const std::string& why) { return {why}; }

NotJudged not_confirmable(const std::string& why) { return {"the original cannot be measured again: " + why}; }

Verdict same_as_original(const BaselineReport& report, bool cold) {
  Verdict verdict;
  verdict.stage = Stage::Time;
  verdict.detail = "the same code as the original";
  for (auto& instance : report.instances) {
    if (instance.held_out) continue;
    Timing timing;
    timing.instance = instance.id, timing.weight = instance.weight, timing.cold = cold;
    timing.baseline_seconds = timing.seconds = instance.seconds;
    verdict.timings.push_back(timing);
  }
  return verdict;
}

}  // namespace kernelift::sandbox
