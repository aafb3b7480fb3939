// See launches.h.
#include "core/legality/launches.h"

#include <isl/set.h>

#include "core/model/launch/limits.h"

namespace kernelift::legality {
namespace {

isl::set parameters(const Setting& setting, const InstanceText& text, const std::string& more) {
  return isl::set(setting.context, "[" + text.parameter_list() + "] -> { [" + text.dimensions() +
                                       "] : " + text.constraints() + more + " }")
      .params();
}

}  // namespace

Findings launched(Setting& setting) {
  Findings found;
  auto& all = setting.asked = isl::set(setting.context, "[] -> { : }");
  for (auto* side : {&setting.original, &setting.candidate})
    for (int axis = 0; axis < 3; ++axis) {
      auto& grid = side->launch.grid[axis];
      InstanceText text(side->launch, setting.parameters, InstanceText::Scope::Block);
      const std::string blocks = blocks_name(side->launch, axis, setting.parameters);
      auto size = grid ? text.affine(*grid) : std::nullopt;
      if (grid && (!size || !text.exact())) {
        found.not_known = "the grid's size " + setting.shown(*grid) + " is not affine";
        return found;
      }
      // No number of 32 bits makes a grid too large along x.
      const std::string most = axis == 0 ? "" : " <= " + std::to_string(along(kLargestGrid, axis));
      const std::string fits = "1 <= " + blocks + most, is = size ? " and " + blocks + " = " + *size : "";
      if (side == &setting.original) {
        all = all.intersect(parameters(setting, text, is + " and " + fits));
        continue;
      }
      isl::set none = all.intersect(parameters(setting, text, is + " and not (" + fits + ")"));
      if (!is_empty(none))
        found.wrong.push_back(
            {none, std::string("the candidate's grid has no size along ") + "xyz"[axis] + " that can be launched", 0});
      all = all.intersect(parameters(setting, text, is));
    }
  for (auto* side : {&setting.original, &setting.candidate})
    for (auto& condition : side->model.assumed) {
      InstanceText text(side->launch, setting.parameters, InstanceText::Scope::Block);
      text.constrain(condition);
      if (text.exact()) all = all.intersect(parameters(setting, text, ""));
    }
  return found;
}

}  // namespace kernelift::legality
