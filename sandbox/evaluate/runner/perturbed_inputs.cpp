// See perturbed_inputs.h.
#include "sandbox/evaluate/runner/perturbed_inputs.h"

#include <algorithm>

namespace kernelift {
namespace {

constexpr uint64_t kLargestPerturbed = 256 << 20;  ///< Bytes of a buffer; larger ones stay as recorded.

}  // namespace

void PerturbedInputs::forget() {
  if (asked_) bench_.memory->instances().resize(recorded_);
  cases_.clear(), memory_.clear(), asked_ = false;
}

bool PerturbedInputs::ask(const std::vector<size_t>& instances) {
  if (asked_) return bench_.usable;
  asked_ = true, recorded_ = bench_.memory->instances().size();
  for (size_t instance : instances)
    for (Perturbation kind : {Perturbation::Jitter, Perturbation::Swap}) {
      std::string experiment = "perturb " + std::to_string(instance) + " " + name(kind);
      if (bench_.settings.fatal.contains(experiment) || !bench_.usable) continue;
      bench_.announce(experiment);
      if (!ask(instance, kind) && bench_.usable) bench_.memory->launched(instance, true);
      if (bench_.usable) bench_.announce("");
      if (bench_.ended()) {
        forget();
        bench_.cut = true;
        return false;
      }
    }
  return bench_.usable;
}

bool PerturbedInputs::ask(size_t instance, Perturbation kind) {
  Device& device = bench_.device;
  ReplayInstance made = bench_.memory->instances()[instance];
  bool any = false;
  uint64_t seed = 1;
  /// False: there is no memory for it.
  auto perturb_one = [&](ReplayBuffer& buffer, bool only_read) {
    ++seed;
    buffer.bounds.nearer.clear();  // Of other sums.
    if (!buffer.bounds.layout.has_floats() || buffer.size > kLargestPerturbed) return true;
    std::vector<std::byte> bytes(buffer.size);
    if (!device.read(buffer.given, bytes).ok() || !perturb(buffer.bounds.layout, bytes, kind, seed)) return true;
    auto placed = device.place(0, buffer.size, Reach::Hidden);
    if (!placed.ok() || !device.write(placed->address, bytes).ok()) return false;
    if (only_read) buffer.answer = placed->address;
    buffer.given = placed->address;
    memory_.push_back(std::move(*placed));
    return any = true;
  };
  for (auto& region : made.regions)
    if ((kind != Perturbation::Swap || !region.output()) && !perturb_one(region, !region.output())) return false;
  for (auto& variable : made.variables)
    if (!perturb_one(variable, !variable.changed())) return false;
  if (!any) return false;
  Place place{bench_.memory->instances().size(), instance};
  bench_.memory->instances().push_back(made);
  auto drop = [&] {
    bench_.memory->instances().pop_back();
    return false;
  };
  // The original answers; what it leaves becomes the answer, and a second run must leave the same, over an older
  // answer: a result that depends on what lay there is no answer.
  using Before = Verification::Before;
  auto first = verification_.run(bench_.baseline, place, {Before::Poisoned});
  std::vector<DeviceMemory> answers;
  if (first.failure || !WriteSet(bench_).keep(place.memory, {}, answers).ok()) return drop();
  ReplayInstance& entry = bench_.memory->instances()[place.memory];
  for (size_t i = 0; i < entry.regions.size(); ++i)
    if (answers[i].size > 0) entry.regions[i].answer = answers[i].address, memory_.push_back(answers[i]);
  if (!keep_variables(place).ok()) return drop();
  auto second = verification_.run(bench_.baseline, place, {Before::Stale});
  if (second.failure || second.first) return drop();
  // Rounding moves the results of other inputs by more or less than those of the recorded ones.
  std::vector<const LoadedCode*> others;
  for (auto& code : bench_.rounded) others.push_back(&code);
  if (bench_.application && !bench_.user_tolerance()) others.push_back(&*bench_.application);
  for (auto* code : others)
    if (!tolerances_.widen_by(*code, place).ok()) return drop();
  if (!bench_.at_random.empty() && !tolerances_.find_exact_sums(place).ok()) return drop();
  cases_.push_back({place, kind});
  return true;
}

Status PerturbedInputs::keep_variables(Place place) {
  Steps steps(*bench_.kernels);
  auto& variables = bench_.memory->instances()[place.memory].variables;
  for (size_t v = 0; v < variables.size(); ++v) {
    const uint64_t left = bench_.baseline.variable(place.instance, v);
    if (!variables[v].changed() || left == 0) continue;
    KERNELIFT_ASSIGN(DeviceMemory answer, bench_.device.place(0, variables[v].size, Reach::Hidden));
    steps.copy(answer.address, left, variables[v].size);
    variables[v].answer = answer.address;
    memory_.push_back(std::move(answer));
  }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
  return outcome.ok() ? done() : environment_error("copying module variables: " + outcome.detail);
}

bool PerturbedInputs::verify(const LoadedCode& code, Verdict& verdict) {
  using Before = Verification::Before;
  for (auto& one : cases_)
    for (Before before : {Before::Poisoned, Before::Stale}) {
      Verdict seen;
      if (verification_.verify(code, one.place, Stage::Verify, seen, before)) continue;
      seen.detail = std::string("right on what was recorded, but with inputs perturbed (") + name(one.kind) +
                    (before == Before::Stale ? ", over an older answer): " : "): ") + seen.detail;
      verdict = seen;
      return false;
    }
  return true;
}

}  // namespace kernelift
