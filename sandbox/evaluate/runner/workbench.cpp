// See workbench.h.
#include "sandbox/evaluate/runner/workbench.h"

#include <algorithm>
#include <cmath>

namespace kernelift::sandbox {

Result<std::unique_ptr<Workbench>> Workbench::create(Device& device, const Mep& mep,
                                                     const std::filesystem::path& folder,
                                                     const RunnerSettings& settings,
                                                     std::function<void(const std::string&)> announce) {
  std::unique_ptr<Workbench> bench(new Workbench(device, mep, settings, std::move(announce)));
  KERNELIFT_ASSIGN(bench->kernels, JudgingKernels::load(device));
  KERNELIFT_ASSIGN(bench->memory, ReplayMemory::place(device, mep, folder, settings.deadline));
  bench->run_seconds.assign(mep.instances.size(), 0);
  device.interrupted = [bench = bench.get()] { return bench->ended(); };
  return bench;
}

bool Workbench::ended() const {
  return (inquiry.deadline && Deadline::clock::now() >= *inquiry.deadline) ||
         (settings.era && settings.era->load() > inquiry.era);
}

bool Workbench::heavier(size_t a, size_t b) const {
  double one = mep.instances[a].weight, other = mep.instances[b].weight;
  return one != other ? one > other : a < b;
}

size_t Workbench::heaviest() const {
  size_t heaviest = 0;
  for (size_t i = 1; i < mep.instances.size(); ++i)
    if (heavier(i, heaviest)) heaviest = i;
  return heaviest;
}

std::optional<FloatTolerance> Workbench::user_tolerance() const {
  Tolerance wanted = settings.tolerance.value_or(mep.tolerance);
  if (wanted.relative <= 0 && wanted.absolute <= 0) return std::nullopt;
  return FloatTolerance::given(wanted.relative, wanted.absolute);
}

int Workbench::batch_for(double seconds) const {
  if (seconds <= 0) return 1;
  return std::clamp(static_cast<int>(std::ceil(rules.sample_seconds / seconds)), 1, rules.most_launches);
}

RunFailure Workbench::failure_of(const DeviceOutcome& outcome, size_t instance) {
  usable = usable && outcome.usable();
  // Steps that were queued before the fault may or may not have run.
  memory->launched(instance, true);
  cut |= ended();
  std::string near = outcome.address ? memory->near_buffer(instance, outcome.address) : "";
  switch (outcome.fault) {
    case DeviceFault::LaunchRefused: return {Outcome::LaunchFailed, outcome.detail};
    case DeviceFault::OverResources: return {Outcome::OverResources, outcome.detail};
    case DeviceFault::TimedOut: return {Outcome::TimedOut, outcome.detail};
    case DeviceFault::WroteLate:
    case DeviceFault::Forbidden: return {Outcome::Cheated, outcome.detail};
    case DeviceFault::Unsupported: return {Outcome::Refused, outcome.detail};
    case DeviceFault::Lost: lost = true; return {Outcome::LaunchFailed, "the GPU itself failed: " + outcome.detail};
    default: break;
  }
  const bool astray = !near.empty() && !near.starts_with("inside ");
  if (!near.empty() && outcome.wrote) return {Outcome::WroteOutside, near, astray};
  return {Outcome::Crashed, outcome.detail + (near.empty() ? "" : " (" + near + ")"), astray};
}

}  // namespace kernelift::sandbox
