// See launch_trials.h.
#include "sandbox/evaluate/runner/timing/launch_trials.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace kernelift::sandbox {
namespace {

/// Long launches come a few at a time: not every program has one compared, but the first of a race has.
constexpr int kSeldom = 3;

/// Not a generator with a state: a candidate's process is a copy of this one, and would know what comes next.
uint64_t random_word() {
  uint64_t word = 0;
  while (getrandom(&word, sizeof word, 0) != sizeof word) {}
  return word;
}
bool one_in(uint64_t count) { return random_word() % count == 0; }

/// Tolerance on inputs for which nobody measured yet how far rounding moves results. What fails it is judged again, by
/// the tolerance that belongs to these inputs (settle()); wrong results are far beyond both.
FloatTolerance loosened(const FloatTolerance& recorded, const FloatTolerance& perturbed, bool inexact) {
  constexpr double kFactor = 8, kInexact = 2e-3;
  FloatTolerance loose = recorded;
  loose.ulps = kFactor * std::max(recorded.ulps, perturbed.ulps);
  loose.relative = kFactor * std::max(recorded.relative, perturbed.relative);
  loose.absolute = kFactor * std::max(recorded.absolute, perturbed.absolute);
  loose.envelope = kFactor * std::max(recorded.envelope, perturbed.envelope);
  loose.typical = kFactor * std::max(recorded.typical, perturbed.typical);
  loose.denormals = recorded.denormals || perturbed.denormals;
  loose.zero_signs = recorded.zero_signs && perturbed.zero_signs;
  // The original's sums are far from the exact ones there, and a candidate may be nearer to these.
  if (inexact) loose.envelope = std::max(loose.envelope, kInexact), loose.typical = std::max(loose.typical, kInexact);
  return loose;
}

}  // namespace

std::string Trial::text() const {
  std::string inputs = mix ? "on inputs perturbed afresh" : "on the recorded inputs";
  return inputs + (outputs == Outputs::Poisoned ? ", over poison"
                   : outputs == Outputs::Older  ? ", over an older launch's results"
                                                : ", over what was recorded before the launch");
}

size_t LaunchTrials::rows() const {
  const ReplayInstance& recorded = bench_.memory->instances()[instance_];
  size_t count = 1;
  for (auto* buffers : {&recorded.regions, &recorded.variables})
    for (auto& buffer : *buffers) count += buffer.rows.size();
  return count;
}

bool LaunchTrials::reserve(size_t count) {
  constexpr uint64_t kMuch = 256 << 20;  // Bytes of results of which one copy is enough.
  if (kept_for_ != instance_) compared_.clear(), kept_for_ = instance_;
  const ReplayInstance& recorded = bench_.memory->instances()[instance_];
  uint64_t bytes = 0;
  for (auto& region : recorded.regions) bytes += region.output() ? region.size : 0;
  if (bytes > kMuch) count = std::min<size_t>(count, 2);
  while (compared_.size() < count) {
    Compared one;
    auto place = [&](const ReplayBuffer& buffer, bool wanted, std::vector<DeviceMemory>& into) {
      into.emplace_back();
      if (!wanted || buffer.size == 0) return true;
      auto placed = bench_.device.place(0, buffer.size, Reach::Hidden);
      if (placed.ok()) into.back() = std::move(*placed);
      return placed.ok();
    };
    for (auto& region : recorded.regions)
      if (!place(region, region.output(), one.regions)) return !compared_.empty();
    for (auto& variable : recorded.variables)
      if (!place(variable, variable.changed(), one.variables)) return !compared_.empty();
    compared_.push_back(std::move(one));
  }
  return count > 0;
}

void LaunchTrials::begin_race(size_t instance) {
  instance_ = instance, programs_without_ = kSeldom, first_ = true;
  fresh_ = share_of_fresh();
}

