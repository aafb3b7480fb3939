// See perturbed_inputs.h.
#include "sandbox/evaluate/runner/perturbed_inputs.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargestPerturbed = 256 << 20;  ///< Bytes; larger buffers are kept as recorded.

struct Attempt {
  Perturbation kind;
  bool fill;  ///< Arrays of zeros get values: tried first, since not every kernel runs with any values.
};
constexpr Attempt kAttempts[] = {
    {Perturbation::Jitter, true}, {Perturbation::Jitter, false}, {Perturbation::Swap, false}};

std::string text(Perturbation kind, bool filled) {
  return name(kind) + std::string(filled ? ", and values for arrays of zeros" : "");
}

}  // namespace

void PerturbedInputs::forget() {
  if (prepared_) bench_.memory->instances().resize(recorded_), unsteady_.forget_from(recorded_);
  length_bounds_.forget_together();
  cases_.clear(), memory_.clear(), memory_before_.clear(), prepared_ = false;
}

bool PerturbedInputs::prepare(const std::vector<size_t>& instances) {
  if (prepared_) return bench_.usable;
  prepared_ = true, recorded_ = bench_.memory->instances().size();
  for (size_t instance : instances)
    for (auto& [kind, fill] : kAttempts) {
      const bool known =
          std::ranges::any_of(cases_, [&](auto& one) { return one.entry.instance == instance && one.kind == kind; });
      std::string experiment = "perturb " + std::to_string(instance) + " " + text(kind, fill);
      if (known || bench_.settings.fatal.contains(experiment) || !bench_.usable) continue;
      bench_.announce(experiment);
      if (!prepare_case(instance, kind, fill) && bench_.usable) bench_.memory->launched(instance, true);
      else if (kind == Perturbation::Jitter && bench_.usable)
        cases_.back().mixes = bench_.plan.of(instance).mixtures && bears_mixtures(instance);
      if (bench_.usable) bench_.announce("");
      if (bench_.ended()) {
        forget();
        bench_.cut = true;
        return false;
      }
    }
  return bench_.usable;
}

bool PerturbedInputs::prepare_case(size_t instance, Perturbation kind, bool fill) {
  Device& device = bench_.device;
  ReplayInstance made = bench_.memory->instances()[instance];
  bool any = false, filled = false;
  uint64_t seed = 1;
  // False: there is not enough memory.
  auto perturb_one = [&](ReplayBuffer& buffer, bool only_read) {
    ++seed;
    if (!buffer.bounds.layout.has_floats() || buffer.size > kLargestPerturbed) return true;
    std::vector<std::byte> bytes(buffer.size);
    if (!device.read(buffer.given, bytes).ok()) return true;
    const bool fills = fill && fill_zeros(buffer.bounds.layout, bytes, seed);
    filled |= fills;
    if (!perturb(buffer.bounds.layout, bytes, kind, seed) && !fills) return true;
    auto placed = device.place(0, buffer.size, Reach::Hidden);
    if (!placed.ok() || !device.write(placed->address, bytes).ok()) return false;
    if (only_read) buffer.answer = placed->address, buffer.veiled = false;
    buffer.given = placed->address;
    memory_.push_back(std::move(*placed));
    return any = true;
  };
  for (auto& region : made.regions) region.bounds.forget_answer();
  for (auto& variable : made.variables) variable.bounds.forget_answer();
  for (auto& region : made.regions)
    if ((kind != Perturbation::Swap || !region.output()) && !perturb_one(region, !region.output())) return false;
  for (auto& variable : made.variables)
    if (!perturb_one(variable, !variable.changed())) return false;
  if (!any) return false;
  auto entry = add_entry(std::move(made), instance);
  if (entry) cases_.push_back({*entry, kind, filled});
  return entry.has_value();
}

std::optional<MemoryEntry> PerturbedInputs::add_entry(ReplayInstance made, size_t instance) {
  MemoryEntry entry{bench_.memory->instances().size(), instance};
  bench_.memory->instances().push_back(std::move(made));
  auto drop = [&] {
    bench_.memory->instances().pop_back();
    return std::nullopt;
  };
  // The original's result becomes the answer. A second run, with outputs that hold the recorded answer, must leave the
  // same result: one that depends on old contents cannot be a reference.
  using Before = Verification::Before;
  Verification::Manner manner{Before::Poisoned};
  manner.limit = bench_.original_limit;
  auto first = verification_.run(bench_.baseline, entry, manner);
  std::vector<DeviceMemory> answers;
  if (first.failure || !WriteSet(bench_).keep(entry.memory, {}, answers, true).ok()) return drop();
  ReplayInstance& perturbed = bench_.memory->instances()[entry.memory];
  for (size_t i = 0; i < perturbed.regions.size(); ++i)
    if (answers[i].size > 0) {
      perturbed.regions[i].answer = answers[i].address, memory_.push_back(answers[i]);
      perturbed.regions[i].veiled = JudgingKernels::veil_of(bench_.device.facts()).on;
    }
  if (!WriteSet(bench_).keep_variables(bench_.baseline, entry, memory_).ok()) return drop();
  manner.before = Before::Stale;
  auto second = verification_.run(bench_.baseline, entry, manner);
  if (second.failure || second.first) return drop();
  // The effect of rounding on perturbed inputs differs from that on recorded ones.
  const InstancePlan& plan = bench_.plan.of(instance);
  if (plan.sparing) return entry;
  for (auto* code : tolerances_.builds_for(entry))
    if (!tolerances_.widen_by(*code, entry).ok()) return drop();
  if (plan.exact_sums && !bench_.at_random.empty() && !tolerances_.find_exact_sums(entry).ok()) return drop();
  return entry;
}

