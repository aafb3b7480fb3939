// See write_set.h.
#include "sandbox/evaluate/runner/write_set.h"

#include <algorithm>
#include <map>

#include "core/base/bytes.h"
#include "sandbox/evaluate/runner/tolerances.h"

namespace kernelift::sandbox {
namespace {

constexpr std::byte kFirstPatterns[] = {kPoison, std::byte{0x3a}};

}  // namespace

std::vector<size_t> WriteSet::poisoned(size_t instance) const {
  return to_poison(bench_.memory->instances()[instance].regions, unchanged_too_,
                   bench_.plan.of(instance).unchanged_regions);
}

Status WriteSet::keep(size_t instance, const std::set<size_t>& altered, std::vector<DeviceMemory>& copies,
                      bool veiled) {
  Steps steps(*bench_.kernels);
  for (auto& region : bench_.memory->instances()[instance].regions) {
    copies.emplace_back();
    if (!region.output() && !altered.contains(copies.size() - 1)) continue;
    KERNELIFT_ASSIGN(copies.back(), bench_.device.place(0, region.size, Reach::Hidden));
    const uint64_t copy = copies.back().address;
    veiled ? steps.veil(copy, region.live, region.size, copy) : steps.copy(copy, region.live, region.size);
  }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
  return outcome.ok() ? done() : environment_error("copying on the device: " + outcome.detail);
}

Status WriteSet::keep_variables(const LoadedCode& code, MemoryEntry entry, std::vector<DeviceMemory>& memory) {
  Steps steps(*bench_.kernels);
  auto& variables = bench_.memory->instances()[entry.memory].variables;
  for (size_t v = 0; v < variables.size(); ++v) {
    const uint64_t left = code.variable(entry.instance, v);
    if (!variables[v].changed() || left == 0) continue;
    KERNELIFT_ASSIGN(DeviceMemory answer, bench_.device.place(0, variables[v].size, Reach::Hidden));
    steps.veil(answer.address, left, variables[v].size, answer.address);
    variables[v].answer = answer.address, variables[v].veiled = JudgingKernels::veil_of(bench_.device.facts()).on;
    memory.push_back(std::move(answer));
  }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
  return outcome.ok() ? done() : environment_error("copying module variables: " + outcome.detail);
}

bool WriteSet::holds_addresses(const ReplayInstance& memory, const ReplayBuffer& region) {
  constexpr uint64_t kMost = 16 << 20;  // Bytes that are searched, from the region's beginning.
  std::vector<std::byte> bytes(std::min(region.size, kMost));
  if (!bench_.device.read(region.given, bytes).ok()) return false;
  for (size_t at = (8 - region.live % 8) % 8; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = word_at(bytes, at);
    auto after = std::upper_bound(memory.regions.begin(), memory.regions.end(), word,
                                  [](uint64_t value, auto& other) { return value < other.live; });
    if (after != memory.regions.begin() && word < std::prev(after)->live + std::prev(after)->size) return true;
  }
  return false;
}

Result<WriteSet::Learned> WriteSet::learn_regions(size_t instance, const std::vector<size_t>& tried,
                                                  const std::vector<DeviceMemory>& results,
                                                  std::vector<double>& seconds) {
  ReplayInstance& memory = bench_.memory->instances()[instance];
  std::map<size_t, std::vector<DeviceMemory>> states;  // By region, one byte for each of its scalars.
  Steps begin(*bench_.kernels);
  for (size_t index : tried)
    for (auto& row : memory.regions[index].rows) {
      KERNELIFT_ASSIGN(auto state, bench_.device.place(0, row.count, Reach::Hidden));
      begin.fill(state.address, std::byte{judging::kWritten | judging::kUntouched}, row.count);
      states[index].push_back(std::move(state));
    }
  if (auto outcome = begin.run(bench_.settings.launch_limit); !outcome.ok())
    return environment_error("filling on the device: " + outcome.detail);
  for (std::byte pattern : kFirstPatterns) {
    Steps steps(*bench_.kernels);
    bench_.memory->restore(steps, instance, false);
    for (size_t index : tried) steps.fill(memory.regions[index].live, pattern, memory.regions[index].size);
    bench_.baseline.set_up(steps, memory, instance);
    steps.begin(), bench_.baseline.launch(steps, instance), steps.end();
    bench_.baseline.take_down(steps, instance);
    size_t rows = 0;
    for (auto& other : memory.regions) rows += other.rows.size();
    steps.clear_findings(rows);
    size_t at = 0;
    for (size_t i = 0; i < memory.regions.size(); ++i) {
      ReplayBuffer& other = memory.regions[i];
      const auto found = states.find(i);
      for (size_t row = 0; row < other.rows.size(); ++row, ++at) {
        if (found != states.end())
          steps.classify(other.rows[row], other.tolerance(row), result_of(memory, results, i), other.live,
                         found->second[row].address, pattern, at);
        // The other buffers' results must not depend on the old contents of these.
        else steps.compare(other.rows[row], other.tolerance(row), result_of(memory, results, i), other.live, at);
      }
    }
    DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
    bench_.memory->launched(instance, true);
    if (!outcome.usable()) {
      bench_.usable = false;
      return environment_error(outcome.detail);
    }
    if (!outcome.ok()) return outcome.fault == DeviceFault::TimedOut ? Learned::Hung : Learned::No;
    seconds.push_back(bench_.kernels->net(outcome.seconds[0]));
    KERNELIFT_ASSIGN(auto found, bench_.kernels->read_findings(rows));
    for (auto& finding : found)
      if (finding.mismatches > 0) return Learned::No;
  }
  for (size_t index : tried)
    KERNELIFT_TRY(learn_states(memory.regions[index], result_of(memory, results, index), states[index]));
  return Learned::Yes;
}

Status WriteSet::learn_states(ReplayBuffer& region, uint64_t result, std::vector<DeviceMemory>& states) {
  Steps steps(*bench_.kernels);
  steps.clear_findings(states.size());
  for (size_t row = 0; row < states.size(); ++row)
    steps.count_uncovered(region.rows[row], region.given, result, states[row].address, row);
  if (auto outcome = steps.run(bench_.settings.launch_limit); !outcome.ok())
    return environment_error("counting on the device: " + outcome.detail);
  KERNELIFT_ASSIGN(auto found, bench_.kernels->read_findings(states.size()));
  bool covered = true, all = region.bounds.layout.plain();
  region.written_bytes = 0;
  for (size_t row = 0; row < states.size(); ++row) {
    covered = covered && found[row].mismatches == 0;
    all = all && found[row].largest_ulps == region.rows[row].count;
    if (found[row].largest_ulps == 0) states[row] = {};
    region.written_bytes += found[row].largest_ulps * region.rows[row].type.width;
  }
  region.all_written = all;
  region.states = all || region.written_bytes == 0 ? std::vector<DeviceMemory>{} : std::move(states);
  region.put_back = !covered || region.rewritten;
  return done();
}

Result<bool> WriteSet::learn_together(size_t instance, const std::vector<DeviceMemory>& results,
                                      std::vector<double>& seconds) {
  const std::string experiment = "poison " + std::to_string(instance) + " all";
  ReplayInstance& memory = bench_.memory->instances()[instance];
  std::vector<size_t> outputs;
  for (size_t index : poisoned(instance))
    if (memory.regions[index].output()) outputs.push_back(index);
  const bool faults = !bench_.device.facts().processor && std::ranges::any_of(outputs, [&](size_t i) {
    return holds_addresses(memory, memory.regions[i]);
  });
  if (outputs.empty() || faults || bench_.settings.fatal.contains(experiment)) return false;
  bench_.announce(experiment);
  KERNELIFT_ASSIGN(Learned learned, learn_regions(instance, outputs, results, seconds));
  bench_.announce("");
  return learned == Learned::Yes;
}

Status WriteSet::learn(size_t instance, const std::vector<DeviceMemory>& results, bool known_too) {
  const std::string kKnown = "poison ", kUnchanged = "poison unchanged ";
  // Most processes to lose to either group of regions: an original that two regions make fault will fault on others
  // too.
  constexpr auto kMostLost = 2;
  auto lost = [&](const std::string& kind) {
    return std::ranges::count_if(bench_.settings.fatal, [&](auto& one) { return one.starts_with(kind); });
  };
  const auto lost_to_unchanged = lost(kUnchanged), lost_to_known = lost(kKnown) - lost_to_unchanged;
  ReplayInstance& memory = bench_.memory->instances()[instance];
  for (size_t index : poisoned(instance)) {
    ReplayBuffer& region = memory.regions[index];
    const bool known = region.output();
    if (known && !known_too) continue;
    if ((known ? lost_to_known : lost_to_unchanged) >= kMostLost) continue;
    // On a GPU a fault would end this process.
    if (!bench_.device.facts().processor && holds_addresses(memory, region)) continue;
    // Unchanged regions are named without the instance: one that makes the original fault will do so in all instances.
    std::string experiment =
        known ? kKnown + std::to_string(instance) + " " + std::to_string(index) : kUnchanged + region.name;
    if (bench_.settings.fatal.contains(experiment)) continue;
    KERNELIFT_TRY(calibration_in_time(bench_));
    bench_.announce(experiment);
    std::vector<double> seconds;
    auto learned = learn_regions(instance, {index}, results, seconds);
    // An unchanged region is usually an input, and may be too large for the experiment's memory: not an Error.
    if (!learned.ok() && (known || !bench_.usable)) return std::move(learned).error();
    bench_.announce("");
    const bool found = learned.ok() && *learned == Learned::Yes;
    if (!known) region.writes = found && region.written_bytes > 0 ? Writes::Does : Writes::No;
    if (!known && learned.ok() && *learned == Learned::Hung) break;  // Another region may make it hang as well.
  }
  return done();
}

double WriteSet::fastest_write(size_t instance) {
  uint64_t bytes = 0;
  for (auto& region : bench_.memory->instances()[instance].regions)
    bytes += std::max(region.changed_bytes, region.written_bytes);
  constexpr int kTries = 9;
  auto buffer = bench_.device.place(0, bytes, Reach::Hidden);
  if (bytes == 0 || !buffer.ok()) return 0;
  Steps steps(*bench_.kernels);
  for (int i = 0; i < kTries; ++i) {
    if (bench_.settings.cold) steps.flush_cache();
    steps.hold(std::chrono::microseconds(10));
    steps.begin(), steps.write(buffer->address, bytes), steps.end();
  }
  DeviceOutcome outcome = steps.run(bench_.settings.launch_limit);
  if (!outcome.ok()) return 0;
  return bench_.kernels->net(*std::min_element(outcome.seconds.begin(), outcome.seconds.end()));
}

}  // namespace kernelift::sandbox