void LaunchTrials::begin(Steps& steps, int launches) {
  constexpr size_t kMostCompared = 3;
  constexpr int kFew = 4;
  used_ = 0, launches_ = {}, compared_now_ = false, picked_.clear(), now_ = {};
  laid_.assign(bench_.memory->instances()[instance_].regions.size(), 0);
  size_t wanted = launches >= kFew ? std::min<size_t>(kMostCompared, static_cast<size_t>(launches) / 2)
                                   : programs_without_ + 1 >= kSeldom || one_in(kSeldom);
  if (rows() * kMostCompared > JudgingKernels::kFindings || !reserve(wanted + 1)) wanted = 0;
  wanted = std::min(wanted, compared_.empty() ? 0 : compared_.size() - 1);
  programs_without_ = wanted > 0 ? 0 : programs_without_ + 1;
  while (picked_.size() < wanted) {
    const int pick = static_cast<int>(random_word() % static_cast<uint64_t>(launches));
    if (std::ranges::find(picked_, pick) == picked_.end()) picked_.push_back(pick);
  }
  if (wanted > 0) steps.clear_findings(rows() * wanted);
}

double LaunchTrials::share_of_fresh() const {
  constexpr double kMost = 0.75, kProcessorRate = 3e9,
                   kGpuRate = 1e12;  // Bytes per second.
  constexpr double kLaunches = 2, kFreeOfProcessor = 50e-6, kFreeOfGpu = 5e-6;
  const ReplayInstance* other = perturbed_.to_mix(instance_);
  if (!other) return 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < other->regions.size(); ++i)
    bytes += PerturbedInputs::is_mixed(bench_.memory->instances()[instance_].regions[i], other->regions[i])
                 ? other->regions[i].size
                 : 0;
  const bool processor = bench_.device.facts().processor;
  const double mixing = static_cast<double>(bytes) / (processor ? kProcessorRate : kGpuRate);
  const double may =
      kLaunches * bench_.report.instances[instance_].seconds + (processor ? kFreeOfProcessor : kFreeOfGpu);
  return mixing * kMost <= may ? kMost : may / mixing;
}

Trial LaunchTrials::draw(bool to_be_compared) {
  constexpr uint64_t kRecorded = 6, kWhole = 1 << 20;
  Trial trial = now_;
  const bool mixes = perturbed_.to_mix(instance_) != nullptr;
  const bool same = !mixes || (!to_be_compared &&
                               static_cast<double>(random_word() % kWhole) >= fresh_ * static_cast<double>(kWhole));
  // The first launch that is compared is sure to find inputs that nobody knows.
  const bool unknown = to_be_compared && std::exchange(first_, false);
  if (!same) trial.mix = !unknown && one_in(kRecorded) ? 0 : random_word() | 1;
  // What an older launch left is the answer itself if its inputs were the same.
  using Outputs = Trial::Outputs;
  const bool older_inputs = trial.mix != now_.mix;
  trial.outputs = one_in(2) ? Outputs::Poisoned : older_inputs && one_in(2) ? Outputs::Older : Outputs::Given;
  return trial;
}

const ReplayInstance& LaunchTrials::variables_of(const Trial& trial) const {
  const ReplayInstance* other = trial.mix ? perturbed_.to_mix(instance_) : nullptr;
  return other && PerturbedInputs::mixes_variables(trial.mix) ? *other : bench_.memory->instances()[instance_];
}

void LaunchTrials::lay(Steps& steps, const Trial& trial) {
  using Outputs = Trial::Outputs;
  const ReplayInstance& recorded = bench_.memory->instances()[instance_];
  const ReplayInstance* other = perturbed_.to_mix(instance_);
  for (size_t i = 0; i < recorded.regions.size(); ++i) {
    const ReplayBuffer& region = recorded.regions[i];
    if (region.all_written) {
      if (trial.outputs == Outputs::Given) steps.put(region.live, region.given, region.size);
      if (trial.outputs == Outputs::Poisoned) steps.fill(region.live, kPoison, region.size);
      continue;
    }
    const uint64_t mix = other && PerturbedInputs::is_mixed(region, other->regions[i]) ? trial.mix : 0;
    const bool written = region.put_back || (region.output() && trial.outputs == Outputs::Given);
    if (mix != 0 && (mix != laid_[i] || region.put_back))
      steps.mix(region.live, region.given, other->regions[i].given, region.size, region.bounds.layout.stride,
                PerturbedInputs::seed_of(mix, i));
    else if (mix != laid_[i]) steps.put(region.live, region.given, region.size);
    else if (written && mix == 0) ReplayMemory::put_back(steps, region);
    laid_[i] = mix;
    for (size_t row = 0; row < region.states.size() && trial.outputs == Outputs::Poisoned; ++row)
      if (region.states[row].size > 0) steps.poison(region.rows[row], region.live, region.states[row].address, kPoison);
  }
}

