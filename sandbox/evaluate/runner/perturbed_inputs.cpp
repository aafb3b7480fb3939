// See perturbed_inputs.h.
#include "sandbox/evaluate/runner/perturbed_inputs.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargestPerturbed = 256 << 20;  ///< Bytes; larger buffers are kept as recorded.

}  // namespace

void PerturbedInputs::forget() {
  if (prepared_) bench_.memory->instances().resize(recorded_);
  cases_.clear(), memory_.clear(), prepared_ = false;
}

bool PerturbedInputs::prepare(const std::vector<size_t>& instances) {
  if (prepared_) return bench_.usable;
  prepared_ = true, recorded_ = bench_.memory->instances().size();
  for (size_t instance : instances)
    for (Perturbation kind : {Perturbation::Jitter, Perturbation::Swap}) {
      std::string experiment = "perturb " + std::to_string(instance) + " " + name(kind);
      if (bench_.settings.fatal.contains(experiment) || !bench_.usable) continue;
      bench_.announce(experiment);
      if (!prepare_case(instance, kind) && bench_.usable) bench_.memory->launched(instance, true);
      if (bench_.usable) bench_.announce("");
      if (bench_.ended()) {
        forget();
        bench_.cut = true;
        return false;
      }
    }
  return bench_.usable;
}

bool PerturbedInputs::prepare_case(size_t instance, Perturbation kind) {
  Device& device = bench_.device;
  ReplayInstance made = bench_.memory->instances()[instance];
  bool any = false;
  uint64_t seed = 1;
  // False: there is not enough memory.
  auto perturb_one = [&](ReplayBuffer& buffer, bool only_read) {
    ++seed;
    buffer.bounds.nearer.clear();  // They belong to the recorded answer.
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
  MemoryEntry entry{bench_.memory->instances().size(), instance};
  bench_.memory->instances().push_back(made);
  auto drop = [&] {
    bench_.memory->instances().pop_back();
    return false;
  };
  // The original's result becomes the answer. A second run, with outputs that hold the recorded answer, must leave the
  // same result: one that depends on old contents cannot be a reference.
  using Before = Verification::Before;
  auto first = verification_.run(bench_.baseline, entry, {Before::Poisoned});
  std::vector<DeviceMemory> answers;
  if (first.failure || !WriteSet(bench_).keep(entry.memory, {}, answers).ok()) return drop();
  ReplayInstance& perturbed = bench_.memory->instances()[entry.memory];
  for (size_t i = 0; i < perturbed.regions.size(); ++i)
    if (answers[i].size > 0) perturbed.regions[i].answer = answers[i].address, memory_.push_back(answers[i]);
  if (!keep_variables(entry).ok()) return drop();
  auto second = verification_.run(bench_.baseline, entry, {Before::Stale});
  if (second.failure || second.first) return drop();
  // The effect of rounding on perturbed inputs differs from that on recorded ones.
  std::vector<const LoadedCode*> others;
  for (auto& code : bench_.rounded) others.push_back(&code);
  if (bench_.application && !bench_.user_tolerance()) others.push_back(&*bench_.application);
  for (auto* code : others)
    if (!tolerances_.widen_by(*code, entry).ok()) return drop();
  if (!bench_.at_random.empty() && !tolerances_.find_exact_sums(entry).ok()) return drop();
  cases_.push_back({entry, kind});
  return true;
}

Status PerturbedInputs::keep_variables(MemoryEntry entry) {
  Steps steps(*bench_.kernels);
  auto& variables = bench_.memory->instances()[entry.memory].variables;
  for (size_t v = 0; v < variables.size(); ++v) {
    const uint64_t left = bench_.baseline.variable(entry.instance, v);
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
      if (verification_.verify(code, one.entry, Stage::Verify, seen, before)) continue;
      seen.detail = std::string("right on the recorded inputs, but with inputs perturbed (") + name(one.kind) +
                    (before == Before::Stale ? ", over an older answer): " : "): ") + seen.detail;
      verdict = seen;
      return false;
    }
  return true;
}

}  // namespace kernelift::sandbox
