// See launch_values.h.
#include "core/model/launch_values.h"

#include <algorithm>
#include <set>

namespace kernelift {

Bindings with_arguments(const Mep& mep, const MepInstance& instance, Bindings values) {
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (auto value = mep.integer_argument(instance, p)) values.emplace(mep.parameters[p].name, *value);
  return values;
}

LaunchSite over_arguments(LaunchSite site, const Mep& mep) {
  std::map<size_t, Expression> passed;
  std::set<std::string> known;
  for (auto& [name, value] : mep.named_values()) known.insert(name);
  for (auto& size : site.block)
    if (size && size->as_variable()) known.insert(*size->as_variable());
  for (size_t p = 0; p < site.argument_text.size() && p < mep.parameters.size(); ++p) {
    auto text = Expression::parse(site.argument_text[p]);
    if (!mep.parameters[p].is_index() || !text.ok()) continue;
    if (auto* name = text->as_variable()) known.insert(*name);
    else passed.emplace(p, *text);
  }
  auto is_unknown = [&](auto& argument) {
    const auto variables = argument.second.variables();
    return std::ranges::any_of(variables, [&](auto& name) { return !known.contains(name); });
  };
  // The shortest first: longer ones are computed from it then, and follow it.
  for (;;) {
    auto next = passed.end();
    for (auto one = passed.begin(); one != passed.end(); ++one)
      if (is_unknown(*one) && (next == passed.end() || one->second.size() < next->second.size())) next = one;
    if (next == passed.end()) return site;
    const Expression is = next->second, by = Expression::variable("argument.a" + std::to_string(next->first));
    auto put_in = [&](const Expression& expression) {
      return expression.rewritten([&](auto& node) { return node == is ? std::optional(by) : std::nullopt; });
    };
    known.insert(*by.as_variable());
    site.argument_text[next->first] = by.text();
    passed.erase(next);
    for (auto& [p, text] : passed) text = put_in(text), site.argument_text[p] = text.text();
    for (int axis = 0; axis < 3; ++axis) {
      if (site.grid[axis]) site.grid[axis] = put_in(*site.grid[axis]);
      if (site.block[axis]) site.block[axis] = put_in(*site.block[axis]);
    }
    if (site.shared) site.shared = put_in(*site.shared);
    for (auto& condition : site.grid_where) condition = put_in(condition);
  }
}

std::optional<int64_t> constant_block(const LaunchSite& site, int axis, const Bindings& constants) {
  if (!site.block[axis]) return std::nullopt;
  auto value = site.block[axis]->evaluate(constants);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

}  // namespace kernelift