void LaunchTrials::before(Steps& steps, const LoadedCode& code, bool of_candidate) {
  compared_now_ = std::ranges::find(picked_, launches_[of_candidate]++) != picked_.end();
  const Trial trial = draw(compared_now_);
  lay(steps, trial);
  code.set_up(steps, variables_of(trial), instance_);
  now_ = trial;
}

void LaunchTrials::after(Steps& steps, const LoadedCode& code, bool of_candidate) {
  const ReplayInstance& recorded = bench_.memory->instances()[instance_];
  // Copies of the original's results are made only so that its next launch is not warmer than a candidate's.
  Compared& one = of_candidate ? compared_[used_] : compared_.back();
  code.take_down(steps, instance_);
  for (auto& region : recorded.regions)
    if (region.output()) steps.look(region.live, region.size);
  for (size_t i = 0; i < recorded.regions.size(); ++i)
    if (one.regions[i].size > 0) steps.copy(one.regions[i].address, recorded.regions[i].live, recorded.regions[i].size);
  for (size_t v = 0; v < recorded.variables.size(); ++v)
    if (const uint64_t own = code.variable(instance_, v); own && one.variables[v].size > 0)
      steps.copy(one.variables[v].address, own, recorded.variables[v].size);
  steps.look_again();
  if (!of_candidate) return;
  one.trial = now_, one.findings = rows() * used_++;
  for (auto& canary : recorded.canaries)
    steps.check_canary(canary.begin, canary.end - canary.begin, kCanary, one.findings);
  code.check_canaries(steps, instance_);
}

void LaunchTrials::finish(Steps& steps, const LoadedCode& candidate) {
  const ReplayInstance& recorded = bench_.memory->instances()[instance_];
  for (size_t n = 0; n < used_; ++n) {
    const Compared& one = compared_[n];
    const ReplayInstance* other = one.trial.mix ? perturbed_.to_mix(instance_) : nullptr;
    if (other) {
      lay(steps, {one.trial.mix, Trial::Outputs::Poisoned});
      bench_.baseline.set_up(steps, variables_of(one.trial), instance_);
      bench_.baseline.launch(steps, instance_);
      bench_.baseline.take_down(steps, instance_);
    }
    size_t at = one.findings + 1;
    auto compare = [&](const ReplayBuffer& buffer, const ReplayBuffer* perturbed, uint64_t expected, uint64_t got) {
      const bool inexact = !buffer.bounds.nearer.empty() || (perturbed && !perturbed->bounds.nearer.empty());
      for (size_t row = 0; row < buffer.rows.size(); ++row, ++at) {
        const FloatTolerance tolerance =
            perturbed ? loosened(buffer.tolerance(row), perturbed->tolerance(row), inexact) : buffer.tolerance(row);
        if (expected && got) steps.compare(buffer.rows[row], tolerance, expected, got, at, !perturbed && buffer.veiled);
      }
    };
    for (size_t i = 0; i < recorded.regions.size(); ++i) {
      const ReplayBuffer& region = recorded.regions[i];
      compare(region, other ? &other->regions[i] : nullptr, other ? region.live : region.answer,
              one.regions[i].address);
    }
    for (size_t v = 0; v < recorded.variables.size(); ++v) {
      const ReplayBuffer& variable = recorded.variables[v];
      const uint64_t own = candidate.variable(instance_, v);
      compare(variable, other ? &other->variables[v] : nullptr,
              other ? bench_.baseline.variable(instance_, v) : variable.answer, own ? one.variables[v].address : 0);
    }
  }
}

bool LaunchTrials::judge(const LoadedCode& candidate, Verdict& verdict) {
  if (used_ == 0) return true;
  auto found = bench_.kernels->read_findings(rows() * used_);
  if (!found.ok()) {
    bench_.usable = false;
    verdict.outcome = Outcome::Crashed, verdict.stage = Stage::Time, verdict.detail = found.error().message;
    return false;
  }
  for (size_t i = 0; i < used_; ++i)
    if (!check(compared_[i], candidate, *found, verdict)) return false;
  return true;
}

