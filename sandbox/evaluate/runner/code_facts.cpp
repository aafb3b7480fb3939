// Facts about the original's performance, for reports and for the tuner: resources of its image, hardware counters of a
// launch on its heaviest instance, peaks of this GPU. Every pass of the counters starts from the recorded memory.
#include <algorithm>

#include "core/model/launch/limits.h"
#include "sandbox/evaluate/runner/runner.h"

namespace kernelift::sandbox {
namespace {

/// The resource that limits the number of resident blocks per multiprocessor; empty if the maximum number of threads is
/// resident, or the resource is not known.
std::string limit_of(const DeviceFacts& device, const KernelFacts& facts) {
  // Registers are allocated per warp in units of 256, in each of a multiprocessor's four partitions.
  constexpr uint64_t kWarp = kWarpSize, kUnit = 256, kParts = 4;
  const uint64_t threads = facts.geometry.block.count(), warps = (threads + kWarp - 1) / kWarp;
  if (!facts.resident_blocks || warps == 0 || device.threads_per_multiprocessor == 0) return "";
  const auto resident = static_cast<uint64_t>(*facts.resident_blocks);
  if (resident * warps * kWarp >= device.threads_per_multiprocessor) return "";
  struct Limit {
    const char* name;
    uint64_t blocks;
  };
  std::vector<Limit> limits{{"threads", device.threads_per_multiprocessor / (warps * kWarp)}};
  if (device.blocks_per_multiprocessor > 0) limits.push_back({"blocks", device.blocks_per_multiprocessor});
  if (facts.registers && *facts.registers > 0 && device.registers_per_multiprocessor > 0) {
    uint64_t each = (static_cast<uint64_t>(*facts.registers) * kWarp + kUnit - 1) / kUnit * kUnit;
    limits.push_back({"registers", device.registers_per_multiprocessor / kParts / each * kParts / warps});
  }
  if (uint64_t each = facts.shared_bytes.value_or(0) + device.shared_taken_per_block;
      facts.shared_bytes && each > 0 && device.shared_per_multiprocessor > 0)
    limits.push_back({"shared memory", device.shared_per_multiprocessor / each});
  auto least = std::min_element(limits.begin(), limits.end(), [](auto& a, auto& b) { return a.blocks < b.blocks; });
  // If the driver computes another number (clusters, a carve-out), none of these is the limit.
  return least->blocks == resident ? least->name : "";
}

}  // namespace

Result<KernelFacts> Runner::kernel_facts(const LaunchProfiler& profile) {
  const size_t heaviest = bench_->heaviest();
  if (heaviest >= bench_->report.instances.size() || !bench_->report.instances[heaviest].pass)
    return environment_error("what the kernel's time goes into is not measured: it does not reproduce its capture");
  const DeviceFacts& device = bench_->device.facts();
  KernelFacts facts;
  facts.device = device.label;
  facts.geometry = bench_->mep.instances[heaviest].geometry;
  facts.seconds = bench_->report.instances[heaviest].seconds;
  facts.multiprocessors = static_cast<int>(device.multiprocessors);
  const KernelResources& resources = bench_->baseline.resources();
  if (resources.registers) facts.registers = static_cast<int>(*resources.registers);
  facts.local_bytes = resources.local_bytes, facts.shared_bytes = resources.shared_bytes;
  facts.occupancy_limit = resources.occupancy;
  uint64_t threads = facts.geometry.block.count();
  if (facts.occupancy_limit && threads > 0 && device.threads_per_multiprocessor > 0)
    facts.resident_blocks =
        static_cast<int>(*facts.occupancy_limit * device.threads_per_multiprocessor / double(threads) + 0.5);
  facts.limited_by = limit_of(device, facts);
  if (!profile) {
    facts.counters_missing = "this device has none";
    return facts;
  }
  const ReplayInstance& memory = bench_->memory->instances()[heaviest];
  auto ran = [&](Steps& steps) -> Status {
    DeviceOutcome outcome = steps.run(bench_->settings.launch_limit);
    bench_->memory->launched(heaviest, true);
    if (outcome.ok()) return done();
    return environment_error("the original, while counters are read: " + bench_->failure_of(outcome, heaviest).detail);
  };
  auto prepare = [&]() -> Status {
    Steps steps(*bench_->kernels);
    bench_->memory->restore(steps, heaviest, false);
    bench_->baseline.set_up(steps, memory, heaviest);
    if (bench_->settings.cold) steps.flush_cache();
    return ran(steps);
  };
  auto launch = [&]() -> Status {
    Steps steps(*bench_->kernels);
    bench_->baseline.launch(steps, heaviest);
    return ran(steps);
  };
  KERNELIFT_TRY(profile(device.ordinal, prepare, launch, facts));
  return facts;
}

}  // namespace kernelift::sandbox
