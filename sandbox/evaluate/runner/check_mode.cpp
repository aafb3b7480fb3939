// See check_mode.h. Uninitialised shared memory holds rubbish that a result shows: a read of it counts only where the
// results are wrong, since what is read may not be used.
#include "sandbox/evaluate/runner/check_mode.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

constexpr double kSlowdown = 30;  // Check mode against the plain CPU device, on one core (kernelift_check_bench).
// Of one candidate, on all inputs: while searching, where many are checked, and of a finalist.
constexpr double kMostSearching = 2, kMostConfirming = 60;
// One launch that takes much longer than it should waits for something.
constexpr double kPatience = 10, kShortest = 2, kLongest = 50;

/// What a GPU would do: a race's result depends on time, a bad address ends the launch.
Outcome outcome_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::Race:
    case FindingKind::BlockRace:
    case FindingKind::Uninitialised: return Outcome::Unstable;
    default: return Outcome::Crashed;
  }
}

}  // namespace

void CheckMode::set_original(std::string image) {
  code_.reset(), known_.clear(), known_at_.clear();
  known_.resize(bench_.mep.instances.size());
  original_ = std::move(image);
}

double CheckMode::expected_seconds(size_t instance) const {
  return kSlowdown * bench_.device.facts().cores * bench_.run_seconds[instance];
}

bool CheckMode::checks_sizes_of(size_t instance) const {
  return kMostSizes * expected_seconds(instance) <= kMostSearching;
}

std::chrono::milliseconds CheckMode::limit(size_t instance) const {
  const double seconds = std::clamp(kPatience * expected_seconds(instance), kShortest, kLongest);
  return std::chrono::milliseconds(static_cast<int64_t>(1e3 * seconds));
}

CheckMode::Found CheckMode::found_by(Verification::Judged judged) {
  Found found{std::move(judged.findings), std::move(judged.not_checked), !judged.failure && !judged.first};
  if (judged.failure) found.why = "there it ended: " + judged.failure->detail;
  return found;
}

CheckMode::Found CheckMode::run(const LoadedCode& code, size_t instance) {
  Verification::Manner manner{Verification::Before::Poisoned};
  manner.checked = true, manner.limit = limit(instance);
  return found_by(verification_.run(code, {instance, instance}, manner));
}

CheckMode::Found CheckMode::run_at(LoadedCode& code, const RunnableCode& wanted, const SizedInstance& sized) {
  Verification::Manner manner{Verification::Before::Poisoned};
  manner.checked = true, manner.limit = limit(sized.instance);
  Found found;
  auto memory = memory_of(bench_, sized);
  if (!memory.ok()) {
    found.why = memory.error().message;
    return found;
  }
  auto failure = launch_as(bench_, sized, std::move(memory->instance), wanted, code,
                           [&](MemoryEntry entry) { found = found_by(verification_.run(code, entry, manner)); });
  if (failure) found.why = failure->detail;
  // The answers in memory are of the recorded size; whether results are right is found without check mode.
  found.right = true;
  return found;
}

void CheckMode::load_original(Found& into) {
  if (code_) return;
  RunnableCode original;
  original.image = original_;
  code_.emplace();
  if (auto failure = code_->load(bench_.device, *bench_.memory, bench_.mep, original)) {
    into.why = "the original cannot be checked: " + failure->detail;
    code_.reset();
  }
}

const CheckMode::Found& CheckMode::of_original(size_t instance) {
  auto& known = known_[instance];
  if (known) return *known;
  load_original(known.emplace());
  if (!known->why.empty()) return *known;
  *known = run(*code_, instance);
  if (!known->why.empty()) known->why = "the original cannot be checked: " + known->why;
  return *known;
}

const CheckMode::Found& CheckMode::of_original(const SizedInstance& sized) {
  auto [known, added] = known_at_.try_emplace({sized.instance, sized.size});
  if (!added) return known->second;
  load_original(known->second);
  if (known->second.why.empty()) known->second = run_at(*code_, {}, sized);
  return known->second;
}