bool LaunchTrials::check(Compared& one, const LoadedCode& candidate, const std::vector<judging::Finding>& found,
                         Verdict& verdict) {
  const judging::Finding& canaries = found[one.findings];
  if (canaries.address != judging::kNone) {
    std::string where = candidate.near_own_memory(instance_, canaries.address);
    verdict.outcome = Outcome::WroteOutside, verdict.stage = Stage::Time;
    verdict.instance = bench_.mep.instances[instance_].id;
    verdict.detail = (where.empty() ? bench_.memory->neighbourhood(instance_, canaries.address) : where) +
                     ", in a launch that was timed";
    return false;
  }
  bool right = true;
  for (size_t at = 1; at < rows(); ++at) right &= found[one.findings + at].mismatches == 0;
  if (right) return true;
  if (one.trial.mix != 0) return settle(one, candidate, verdict);
  return !describe(one, {instance_, instance_}, verdict);
}

bool LaunchTrials::describe(const Compared& one, MemoryEntry expected, Verdict& verdict) {
  Verdict seen = verdict;
  if (!differs(one, expected, seen)) return false;
  auto right = [&] { return !differs(one, expected, seen = verdict); };
  if ((length_bounds_.find(expected) && right()) || unsteady_.judge_again(expected, right)) return false;
  verdict = std::move(seen);
  return true;
}

bool LaunchTrials::differs(const Compared& one, MemoryEntry expected, Verdict& verdict) {
  const ReplayInstance& answers = bench_.memory->instances()[expected.memory];
  verification_.count_afresh();
  auto buffer_differs = [&](const ReplayBuffer& buffer, const DeviceMemory& kept) {
    if (kept.size == 0 || verification_.is_nearer(buffer, kept.address)) return false;
    std::optional<Mismatch> first;
    for (size_t row = 0; row < buffer.rows.size(); ++row)
      if (auto found = verification_.find_mismatch(buffer, row, kept.address);
          found && (!first || found->offset < first->offset))
        first = found;
    if (!first) return false;
    verdict.outcome = Outcome::Wrong, verdict.stage = Stage::Time;
    verdict.instance = bench_.mep.instances[instance_].id, verdict.buffer = buffer.name;
    verdict.index = first->index, verdict.expected = first->expected, verdict.got = first->got;
    verdict.distance = first->distance;
    verdict.detail = "right when it was verified, but wrong in a launch that was timed (" + one.trial.text() +
                     "): its result depends on launches before it, or on what lies in its "
                     "outputs";
    return true;
  };
  for (size_t i = 0; i < answers.regions.size(); ++i)
    if (buffer_differs(answers.regions[i], one.regions[i])) return true;
  for (size_t v = 0; v < answers.variables.size(); ++v)
    if (buffer_differs(answers.variables[v], one.variables[v])) return true;
  return false;
}

bool LaunchTrials::settle(Compared& one, const LoadedCode& candidate, Verdict& verdict) {
  auto entry = perturbed_.make_mixture(instance_, one.trial.mix);
  if (!entry && perturbed_.lacked_memory()) {
    verdict.outcome = Outcome::Unstable, verdict.stage = Stage::Time;
    verdict.instance = bench_.mep.instances[instance_].id;
    verdict.detail = "a launch that was timed differs from the original's (" + one.trial.text() +
                     "), and there is not enough memory to find out whether the original repeats its own";
    return false;
  }
  if (!entry) return true;  // The original does not repeat its own answer: nothing can be said of the candidate's.
  bool right = !describe(one, *entry, verdict);
  if (!right) {
    // Alone, on these very inputs: is it the inputs that it cannot do, or the timing?
    Verdict alone;
    if (!verification_.verify(candidate, *entry, Stage::Time, alone)) {
      verdict = alone;
      verdict.detail = "right on the recorded inputs, but wrong " + one.trial.text() + ": " + alone.detail;
    }
  }
  perturbed_.drop_mixture();
  return right;
}

