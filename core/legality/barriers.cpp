// See barriers.h.
#include "core/legality/barriers.h"

#include <isl/map.h>
#include <isl/set.h>

namespace kernelift::legality {

std::optional<Findings> divergent_barriers(Setting& setting, const Side& side) {
  Findings found;
  auto depends = [&](unsigned line, const std::string& what) {
    found.not_known = "whether all threads reach the barrier" + at_line(line) + " depends on " + what;
    found.line = line;
  };
  for (auto& barrier : side.model.barriers) {
    if (barrier.of_warp) continue;
    InstanceText text(side.launch, setting.parameters, InstanceText::Scope::Block);
    setting.fix_uniform_terms(text, side.model, barrier.domain.variables(), InstanceText::Scope::Block);
    text.constrain(barrier.domain);
    std::string group;  // Iterations: the barrier is met once in each.
    for (auto& component : barrier.time) {
      if (component.as_constant()) continue;
      auto counter = component.as_variable() ? text.counter(*component.as_variable()) : std::nullopt;
      if (counter) group += (group.empty() ? "" : ", ") + *counter;
      else depends(barrier.line, component.text());
    }
    if (text.uses_terms())
      for (auto& variable : barrier.domain.variables())
        if (auto* term = side.model.term(variable)) depends(barrier.line, setting.shown(*term));
    if (!text.exact()) depends(barrier.line, text.reason());
    if (!found.not_known.empty()) return found;
    const std::string parameters = "[" + text.parameter_list() + "] -> ", dimensions = "I[" + text.dimensions() + "]";
    isl::set instances(setting.context, parameters + "{ " + dimensions + " : " + text.constraints() + " }");
    isl::map of(setting.context, parameters + "{ " + dimensions + " -> G[" + group + "] }");
    isl::map thread(setting.context, parameters + "{ " + dimensions + " -> T[tid_x, tid_y, tid_z] }");
    isl::map some = of.intersect_domain(instances).reverse().apply_range(thread);
    auto& block = side.launch.block;
    isl::set threads(setting.context, "{ T[x, y, z] : 0 <= x < " + std::to_string(block.x) + " and 0 <= y < " +
                                          std::to_string(block.y) + " and 0 <= z < " + std::to_string(block.z) + " }");
    isl::map missing = isl::map::from_domain_and_range(some.domain(), threads).subtract(some);
    isl::set divergent = missing.params().intersect(setting.asked);
    if (divergent.is_null()) return std::nullopt;
    if (is_empty(divergent)) continue;
    found.wrong.push_back(
        {divergent, "some threads of a block do not reach the barrier" + at_line(barrier.line), barrier.line});
  }
  return found;
}

}  // namespace kernelift::legality