const ReplayInstance* PerturbedInputs::to_mix(size_t instance) const {
  for (auto& one : cases_)
    if (one.entry.instance == instance && one.mixes) return &bench_.memory->instances()[one.entry.memory];
  return nullptr;
}

std::optional<ReplayInstance> PerturbedInputs::mixture(size_t instance, uint64_t mix) {
  auto known = std::ranges::find_if(
      cases_, [&](auto& one) { return one.entry.instance == instance && one.kind == Perturbation::Jitter; });
  if (known == cases_.end()) return std::nullopt;
  ReplayInstance made = bench_.memory->instances()[known->entry.memory];
  const ReplayInstance& recorded = bench_.memory->instances()[instance];
  Steps steps(*bench_.kernels);
  for (size_t i = 0; i < made.regions.size(); ++i) {
    ReplayBuffer& region = made.regions[i];
    region.bounds.forget_answer();
    if (!is_mixed(recorded.regions[i], region)) {
      if (region.given != recorded.regions[i].given && !region.output())
        region.answer = recorded.regions[i].answer, region.veiled = recorded.regions[i].veiled;
      region.given = recorded.regions[i].given;
      continue;
    }
    auto placed = bench_.device.place(0, region.size, Reach::Hidden);
    if (!placed.ok()) return std::nullopt;
    steps.mix(placed->address, recorded.regions[i].given, region.given, region.size, region.bounds.layout.stride,
              seed_of(mix, i));
    if (!region.output()) region.answer = placed->address, region.veiled = false;
    region.given = placed->address;
    memory_.push_back(std::move(*placed));
  }
  if (!mixes_variables(mix)) made.variables = recorded.variables;
  if (!steps.run(bench_.settings.launch_limit).ok()) return std::nullopt;
  return made;
}

bool PerturbedInputs::bears_mixtures(size_t instance) {
  constexpr uint64_t kTried[] = {0x9e3779b97f4a7c15ull, 0xd1b54a32d192ed03ull, 0x8cb92ba72f3d8dd7ull};
  for (uint64_t mix : kTried) {
    memory_before_.push_back(memory_.size());
    auto made = mixture(instance, mix);
    bool ran = made.has_value();
    if (ran) {
      bench_.memory->instances().push_back(std::move(*made));
      Steps steps(*bench_.kernels);
      bench_.memory->restore(steps, bench_.memory->instances().size() - 1, true);
      bench_.baseline.set_up(steps, bench_.memory->instances().back(), instance);
      bench_.baseline.launch(steps, instance);
      DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
      ran = outcome.ok(), bench_.usable = bench_.usable && outcome.usable();
      drop_mixture();
    } else {
      forget_mixture();
    }
    if (!ran) return false;
  }
  return true;
}

std::optional<MemoryEntry> PerturbedInputs::make_mixture(size_t instance, uint64_t mix) {
  memory_before_.push_back(memory_.size());
  auto made = mixture(instance, mix);
  lacked_memory_ = !made;
  auto entry = made ? add_entry(std::move(*made), instance) : std::nullopt;
  if (!entry) return forget_mixture(), std::nullopt;
  for (auto& one : cases_)
    if (bench_.inquiry.held_to_length && one.entry.instance == instance && one.mixes)
      length_bounds_.lend(*entry, {instance, instance}, one.entry);
  return entry;
}

void PerturbedInputs::drop_mixture() {
  bench_.memory->instances().pop_back();
  unsteady_.forget_from(bench_.memory->instances().size());
  forget_mixture();
}

void PerturbedInputs::forget_mixture() {
  memory_.resize(memory_before_.back()), memory_before_.pop_back();
  bench_.memory->launched(0, true);  // Its inputs' addresses may be another's soon.
}

bool PerturbedInputs::verify(const LoadedCode& code, Verdict& verdict) {
  using Before = Verification::Before;
  std::vector<MemoryEntry> entries;
  for (auto& one : cases_) entries.push_back(one.entry);
  length_bounds_.ask_together(std::move(entries));
  for (auto& one : cases_)
    for (Before before : {Before::Poisoned, Before::Stale}) {
      // Either once: what skips work where its output looks finished, and what reads what it should write.
      const Before either = one.kind == Perturbation::Jitter ? Before::Stale : Before::Poisoned;
      if (!bench_.plan.of(one.entry.instance).over_old_answers && before != either) continue;
      Verdict seen;
      if (verification_.verify(code, one.entry, Stage::Verify, seen, {before})) continue;
      auto right = [&] { return verification_.verify(code, one.entry, Stage::Verify, seen = {}, {before}); };
      if (seen.outcome == Outcome::Wrong &&
          (tolerances_.judge_again(one.entry, right) || unsteady_.judge_again(one.entry, right)))
        continue;
      seen.detail = "right on the recorded inputs, but with inputs perturbed (" + text(one.kind, one.filled) +
                    (before == Before::Stale ? ", over an older answer): " : "): ") + seen.detail;
      verdict = seen;
      return false;
    }
  return true;
}

}  // namespace kernelift::sandbox