std::optional<LaunchTrials::Durations> LaunchTrials::time_memory(const LoadedCode& candidate, RunFailure& failure) {
  constexpr int kPairs = 11;
  constexpr auto kGap = std::chrono::microseconds(8);
  const ReplayInstance& recorded = bench_.memory->instances()[instance_];
  now_ = {}, laid_.assign(recorded.regions.size(), 0);
  Steps steps(*bench_.kernels);
  bench_.memory->restore(steps, instance_, false);
  candidate.set_up(steps, recorded, instance_);
  // In alternation: as if no launch had been before, and after that launch.
  for (int pair = 0; pair < kPairs; ++pair)
    for (auto reset : {LoadedCode::Reset::All, LoadedCode::Reset::Recorded}) {
      lay(steps, {0, Trial::Outputs::Poisoned});
      candidate.set_up(steps, recorded, instance_, reset);
      if (reset == LoadedCode::Reset::Recorded) candidate.touch_own_memory(steps, instance_);
      if (bench_.settings.cold) steps.flush_cache();
      steps.hold(kGap);
      steps.begin(), candidate.launch(steps, instance_), steps.end();
      candidate.take_down(steps, instance_);
    }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit * kPairs);
  bench_.memory->launched(instance_, true);
  if (!outcome.ok()) {
    failure = bench_.failure_of(outcome, instance_);
    return std::nullopt;
  }
  std::vector<double> fresh, again;
  for (size_t i = 0; i < outcome.seconds.size(); ++i) (i % 2 ? again : fresh).push_back(outcome.seconds[i]);
  std::ranges::sort(fresh), std::ranges::sort(again);
  // Disturbances only add time, so that the faster launches tell.
  return Durations{fresh[1], again[kPairs / 4]};
}

bool LaunchTrials::right_after_others(const LoadedCode& candidate, size_t instance, Verdict& verdict) {
  if (!candidate.has_own_memory()) return true;
  const int launches = bench_.plan.of(instance).after_others;
  // All inputs before the first launch: while the original answers, a device may end the candidate's process, and
  // memory of its heap with it, to which its variables point.
  // Every other one has other module variables, so that no luck decides whether results depend on them.
  std::vector<MemoryEntry> others;
  bool variables = random_word() & 1;
  for (int i = 1; i < launches && perturbed_.to_mix(instance); i += 2, variables = !variables)
    if (auto other = perturbed_.make_mixture(instance, PerturbedInputs::mix_with(random_word() | 1, variables)))
      others.push_back(*other);
  bool right = true;
  for (int i = 0; right && i < launches; ++i) {
    const auto other = static_cast<size_t>(i / 2);
    const MemoryEntry entry = i % 2 && other < others.size() ? others[other] : MemoryEntry{instance, instance};
    right = verification_.verify(candidate, entry, Stage::Time, verdict,
                                 {.before = Verification::Before::Poisoned, .keeps_own = i > 0});
    if (!right && i > 0 && verdict.outcome == Outcome::Wrong)
      verdict.detail = "right in its first launch, but wrong in one after others: " + verdict.detail;
  }
  for (size_t i = 0; i < others.size(); ++i) perturbed_.drop_mixture();
  return right;
}

bool LaunchTrials::remembers(const LoadedCode& candidate, size_t instance, Verdict& verdict) {
  constexpr double kFaster = 1.25;
  constexpr int kLooks = 2;
  if (!candidate.has_own_memory() || !bench_.plan.of(instance).looks_for_memory) return false;
  begin_race(instance);
  std::optional<Durations> seen;
  for (int look = 0; look < kLooks; ++look) {
    RunFailure failure;
    seen = time_memory(candidate, failure);
    verdict.stage = Stage::Time, verdict.instance = bench_.mep.instances[instance].id;
    if (!seen) return verdict.outcome = failure.outcome, verdict.detail = failure.detail, true;
    if (seen->again * kFaster > seen->fresh) return false;
  }
  char text[240];
  std::snprintf(text, sizeof text,
                "it keeps results from launch to launch: %.3g us where its own "
                "variables or scratch memory hold what a "
                "launch on equal inputs left, %.3g us where they do not",
                seen->again * 1e6, seen->fresh * 1e6);
  verdict.outcome = Outcome::Cheated, verdict.detail = text;
  return true;
}

}  // namespace kernelift::sandbox
