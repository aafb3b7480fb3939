// See launches.h.
#include "core/legality/launches.h"

#include <isl/set.h>

#include <algorithm>

#include "core/model/launch/limits.h"

namespace kernelift::legality {
namespace {

/// Threads along an axis that are asked about where sizes have 32 bits: as many count them, and a tile more.
constexpr int64_t kEnd = int64_t(1) << 31, kMostAlong = kEnd - (1 << 20);
/// The same where a size has 64. Blocks of 64 threads are enough for them.
constexpr int64_t kMostOfWide = 64 * (kEnd - 1);

/// A size of 64 bits says how many blocks there are.
bool is_wide(const Expression& grid, const Side& side) {
  return std::ranges::any_of(grid.variables(), [&](auto& name) {
    auto width = side.model.widths.find(name);
    return width == side.model.widths.end() || width->second > 32;
  });
}

/// What a number of its type can be.
std::string ranges(const Expression& grid, const Side& side, InstanceText& text) {
  std::string all;
  for (auto& name : grid.variables()) {
    auto width = side.model.widths.find(name);
    auto parameter = width != side.model.widths.end() && width->second <= 32 ? text.affine(Expression::variable(name))
                                                                             : std::nullopt;
    if (parameter) all += " and " + std::to_string(-kEnd) + " <= " + *parameter + " <= " + std::to_string(kMostAlong);
  }
  return all;
}

isl::set parameters(const Setting& setting, const InstanceText& text, const std::string& more) {
  return isl::set(setting.context, "[" + text.parameter_list() + "] -> { [" + text.dimensions() +
                                       "] : " + text.constraints() + more + " }")
      .params();
}

/// Remainders of division by a parameter.
void collect_remainders(const Expression& expression, std::vector<Expression>& into) {
  for (auto& operand : expression.operands()) collect_remainders(operand, into);
  if (expression.op() != Expression::Op::Remainder || expression.operands()[1].as_constant()) return;
  const bool of_parameters =
      std::ranges::all_of(expression.variables(), [](auto& name) { return name.starts_with("arg."); });
  if (of_parameters && std::ranges::find(into, expression) == into.end()) into.push_back(expression);
}

/// A remainder by a parameter is one more parameter to the sets, and has the dividend's sign and no larger a value.
void bound_remainders(Setting& setting, const Side& side) {
  std::vector<Expression> remainders;
  for (auto& access : side.model.accesses)
    collect_remainders(access.offset, remainders), collect_remainders(access.domain, remainders);
  for (auto& remainder : remainders) {
    InstanceText text(side.launch, setting.parameters, InstanceText::Scope::Block);
    auto rest = text.affine(remainder), of = text.affine(remainder.operands()[0]),
         by = text.affine(remainder.operands()[1]);
    if (!rest || !of || !by) continue;
    const std::string r = "(" + *rest + ")", a = "(" + *of + ")", b = "(" + *by + ")";
    text.add("(" + b + " = 0 or (" + a + " >= 0 and 0 <= " + r + " <= " + a + ") or (" + a + " < 0 and " + a +
             " <= " + r + " <= 0))");
    text.add("(" + b + " = 0 or (" + b + " > 0 and -" + b + " < " + r + " < " + b + ") or (" + b + " < 0 and " + b +
             " < " + r + " < -" + b + "))");
    setting.asked = setting.asked.intersect(parameters(setting, text, ""));
  }
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
      const bool wide = grid && is_wide(*grid, *side);
      // No number of 32 bits makes a grid too large along x.
      const std::string most = axis == 0 && !wide ? "" : " <= " + std::to_string(along(kLargestGrid, axis));
      const std::string few =
          blocks + " <= " + std::to_string((wide ? kMostOfWide : kMostAlong) / along(side->launch.block, axis));
      const std::string fits = "1 <= " + blocks + most,
                        is = size ? " and " + blocks + " = " + *size + ranges(*grid, *side, text) : "";
      if (side == &setting.original) {
        all = all.intersect(parameters(setting, text, is + " and " + fits + " and " + few));
        continue;
      }
      isl::set none = all.intersect(parameters(setting, text, is + " and not (" + fits + ")"));
      if (!is_empty(none))
        found.wrong.push_back(
            {none, std::string("the candidate's grid has no size along ") + "xyz"[axis] + " that can be launched", 0});
      all = all.intersect(parameters(setting, text, is + " and " + few));
    }
  const isl::set launched = all;
  if (auto& where = setting.original.launch.grid_where) {
    InstanceText text(setting.original.launch, setting.parameters, InstanceText::Scope::Block);
    text.constrain(*where);
    if (!text.exact()) {
      found.not_known = "whether " + setting.shown(*where) + " is not understood";
      return found;
    }
    all = all.intersect(parameters(setting, text, ""));
    if (!is_empty(launched.subtract(all)))
      setting.why_unread = "the number of blocks is computed in single precision, and not known there";
  }
  for (auto* side : {&setting.original, &setting.candidate})
    for (auto& condition : side->model.assumed) {
      InstanceText text(side->launch, setting.parameters, InstanceText::Scope::Block);
      text.constrain(condition);
      if (!text.exact()) {
        found.not_known = "whether " + setting.shown(condition) + " is not understood";
        return found;
      }
      all = all.intersect(parameters(setting, text, ""));
      if (setting.why_unread.empty() && !is_empty(launched.subtract(all)))
        setting.why_unread = condition.op() == Expression::Op::GreaterEqual && condition.operands()[1].is_constant(0)
                                 ? "a negative number is a large one where the kernel reads it as unsigned"
                                 : "elsewhere a product of " + setting.shown(condition.operands()[0]) +
                                       " may not fit into 64 bits where it is compared or divided";
    }
  setting.unread = launched.subtract(all);
  for (auto* side : {&setting.original, &setting.candidate}) bound_remainders(setting, *side);
  return found;
}

}  // namespace kernelift::legality
