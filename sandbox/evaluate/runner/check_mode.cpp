// See check_mode.h. Uninitialised shared memory holds rubbish that a result shows: a read of it counts only where the
// results are wrong and the original's are right, since what is read may not be used.
#include "sandbox/evaluate/runner/check_mode.h"

#include <algorithm>
#include <cmath>

namespace kernelift::sandbox {
namespace {

constexpr double kSlowdown = 30;  // Check mode against the plain CPU device, on one core (kernelift_check_bench).
// Of one candidate, on all inputs: while searching, where many are checked, and of a finalist.
constexpr double kMostSearching = 2, kMostConfirming = 60;
// One launch that takes much longer than it should waits for something.
constexpr double kPatience = 10, kShortest = 2, kLongest = 50;

/// What a GPU would do: a race's result depends on time, a bad address ends the launch or changes what is there.
Outcome outcome_of(const AccessFinding& finding) {
  switch (finding.kind) {
    case FindingKind::Race:
    case FindingKind::BlockRace:
    case FindingKind::Uninitialised: return Outcome::Unstable;
    case FindingKind::OutOfBounds: return finding.access.write ? Outcome::WroteOutside : Outcome::Crashed;
    default: return Outcome::Crashed;
  }
}

std::string in_seconds(double seconds) { return std::to_string(std::lround(seconds)) + " s"; }

}  // namespace

void CheckMode::set_original(std::string image) {
  code_.reset(), known_.clear(), known_at_.clear(), seconds_at_sizes_ = 0;
  known_.resize(bench_.mep.instances.size());
  original_ = std::move(image);
}

double CheckMode::expected_seconds(size_t instance) const {
  if (bench_.settings.check_seconds > 0) return known_[instance] ? known_[instance]->seconds : 0;
  return kSlowdown * bench_.device.facts().cores * bench_.run_seconds[instance];
}

double CheckMode::limit_for(size_t instance, double most) const {
  const double expected = expected_seconds(instance);
  if (bench_.settings.check_seconds > 0) return expected > 0 ? std::clamp(kPatience * expected, kShortest, most) : most;
  return std::clamp(kPatience * expected, kShortest, kLongest);
}

bool CheckMode::fits(size_t instance) const {
  const auto& deadline = bench_.inquiry.deadline;
  if (!deadline || bench_.settings.check_seconds > 0 || !bench_.plan.of(instance).sparing) return true;
  const auto& known = known_[instance];
  const double wanted = known ? known->seconds : 2 * expected_seconds(instance);
  return std::chrono::duration<double>(*deadline - Deadline::clock::now()).count() > wanted;
}

CheckMode::Found CheckMode::run(const LoadedCode& code, MemoryEntry entry, double limit) {
  Verification::Manner manner{Verification::Before::Poisoned};
  manner.checked = true;
  manner.limit = std::chrono::milliseconds(static_cast<int64_t>(1e3 * limit));
  Verification::Judged judged = verification_.run(code, entry, manner);
  if (!judged.not_checked.empty() && bench_.usable) {
    manner.follows_all_reads = true;
    judged = verification_.run(code, entry, manner);
  }
  Found found;
  found.findings = std::move(judged.findings), found.why = std::move(judged.not_checked);
  found.right = !judged.failure && !judged.first, found.seconds = judged.seconds;
  found.unreached = std::move(judged.unreached);
  if (!judged.failure) return found;
  if (judged.failure->astray) found.astray = std::move(judged.failure);
  else if (judged.failure->outcome == Outcome::TimedOut) found.why = "there it takes longer than " + in_seconds(limit);
  else found.why = "there it ended: " + judged.failure->detail;
  return found;
}

const AccessFinding* CheckMode::gravest(const Found& original, const Found& found) {
  const AccessFinding* worst = nullptr;
  for (auto& finding : found.findings) {
    const bool harmless = finding.kind == FindingKind::Uninitialised && (found.right || !original.right);
    if (harmless || std::ranges::any_of(original.findings, [&](auto& known) { return known.is_like(finding); }))
      continue;
    if (!worst || finding.kind < worst->kind) worst = &finding;
  }
  return worst;
}

std::optional<RunFailure> CheckMode::judge(const Found& original, const Found& found) {
  if (auto* worst = gravest(original, found)) return RunFailure{outcome_of(*worst), worst->text()};
  return found.astray;
}

double CheckMode::expected_seconds(const SizedInstance& sized) const {
  // Only a launch in check mode tells what one costs: the first run outside it may have waited for anything.
  const auto& known = known_[sized.instance];
  const double recorded = known && known->why.empty() ? known->seconds : expected_seconds(sized.instance);
  const double before = static_cast<double>(bench_.mep.instances[sized.instance].geometry.threads());
  return recorded * static_cast<double>(sized.geometry.threads()) / std::max(before, 1.0);
}

CheckMode::Found CheckMode::run_at(LoadedCode& code, const RunnableCode& wanted, const SizedInstance& sized) {
  Found found;
  auto memory = memory_of(bench_, sized);
  if (!memory.ok()) {
    found.why = memory.error().message;
    return found;
  }
  const double limit = limit_for(sized.instance, kMostSearching);
  auto failure = launch_as(bench_, sized, std::move(memory->instance), wanted, code,
                           [&](MemoryEntry entry) { found = run(code, entry, limit); });
  if (failure) found.why = failure->detail;
  // The answers in memory are of the recorded size; whether results are right is found without check mode.
  found.right = true;
  return found;
}

bool CheckMode::load_original(Found& into) {
  if (code_) return true;
  RunnableCode original;
  original.image = original_;
  code_.emplace();
  auto failure = code_->load(bench_.device, *bench_.memory, bench_.mep, original);
  if (!failure) return true;
  into.why = failure->detail;
  code_.reset();
  return false;
}

const CheckMode::Found* CheckMode::of_original(const SizedInstance& sized) {
  const std::pair key(sized.instance, sized.size);
  if (auto known = known_at_.find(key); known != known_at_.end()) return &known->second;
  if (seconds_at_sizes_ > kMostSearching || expected_seconds(sized) > kMostSearching) return nullptr;
  Found found;
  auto begin = Deadline::clock::now();
  if (load_original(found)) found = run_at(*code_, {}, sized);
  seconds_at_sizes_ += seconds_since(begin);
  if (bench_.cut) return nullptr;
  return &known_at_.emplace(key, std::move(found)).first->second;
}

std::string CheckMode::why_no_reference(const SizedInstance& sized) {
  if (original_.empty() || (!known_[sized.instance] && expected_seconds(sized.instance) > kMostSearching)) return {};
  const Found *recorded = of_original(sized.instance, kMostSearching), *here = recorded ? of_original(sized) : nullptr;
  if (!here || !here->why.empty() || !recorded->why.empty()) return {};
  if (here->astray) return "the original leaves its memory there";
  const AccessFinding* worst = gravest(*recorded, *here);
  if (!worst) return {};
  switch (worst->kind) {
    case FindingKind::Race:
    case FindingKind::BlockRace: return "the original races there";
    case FindingKind::OutOfBounds: return "the original leaves its memory there";
    case FindingKind::Misaligned: return "the original's accesses are not aligned there";
    default: return "the original's result is not defined there";
  }
}

std::string CheckMode::check_sizes(LoadedCode& code, const RunnableCode& candidate, Verdict& verdict) {
  std::string why;
  size_t left_out = 0;
  auto leave_out = [&](const std::string& reason) { why = reason, ++left_out; };
  double seconds = 0;
  auto& sizes = bench_.inquiry.sizes.launches;
  for (auto& sized : sizes) {
    if (bench_.cut) return {};
    if (bench_.ended()) {
      leave_out("there was no time left for it");
      continue;
    }
    if (std::string no_reference = why_no_reference(sized); !no_reference.empty()) {
      if (!verdict.sizes_run) verdict.sizes_run.emplace();
      verdict.sizes_run->dropped.push_back({sized.size, std::move(no_reference)});
      continue;
    }
    const Found* original = seconds <= kMostSearching ? of_original(sized) : nullptr;
    if (bench_.cut) return {};
    if (!original || !original->why.empty()) {
      leave_out(original ? original->why : "that would take longer than " + in_seconds(kMostSearching));
      continue;
    }
    auto begin = Deadline::clock::now();
    const Found found = run_at(code, candidate, sized);
    seconds += seconds_since(begin);
    if (bench_.cut) return {};
    note_unreached(found);
    auto wrong = judge(*original, found);
    if (!wrong && !found.why.empty()) leave_out(found.why);
    if (!wrong) continue;
    verdict.outcome = wrong->outcome, verdict.instance = sized.size.instance;
    verdict.sizes_run.emplace().wrong = SizesRun::Wrong{sized.size, sized.shown, wrong->detail};
    verdict.detail = sized.shown ? wrong->detail : kAtUnshownSize;
    return {};
  }
  if (left_out == 0) return {};
  return std::to_string(left_out) + " of " + std::to_string(sizes.size()) + " other sizes: " + why;
}

void CheckMode::note_unreached(const Found& found) {
  if (!found.why.empty() || found.astray) return;
  if (!unreached_) unreached_ = found.unreached;
  else std::erase_if(*unreached_, [&](auto& place) { return !found.unreached.contains(place); });
}

const CheckMode::Found* CheckMode::of_original(size_t instance, double most) {
  auto& known = known_[instance];
  if (known) return &*known;
  Found found;
  if (load_original(found)) found = run(*code_, {instance, instance}, limit_for(instance, most));
  if (bench_.cut) return nullptr;
  if (found.astray) found.why = found.astray->detail;
  if (!found.why.empty()) found.why = "the original cannot be checked: " + found.why;
  return &known.emplace(std::move(found));
}

void CheckMode::check(const RunnableCode& candidate, Verdict& verdict) {
  verdict.stage = Stage::Verify;
  unreached_.reset();
  std::string why;
  size_t left_out = 0;
  auto leave_out = [&](const std::string& reason) { why = reason, ++left_out; };
  LoadedCode code;
  std::optional<RunFailure> failure;
  if (!original_.empty()) failure = code.load(bench_.device, *bench_.memory, bench_.mep, candidate);
  const double most = bench_.settings.check_seconds > 0 ? bench_.settings.check_seconds
                      : bench_.inquiry.confirm          ? kMostConfirming
                                                        : kMostSearching;
  const bool is_original = candidate.image == original_ && candidate.launches.empty();
  double seconds = 0;
  for (size_t i = 0; i < bench_.mep.instances.size() && !bench_.cut; ++i) {
    if (!bench_.usable) {  // It was lost to an input before.
      ++left_out;
      continue;
    }
    if (original_.empty() || failure) {
      leave_out(failure ? failure->detail : "the original does not compile for it");
      continue;
    }
    if (!fits(i)) {
      leave_out("there was no time left for it");
      continue;
    }
    const Found* original = seconds + expected_seconds(i) < most ? of_original(i, most) : nullptr;
    if (bench_.cut) return;
    seconds += expected_seconds(i);
    if (original && !original->why.empty()) {
      leave_out(original->why);
      continue;
    }
    if (!original || seconds > most) {
      leave_out("that would take longer than " + in_seconds(most));
      continue;
    }
    if (is_original) continue;
    Found found = run(code, {i, i}, limit_for(i, most));
    if (bench_.cut) return;
    if (!found.why.empty()) leave_out(found.why);
    note_unreached(found);
    auto wrong = judge(*original, found);
    if (!wrong) continue;
    verdict.outcome = wrong->outcome, verdict.instance = bench_.mep.instances[i].id;
    verdict.detail = wrong->detail;
    return;
  }
  std::string sizes;
  if (!original_.empty() && !failure && bench_.usable) sizes = check_sizes(code, candidate, verdict);
  if (verdict.ok() && unreached_) verdict.unreached = Unreached{{unreached_->begin(), unreached_->end()}};
  if (!verdict.ok() || (left_out == 0 && sizes.empty())) return;
  verdict.detail = "not checked for races and bounds";
  if (left_out > 0) {
    if (left_out < bench_.mep.instances.size())
      verdict.detail +=
          " on " + std::to_string(left_out) + " of " + std::to_string(bench_.mep.instances.size()) + " recorded inputs";
    verdict.detail += ": " + why;
  }
  if (!sizes.empty()) verdict.detail += (left_out > 0 ? "; at " : " at ") + sizes;
}

}  // namespace kernelift::sandbox
