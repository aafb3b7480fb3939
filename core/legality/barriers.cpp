// See barriers.h.
#include "core/legality/barriers.h"

#include <isl/map.h>
#include <isl/set.h>

#include <bit>

#include "core/model/launch/limits.h"

namespace kernelift::legality {

namespace {

/// Which threads of a block reach a barrier in which iteration.
struct Arrivals {
  isl::map threads;  ///< Iterations to threads.
  std::string open;  ///< What that depends on, and is not understood; else empty.
};

Arrivals arrivals(Setting& setting, const Side& side, const KernelModel::Barrier& barrier) {
  Arrivals found;
  InstanceText text(side.launch, setting.parameters, InstanceText::Scope::Block);
  setting.fix_uniform_terms(text, side.model, barrier.domain.variables(), InstanceText::Scope::Block);
  text.constrain(barrier.domain);
  std::string group;  // Iterations: the barrier is met once in each.
  for (auto& component : barrier.time) {
    if (component.as_constant()) continue;
    auto counter = component.as_variable() ? text.counter(*component.as_variable()) : std::nullopt;
    if (counter) group += (group.empty() ? "" : ", ") + *counter;
    else found.open = component.text();
  }
  if (text.uses_terms())
    for (auto& variable : barrier.domain.variables())
      if (auto* term = side.model.term(variable)) found.open = setting.shown(*term);
  if (!text.exact()) found.open = text.reason();
  if (!found.open.empty()) return found;
  const std::string parameters = "[" + text.parameter_list() + "] -> ", dimensions = "I[" + text.dimensions() + "]";
  isl::set instances(setting.context, parameters + "{ " + dimensions + " : " + text.constraints() + " }");
  isl::map of(setting.context, parameters + "{ " + dimensions + " -> G[" + group + "] }");
  isl::map thread(setting.context, parameters + "{ " + dimensions + " -> T[tid_x, tid_y, tid_z] }");
  found.threads = of.intersect_domain(instances).reverse().apply_range(thread);
  return found;
}

}  // namespace

std::optional<Findings> divergent_barriers(Setting& setting, const Side& side) {
  Findings found;
  for (auto& barrier : side.model.barriers) {
    if (barrier.of_warp) continue;
    const Arrivals some = arrivals(setting, side, barrier);
    if (!some.open.empty()) {
      found.not_known = "whether all threads reach the barrier" + at_line(barrier.line) + " depends on " + some.open;
      found.line = barrier.line;
      return found;
    }
    auto& block = side.launch.block;
    isl::set threads(setting.context, "{ T[x, y, z] : 0 <= x < " + std::to_string(block.x) + " and 0 <= y < " +
                                          std::to_string(block.y) + " and 0 <= z < " + std::to_string(block.z) + " }");
    isl::map missing = isl::map::from_domain_and_range(some.threads.domain(), threads).subtract(some.threads);
    isl::set divergent = missing.params().intersect(setting.asked);
    if (divergent.is_null()) return std::nullopt;
    if (is_empty(divergent)) continue;
    found.wrong.push_back(
        {divergent, "some threads of a block do not reach the barrier" + at_line(barrier.line), barrier.line});
  }
  return found;
}

std::string same_lanes(const Side& side, const KernelModel::Barrier& barrier, const std::string& a,
                       const std::string& b) {
  if (!barrier.apart || side.launch.block.x % kWarpSize != 0) return "";
  // Bits of a number are those that it has more than its multiple of twice the highest one.
  auto equal_above = [&](uint32_t bit) {
    const std::string size = std::to_string(bit);
    return "floor((" + a + ")/" + size + ") = floor((" + b + ")/" + size + ")";
  };
  std::string same = equal_above(kWarpSize);
  const uint32_t apart = *barrier.apart, low = apart & -apart;
  if (apart == 0) return same;
  if (!std::has_single_bit(apart / low + 1)) return "";
  if (2 * std::bit_floor(apart) == kWarpSize) return equal_above(low);
  if (low != 1) return "";
  const std::string size = std::to_string(apart + 1);
  return same + " and ((" + a + ") - (" + b + ")) mod " + size + " = 0";
}

bool reached_by_all_lanes(Setting& setting, const Side& side, const KernelModel::Barrier& barrier) {
  const std::string same = same_lanes(side, barrier, "x", "lane");
  if (same.empty()) return false;
  const Arrivals some = arrivals(setting, side, barrier);
  if (!some.open.empty()) return false;
  isl::map lanes(setting.context, "{ T[x, y, z] -> T[lane, y, z] : " + same + " }");
  isl::map all = some.threads.intersect_params(setting.asked).apply_range(lanes);
  return all.is_subset(some.threads).is_true();
}

}  // namespace kernelift::legality
