// See processor_check.h.
#include "sandbox/evaluate/cpu/processor_check.h"

#include <algorithm>
#include <thread>
#include <tuple>

#include "sandbox/evaluate/cpu/cpu_runners.h"
#include "sandbox/evaluate/evaluation_queue.h"
#include "sandbox/evaluate/runner/wire/runner_wire.h"

namespace kernelift::sandbox {
namespace {

constexpr int kMostForkServers = 3;
// Questions about bounds: a launch keeps some cores busy, its numbers' way there and back one. Each process has the
// recorded memory and what stands beside it, up to kMostFieldBytes five times.
constexpr unsigned kCoresEach = 3, kMostAtOnce = 4;
constexpr const char* kNoTimeToCheck = "there was no time left for it";
constexpr uint64_t kMostBytes = 1ull << 30;  // Of recorded memory: what a kernel of that size does takes long here.

/// The MEP with the smallest of its instances, as far as there is room for them.
Mep smallest_instances(const Mep& mep) {
  Mep small = mep;
  auto size = [](auto& one) { return std::tuple(one.region_bytes(), one.geometry.threads(), one.id); };
  std::ranges::sort(small.instances, {}, size);
  uint64_t bytes = 0;
  std::erase_if(small.instances, [&](auto& instance) { return (bytes += instance.region_bytes()) > kMostBytes; });
  return small;
}

/// Those of an instance that its launch changed, and for which bounds may be asked (length_bounds.h).
std::vector<size_t> changed_regions(const MepInstance& instance) {
  std::vector<size_t> changed;
  for (size_t i = 0; i < instance.regions.size(); ++i)
    if (instance.regions[i].before != instance.regions[i].after && instance.regions[i].size <= kLargestBounded)
      changed.push_back(i);
  return changed;
}

/// When field runs for a finalist end.
Deadline until(std::optional<Deadline> deadline) {
  const auto most = Deadline::clock::now() + std::chrono::duration_cast<Deadline::duration>(
                                                 std::chrono::duration<double>(kProcessorFieldSeconds));
  return std::min(deadline.value_or(most), most);
}

}  // namespace

Verdict with_check(Verdict verdict, const Verdict& check) {
  if (!check.ok()) {
    verdict.outcome = check.outcome, verdict.stage = check.stage, verdict.instance = check.instance;
    verdict.timings.clear(), verdict.embedded.reset(), verdict.by_clang.reset();
    verdict.detail.clear();
    if (check.sizes_run) verdict.sizes_run = check.sizes_run;
  }
  verdict.unreached = check.unreached;
  if (!check.detail.empty()) verdict.detail += (verdict.detail.empty() ? "" : "; ") + check.detail;
  return verdict;
}

Verdict not_checked(const std::string& why) {
  Verdict verdict;
  verdict.detail = "not checked for races and bounds: " + why;
  return verdict;
}

ProcessorCheck::ProcessorCheck(const Mep& mep, const std::filesystem::path& folder, const RunnerSettings& settings,
                               const CompiledBaseline& baseline)
    : baseline_(baseline),
      bounds_(std::clamp(baseline.pool->workers() / kCoresEach, 1u, kMostAtOnce)),
      field_comparison_(*baseline.pool, baseline.source, baseline.reply) {
  const Mep small = smallest_instances(mep);
  if (small.instances.empty()) {
    trouble_ = "its recorded inputs take more than " + std::to_string(kMostBytes >> 30) + " GiB each";
    return;
  }
  for (auto& instance : small.instances) changed_.emplace_back(instance.id, changed_regions(instance));
  RunnerSettings checking = settings;
  checking.check_seconds = kProcessorCheckSeconds;
  make_runners_ = [small, folder, checking] { return cpu_runners(small, folder, checking, 0); };
  if (Status started = start_fork_server(); !started.ok()) trouble_ = started.error().message;
}

Status ProcessorCheck::start_fork_server() {
  ++started_;
  KERNELIFT_ASSIGN(runners_, make_runners_());
  return done();
}

ProcessorCheck::Held ProcessorCheck::hold(Runner& runner, std::optional<Deadline> until) {
  return until ? Held(runner.busy, *until) : Held(runner.busy);
}

Status ProcessorCheck::ready(Runner& runner) {
  if (runner.process && runner.process->alive()) return done();
  runner.process.reset();
  std::lock_guard one_at_a_time(starting_);
  if (original_.empty()) {
    CompileReply compiled = baseline_.pool->compile_checked(baseline_.source, {}, baseline_.reply);
    if (!compiled.ok())
      return refused("the original does not compile for this machine's processor: " + compiled.detail);
    original_ = std::move(compiled.image);
  }
  Original original;
  original.code.checked = original_;
  for (;;) {
    std::set<std::string> fatal;
    BaselineReport report;
    auto started = RunnerProcess::start(*runners_, 0, original, false, fatal, report);
    if (started.ok()) {
      runner.process = std::move(*started);
      return done();
    }
    if (!runners_->has_died() || started_ >= kMostForkServers) return std::move(started).error();
    KERNELIFT_TRY(start_fork_server());
  }
}

std::string ProcessorCheck::why_not(Runner& runner) {
  {
    std::lock_guard lock(mutex_);
    if (!trouble_.empty()) return trouble_;
  }
  Status started = ready(runner);
  if (started.ok()) return {};
  std::lock_guard lock(mutex_);
  return trouble_ = started.error().message;
}

SizePlan ProcessorCheck::sizes_here(const SizePlan& sizes) const {
  SizePlan here = sizes;
  here.launches.clear();
  for (SizedInstance sized : sizes.launches) {
    const auto instance =
        std::ranges::find(changed_, sized.size.instance, &std::pair<std::string, std::vector<size_t>>::first);
    if (instance == changed_.end()) continue;
    sized.instance = static_cast<size_t>(instance - changed_.begin());
    here.launches.push_back(std::move(sized));
  }
  return here;
}

Verdict ProcessorCheck::checked_now(const Candidate& candidate, const CompileReply& own, const SizePlan& sizes,
                                    std::optional<Deadline> deadline) {
  CompileReply compiled = baseline_.pool->compile_checked(candidate.source, candidate.recipe, own);
  if (!compiled.ok()) return not_checked("it does not compile for this machine's processor: " + compiled.detail);
  if (std::string why = why_not(checks_); !why.empty()) return not_checked(why);
  Inquiry inquiry;
  inquiry.check = inquiry.confirm = true, inquiry.deadline = deadline;
  inquiry.era = SharedEra::kAlways, inquiry.sizes = sizes_here(sizes);
  auto& runner = *checks_.process;
  auto answer = runner.evaluate(runnable_code(candidate, compiled.image), inquiry);
  if (!answer) return not_checked(kNoTimeToCheck);
  auto* verdict = std::get_if<Verdict>(&*answer);
  if (!verdict) return not_checked(std::get<NotJudged>(*answer).why);
  if (!runner.answered()) return not_checked(verdict->detail);
  if (verdict->unreached) verdict->unreached->read(candidate.source);
  return std::move(*verdict);
}

Verdict ProcessorCheck::check(const Candidate& candidate, const CompileReply& own, const SizePlan& sizes,
                              std::optional<Deadline> deadline) {
  const Held held = hold(checks_, deadline);
  if (!held) return not_checked(kNoTimeToCheck);
  const Hash key = code_key(candidate, own.image);
  {
    std::lock_guard lock(mutex_);
    auto known = checked_.find(key);
    if (known != checked_.end() && (known->second.at_sizes || sizes.launches.empty())) return known->second.said;
  }
  Verdict said = checked_now(candidate, own, sizes, deadline);
  std::lock_guard lock(mutex_);
  if (!deadline || Deadline::clock::now() < *deadline) checked_[key] = {said, !sizes.launches.empty()};
  return said;
}

Evaluation ProcessorCheck::judged(Evaluation evaluation, const Candidate& candidate, const CompileReply& own,
                                  std::optional<Deadline> deadline) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok() || !own.ok()) return evaluation;
  return with_check(std::move(*verdict), check(candidate, own, {}, deadline));
}