std::string CheckMode::why_no_reference(const SizedInstance& sized) {
  if (original_.empty() || !checks_sizes_of(sized.instance)) return {};
  Found here = of_original(sized);
  const Found& recorded = of_original(sized.instance);
  if (!here.why.empty() || !recorded.why.empty()) return {};
  const AccessFinding* worst = gravest(here, recorded);
  if (!worst) return {};
  switch (worst->kind) {
    case FindingKind::Race:
    case FindingKind::BlockRace: return "the original races there";
    case FindingKind::OutOfBounds: return "the original leaves its memory there";
    case FindingKind::Misaligned: return "the original's accesses are not aligned there";
    default: return "the original's result is not defined there";
  }
}

const AccessFinding* CheckMode::gravest(Found& found, const Found& original) {
  std::erase_if(found.findings, [&](const AccessFinding& one) {
    return (one.kind == FindingKind::Uninitialised && found.right) ||
           std::ranges::any_of(original.findings, [&](auto& known) { return known.is_like(one); });
  });
  return found.findings.empty() ? nullptr : &*std::ranges::min_element(found.findings, {}, &AccessFinding::kind);
}

bool CheckMode::check_sizes(LoadedCode& code, const RunnableCode& candidate, Verdict& verdict) {
  for (auto& sized : bench_.inquiry.sizes.launches) {
    if (bench_.cut || bench_.ended()) return true;
    if (!checks_sizes_of(sized.instance) || !why_no_reference(sized).empty()) continue;
    const Found& original = of_original(sized);
    if (!original.why.empty()) continue;
    Found found = run_at(code, candidate, sized);
    const AccessFinding* worst = gravest(found, original);
    if (!worst) continue;
    verdict.outcome = outcome_of(worst->kind), verdict.instance = sized.size.instance;
    verdict.sizes_run.emplace().wrong = SizesRun::Wrong{sized.size, sized.shown, worst->text()};
    verdict.detail = sized.shown ? worst->text() : kAtUnshownSize;
    return false;
  }
  return true;
}

void CheckMode::check(const RunnableCode& candidate, Verdict& verdict) {
  verdict.stage = Stage::Verify;
  std::string why;
  size_t left_out = 0;
  auto leave_out = [&](const std::string& reason) { why = reason, ++left_out; };
  LoadedCode code;
  std::optional<RunFailure> failure;
  if (!original_.empty()) failure = code.load(bench_.device, *bench_.memory, bench_.mep, candidate);
  const double most = bench_.inquiry.confirm ? kMostConfirming : kMostSearching;
  double seconds = 0;
  for (size_t i = 0; i < bench_.mep.instances.size() && !bench_.cut; ++i) {
    seconds += expected_seconds(i);
    if (original_.empty() || failure) {
      leave_out(failure ? failure->detail : "the original does not compile for it");
      continue;
    }
    if (seconds > most) {
      leave_out("that would take longer than " + std::to_string(int(most)) + " s");
      continue;
    }
    const Found& original = of_original(i);
    if (!original.why.empty()) {
      leave_out(original.why);
      continue;
    }
    Found found = run(code, i);
    if (!found.why.empty()) leave_out(found.why);
    const AccessFinding* worst = gravest(found, original);
    if (!worst) continue;
    verdict.outcome = outcome_of(worst->kind), verdict.instance = bench_.mep.instances[i].id;
    verdict.detail = worst->text();
    return;
  }
  if (!original_.empty() && !failure && !check_sizes(code, candidate, verdict)) return;
  if (left_out == 0) return;
  verdict.detail = "not checked for races";
  if (left_out < bench_.mep.instances.size())
    verdict.detail +=
        " on " + std::to_string(left_out) + " of " + std::to_string(bench_.mep.instances.size()) + " recorded inputs";
  verdict.detail += ": " + why;
}

}  // namespace kernelift::sandbox
