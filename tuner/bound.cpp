// See bound.h.
#include "tuner/bound.h"

#include <algorithm>

namespace kernelift::tuner {

const char* name(Bound bound) {
  const char* const names[] = {"unknown", "memory", "latency", "compute"};
  return names[static_cast<int>(bound)];
}

Bound bound_by(const KernelFacts& facts) {
  constexpr double kNear = 0.5;  // Share of a roof from which on it counts as the bound.
  auto share = [&](std::optional<double> amount, std::optional<double> peak) {
    return amount && peak && *peak > 0 && facts.seconds > 0 ? *amount / *peak / facts.seconds : 0;
  };
  std::optional<double> dram;
  if (facts.dram_read_bytes && facts.dram_written_bytes) dram = *facts.dram_read_bytes + *facts.dram_written_bytes;
  double memory = std::max(share(dram, facts.peaks.dram_bytes), share(facts.l2_bytes, facts.peaks.l2_bytes));
  double compute =
      std::max({share(facts.fp32_operations, facts.peaks.fp32_operations),
                share(facts.fp64_operations, facts.peaks.fp64_operations), facts.tensor_active.value_or(0)});
  if (std::max(memory, compute) >= kNear) return memory >= compute ? Bound::Memory : Bound::Compute;
  // Busy schedulers without floating-point arithmetic execute other instructions.
  if (facts.issue_active.value_or(0) >= kNear) return Bound::Compute;
  double all = 0, queues = 0, pipes = 0;
  for (auto& [reason, cycles] : facts.stalls) {
    if (reason == "selected") continue;
    all += cycles;
    if (reason == "lg_throttle" || reason == "tex_throttle" || reason == "drain") queues += cycles;
    if (reason == "math_pipe_throttle" || reason == "not_selected" || reason == "mio_throttle") pipes += cycles;
  }
  if (all <= 0) return memory > 0 || compute > 0 ? Bound::Latency : Bound::Unknown;
  return queues > all * kNear ? Bound::Memory : pipes > all * kNear ? Bound::Compute : Bound::Latency;
}

}  // namespace kernelift::tuner