ProcessorCheck::Said ProcessorCheck::said(const Candidate& candidate, const CompileReply& own, const SizePlan& sizes,
                                          std::optional<Deadline> deadline) {
  auto field =
      std::async(std::launch::async, [&] { return formula(candidate, own, until(deadline), SharedEra::kAlways); });
  Verdict said = check(candidate, own, sizes, deadline);
  return {std::move(said), field.get()};
}

std::string ProcessorCheck::why_no_reference(const SizedInstance& sized) {
  Candidate original;
  original.source = baseline_.source;
  SizePlan one;
  one.launches.push_back(sized);
  // The candidate may be in check mode at this moment, and decides how long it is. What is not known in time is no
  // excuse for its result: the original has repeated its own.
  const auto until = Deadline::clock::now() + std::chrono::seconds(2 * static_cast<int>(kProcessorCheckSeconds));
  const Held held = hold(checks_, until);
  if (!held) return {};
  const Verdict said = checked_now(original, baseline_.reply, one, until);
  return said.sizes_run && !said.sizes_run->dropped.empty() ? said.sizes_run->dropped[0].why : "";
}

void ProcessorCheck::check_original_ahead(std::optional<Deadline> deadline) {
  std::lock_guard lock(mutex_);
  if (ahead_.valid()) return;
  ahead_ = std::async(std::launch::async, [this, deadline] {
    Candidate original;
    original.source = baseline_.source;
    (void)check(original, baseline_.reply, {}, deadline);
  });
}

Evaluation ProcessorCheck::with(Evaluation evaluation, const Said& said) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok()) return evaluation;
  Verdict checked = with_check(std::move(*verdict), said.check);
  if (!checked.ok()) return checked;
  return FieldComparison::with_field(std::move(checked), said.field);
}

