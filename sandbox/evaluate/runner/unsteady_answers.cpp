// See unsteady_answers.h.
#include "sandbox/evaluate/runner/unsteady_answers.h"

#include "sandbox/evaluate/runner/memory/steps.h"
#include "sandbox/jail/hidden_bytes.h"
#include "sandbox/judge/perturbation.h"
#include "sandbox/judge/unsteady_elements.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargest = 256 << 20;  ///< Bytes of a buffer; larger ones are kept as recorded.
/// Units in the last place. What is compared has been through some operations, each of which rounds.
constexpr double kUnits[] = {1, 4, 1, 4, 4, 4};

}  // namespace

bool UnsteadyAnswers::judge_again(MemoryEntry entry, const std::function<bool()>& right) {
  if (bench_.user_tolerance()) return false;
  for (size_t& run = runs_[entry.memory]; run < std::size(kUnits) && verification_.few_differ() && !bench_.ended();) {
    const uint64_t seed = run + 1;
    if (!run_beside(entry, kUnits[run++], seed)) return false;
    if (right()) return true;
  }
  return false;
}

bool UnsteadyAnswers::run_beside(MemoryEntry entry, double units, uint64_t seed) {
  Device& device = bench_.device;
  auto& entries = bench_.memory->instances();
  ReplayInstance moved = entries[entry.memory];
  std::vector<DeviceMemory> placed;
  // False: there is not enough memory.
  auto move = [&](ReplayBuffer& buffer) {
    if (!buffer.bounds.layout.has_floats() || buffer.size > kLargest) return true;
    std::vector<std::byte> bytes(buffer.size);
    if (!device.read(buffer.given, bytes).ok() || !round_otherwise(buffer.bounds.layout, bytes, units, ++seed))
      return true;
    auto memory = device.place(0, buffer.size, Reach::Hidden);
    if (!memory.ok() || !device.write(memory->address, bytes).ok()) return false;
    buffer.given = memory->address;
    placed.push_back(std::move(*memory));
    return true;
  };
  for (auto& region : moved.regions)
    if (!move(region)) return false;
  for (auto& variable : moved.variables)
    if (!move(variable)) return false;
  if (placed.empty()) return false;
  const size_t at = entries.size();
  entries.push_back(std::move(moved));
  Steps steps(*bench_.kernels);
  bench_.memory->restore(steps, at, false);
  bench_.baseline.set_up(steps, entries[at], entry.instance);
  bench_.baseline.launch(steps, entry.instance);
  const DeviceOutcome outcome = steps.run(bench_.original_limit.value_or(bench_.settings.launch_limit));
  bench_.usable = bench_.usable && outcome.usable();
  if (outcome.ok())
    for (auto& region : entries[entry.memory].regions) {
      ErrorBounds& bounds = region.bounds;
      if (!region.output() || !bounds.layout.has_floats() || region.size > kLargest) continue;
      HiddenBytes answer(region.size);
      std::vector<std::byte> got(region.size), one, other;
      if (!read_answer(device, region, 0, answer.bytes()).ok() || !device.read(region.live, got).ok()) continue;
      bounds.unsteady.resize(bounds.layout.lanes.size());
      const uint64_t whole = region.size / bounds.layout.stride * bounds.layout.stride;
      for (size_t lane = 0; lane < bounds.layout.lanes.size(); ++lane) {
        if (!bounds.layout.lanes[lane].type.is_float()) continue;
        auto known = bounds.unsteady[lane] ? std::make_shared<UnsteadyElements>(*bounds.unsteady[lane])
                                           : std::make_shared<UnsteadyElements>(bounds.layout.lanes[lane].type);
        known->add(lane_bytes(bounds.layout, lane, answer.bytes().first(whole), one),
                   lane_bytes(bounds.layout, lane, std::span<const std::byte>(got).first(whole), other));
        bounds.unsteady[lane] = std::move(known);
      }
    }
  entries.pop_back();
  bench_.memory->launched(entry.instance, true);  // The addresses of its inputs may be another's soon.
  return outcome.ok();
}

}  // namespace kernelift::sandbox
