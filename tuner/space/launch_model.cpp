// See launch_model.h. Free variables are determined in this order: knobs; kernel arguments that are spelled like the
// variable (their recorded value); the variable of the block's size (`threads` in `<<<(n + threads - 1) / threads,
// threads>>>`); and at most one more per axis by bisection, because launch expressions grow with the problem size.
#include "tuner/space/launch_model.h"

#include <algorithm>
#include <map>

#include "core/model/knob/template_arguments.h"
#include "core/model/launch_values.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 40;  ///< Bound of the bisection: more elements than any GPU holds.

/// The largest value of `name` for which the expression equals `target`, if the expression is monotonic in `name`.
std::optional<int64_t> solve(const Expression& expression, const std::string& name, Bindings bound, int64_t target) {
  int64_t low = 0, high = kLargestSize;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    bound[name] = middle;
    auto value = expression.evaluate(bound);
    if (!value.ok() || *value > target) high = middle - 1;
    else low = middle;
  }
  bound[name] = low;
  auto value = expression.evaluate(bound);
  if (!value.ok() || *value != target || low == kLargestSize) return std::nullopt;
  return low;
}

/// Puts the constants of template arguments (core/model/knob/template_arguments.h) in the place of the numbers that
/// stand for them beside the launch: all of a block's, and of a grid's those by which it is divided.
void name_arguments(const Mep& mep, std::optional<Expression> (&grid)[3], std::optional<Expression> (&block)[3]) {
  std::map<int64_t, std::vector<const Knob*>> by_value;
  for (auto& knob : mep.knobs)
    if (knob.in_geometry && is_template_argument(mep, knob)) by_value[knob.value].push_back(&knob);
  for (auto& [value, knobs] : by_value) {
    auto spells = [&](const std::optional<Expression>& size) {
      return size && size->find([&](const Expression& node) { return node.is_constant(value); });
    };
    const auto axes = static_cast<size_t>(std::ranges::count_if(block, spells));
    size_t next = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (!spells(block[axis])) continue;
      const Expression size = Expression::variable(knobs[axes == knobs.size() ? next++ : 0]->name);
      auto named = [&](const Expression& text) {
        return text.rewritten([&](const Expression& node) -> std::optional<Expression> {
          if (node.is_constant(value)) return size;
          if (node.is_constant(value - 1)) return size - Expression::constant(1);
          return std::nullopt;
        });
      };
      block[axis] = block[axis]->rewritten(
          [&](const Expression& node) { return node.is_constant(value) ? std::optional(size) : std::nullopt; });
      auto quotient = grid[axis] ? grid[axis]->as_quotient() : std::nullopt;
      if (!quotient || !spells(quotient->divisor)) continue;
      grid[axis] = quotient->ceiling ? ceil_div(quotient->dividend, named(quotient->divisor))
                                     : named(quotient->dividend) / named(quotient->divisor);
    }
  }
}

}  // namespace

std::optional<LaunchModel> LaunchModel::fit(const Mep& mep, std::string& contradiction) {
  contradiction = "no launch of the kernel was found whose geometry is visible in the source";
  Bindings knobs;
  for (auto& knob : mep.knobs) knobs[knob.name] = knob.value;
  for (auto& spelled : mep.launches) {
    // Where a macro's definition spells them, a block that follows a knob follows it in all launches that the macro
    // writes.
    const bool follows_knob = std::ranges::any_of(spelled.block, [&](auto& size) {
      return size && std::ranges::any_of(mep.knobs, [&](auto& knob) { return size->uses(knob.name); });
    });
    if (!spelled.spells_geometry() && !follows_knob) {
      contradiction = "the definition of a macro spells grid and block of the launch at line " +
                      std::to_string(spelled.range.line) + ", where a patch cannot change them for this launch alone";
      continue;
    }
    const LaunchSite site = over_arguments(spelled, mep);
    LaunchModel model;
    model.knobs_ = knobs;
    bool consistent = !mep.instances.empty();
    auto contradicts = [&](const char* what, int axis, const Expression& expression, int64_t says, int64_t recorded) {
      consistent = false;
      contradiction = "the launch at line " + std::to_string(site.range.line) + " says " + what + " " + "xyz"[axis] +
                      " is " + expression.text() + ", which is " + std::to_string(says) + ", and " +
                      std::to_string(recorded) + " was recorded";
    };
    for (int axis = 0; axis < 3; ++axis) model.grid_[axis] = site.grid[axis], model.block_[axis] = site.block[axis];
    name_arguments(mep, model.grid_, model.block_);
    for (auto& instance : mep.instances) {
      Bindings arguments = knobs;
      for (size_t i = 0; i < site.argument_text.size() && i < mep.parameters.size(); ++i)
        if (auto value = mep.integer_argument(instance, i)) arguments.emplace(site.argument_text[i], *value);
      for (int axis = 0; axis < 3; ++axis) {  // The block first: the value of its variable is recorded.
        if (!model.block_[axis]) continue;
        int64_t recorded = along(instance.geometry.block, axis);
        if (auto* name = model.block_[axis]->as_variable()) arguments.emplace(*name, recorded);
        auto value = model.block_[axis]->evaluate(arguments);
        if (!value.ok()) model.block_[axis].reset();
        else if (*value != recorded) contradicts("block", axis, *model.block_[axis], *value, recorded);
      }
      for (int axis = 0; axis < 3; ++axis) {
        Bindings bound = arguments;
        model.bound_[axis].emplace_back();
        if (!model.grid_[axis]) continue;
        std::vector<std::string> unknown;
        for (auto& name : model.grid_[axis]->variables())
          if (!bound.contains(name)) unknown.push_back(name);
        int64_t recorded = along(instance.geometry.grid, axis);
        if (unknown.size() == 1)
          if (auto value = solve(*model.grid_[axis], unknown[0], bound, recorded)) bound[unknown[0]] = *value;
        auto value = model.grid_[axis]->evaluate(bound);
        if (!value.ok()) model.grid_[axis].reset();
        else if (*value != recorded) contradicts("grid", axis, *model.grid_[axis], *value, recorded);
        model.bound_[axis].back() = bound;
      }
    }
    if (consistent) return model;
  }
  return std::nullopt;
}

std::optional<Expression> LaunchModel::divisor(int axis) const {
  auto quotient = grid_[axis] ? grid_[axis]->as_quotient() : std::nullopt;
  return quotient ? std::optional(quotient->divisor) : std::nullopt;
}

Result<int64_t> LaunchModel::grid_at(int axis, size_t instance, const Bindings& knobs) const {
  KERNELIFT_ASSERT(grid_[axis], "the axis has an expression");
  Bindings bound = bound_[axis][instance];
  for (auto& [name, value] : knobs) bound[name] = value;
  return grid_[axis]->evaluate(bound);
}

std::optional<Expression> shared_bytes_by_knobs(const Mep& mep) {
  const Bindings knobs = mep.knob_values();
  std::optional<Expression> all;
  for (auto* site : mep.all_launches()) {
    auto& bytes = site->shared;
    if (!bytes || bytes->variables().empty() || (all && all != bytes)) return std::nullopt;
    all = bytes;
  }
  auto now = all ? all->evaluate(knobs) : Result<int64_t>(usage_error("no launch"));
  const bool as_recorded = now.ok() && std::ranges::all_of(mep.instances, [&](auto& instance) {
                             return instance.geometry.shared_bytes == *now;
                           });
  return as_recorded && mep.unseen_launches.empty() ? all : std::nullopt;
}

}  // namespace kernelift::tuner