FieldEquality ProcessorCheck::formula(const Candidate& candidate, const CompileReply& own, Deadline until,
                                      uint64_t era) {
  FieldEquality none;
  const Held held = hold(fields_, until);
  if (!held) return none.why = kNoTimeForFormula, none;
  const Hash key = code_key(candidate, own.image);
  {
    std::lock_guard lock(mutex_);
    if (auto known = formulas_.find(key); known != formulas_.end()) return known->second;
    if (!trouble_.empty()) return none.why = trouble_, none;
  }
  Inquiry inquiry;
  inquiry.era = era, inquiry.deadline = until;
  bool ended = false;
  FieldEquality field = field_comparison_.compared(
      candidate, own, inquiry, [&](const RunnableCode& code, const Inquiry& asked) -> std::optional<Evaluation> {
        if (std::string why = why_not(fields_); !why.empty()) return NotJudged{why};
        auto answer = fields_.process->evaluate(code, asked);
        ended = !answer;
        return answer;
      });
  std::lock_guard lock(mutex_);
  if (!ended && Deadline::clock::now() < until) formulas_[key] = field;
  return field;
}

bool ProcessorCheck::knows_formula(const Candidate& candidate, const CompileReply& own) const {
  std::lock_guard lock(mutex_);
  return formulas_.contains(code_key(candidate, own.image));
}

Evaluation ProcessorCheck::with_formulas(Evaluation evaluation, const Candidate& candidate, const CompileReply& own,
                                         std::optional<Deadline> deadline) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok() || !own.ok()) return evaluation;
  return FieldComparison::with_field(std::move(*verdict), formula(candidate, own, until(deadline), SharedEra::kAlways));
}

void ProcessorCheck::find_recorded_bounds(Deadline until, uint64_t era) {
  std::vector<LengthQuestion> questions;
  for (auto& [instance, regions] : changed_) {
    LengthQuestion& question = questions.emplace_back();
    question.instance = instance, question.wanted = regions, question.deadline = until, question.era = era;
  }
  (void)length_bounds(questions);
}

std::vector<LengthAnswer> ProcessorCheck::length_bounds(const std::vector<LengthQuestion>& questions) {
  std::vector<LengthAnswer> answers(questions.size());
  std::atomic<size_t> next = 0;
  auto some = [&] {
    for (size_t i; (i = next++) < questions.size();) answers[i] = answer(questions[i]);
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min(bounds_.size(), questions.size()); ++i) others.emplace_back(some);
  some();
  others.clear();
  return answers;
}

std::pair<ProcessorCheck::Held, ProcessorCheck::Runner*> ProcessorCheck::hold_for_bounds(
    std::optional<Deadline> until) {
  for (auto& runner : bounds_)
    if (Held held(runner.busy, std::try_to_lock); held) return {std::move(held), &runner};
  Runner& one = bounds_[turn_++ % bounds_.size()];
  return {hold(one, until), &one};
}

LengthAnswer ProcessorCheck::answer(const LengthQuestion& question) {
  constexpr uint64_t kMostKept = 1 << 30;
  LengthAnswer answer;
  LengthQuestion timeless = question;
  timeless.deadline.reset(), timeless.era = SharedEra::kAlways;
  const Hash key = hash_text(encoded(timeless));
  const auto [held, runner] = hold_for_bounds(question.deadline);
  if (!held) return answer.why_not = "there was no time left", answer.later = true, answer;
  {
    std::lock_guard lock(mutex_);
    if (auto known = lengths_.find(key); known != lengths_.end()) return known->second;
  }
  RunnableCode code;
  const auto begin = Deadline::clock::now();
  if (answer.why_not = why_not(*runner); answer.why_not.empty()) {
    if (!field_comparison_.add_length_images(code)) answer.why_not = kNoLengthImages;
    else answer = runner->process->length_bounds(code, question);
  }
  const double seconds = std::chrono::duration<double>(Deadline::clock::now() - begin).count();
  std::lock_guard lock(mutex_);
  if (answer.why_not.empty()) bounds_seconds_ = std::max(bounds_seconds_.load(), seconds);
  if (answer.later) return answer;
  const bool recorded = !question.sized && question.regions.empty() && question.variables.empty();
  if (recorded && !answer.why_not.empty()) no_lengths_ = answer.why_not;
  uint64_t bytes = 0;
  for (auto& region : answer.regions)
    for (auto& lane : region.lanes) bytes += lane.elements.size() * sizeof(BesideElement);
  if (length_bytes_ + bytes > kMostKept) lengths_.clear(), length_bytes_ = 0;
  if (bytes <= kMostKept) lengths_[key] = answer, length_bytes_ += bytes;
  return answer;
}

std::string ProcessorCheck::no_length_bounds() const {
  std::lock_guard lock(mutex_);
  return no_lengths_;
}

}  // namespace kernelift::sandbox
