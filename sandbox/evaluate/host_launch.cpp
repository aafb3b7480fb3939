// See host_launch.h.
#include "sandbox/evaluate/host_launch.h"

#include <algorithm>

#include "core/model/launch/limits.h"

namespace kernelift::sandbox {

bool HostLaunch::decides_geometry(const std::string& variable) const {
  auto uses = [&](const std::optional<Expression>& size) { return size && size->uses(variable); };
  return std::ranges::any_of(site.grid, uses) || std::ranges::any_of(site.block, uses);
}

std::optional<int64_t> evaluated(const std::optional<Expression>& expression, const Bindings& variables) {
  if (!expression) return std::nullopt;
  auto value = expression->evaluate(variables);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::optional<Geometry> geometry_of(const LaunchSite& site, const Bindings& variables, const Geometry& recorded) {
  Geometry geometry = recorded;
  for (auto& condition : site.grid_where)
    if (evaluated(condition, variables).value_or(0) == 0) return std::nullopt;
  for (int axis = 0; axis < 3; ++axis) {
    auto blocks = evaluated(site.grid[axis], variables), threads = evaluated(site.block[axis], variables);
    if (!blocks || !threads || *blocks < 1 || *threads < 1 || *blocks > along(kLargestGrid, axis) ||
        *threads > along(kLargestBlock, axis))
      return std::nullopt;
    along(geometry.grid, axis) = static_cast<uint32_t>(*blocks);
    along(geometry.block, axis) = static_cast<uint32_t>(*threads);
  }
  if (auto shared = evaluated(site.shared, variables); shared && *shared >= 0)
    geometry.shared_bytes = static_cast<uint32_t>(*shared);
  return geometry;
}

std::optional<HostLaunch> as_launched(const Mep& mep, const MepInstance& instance, const LaunchSite& site,
                                      const std::vector<KernelModel::Member>& members) {
  HostLaunch launch;
  launch.site = site, launch.variables = mep.named_values();
  for (int axis = 0; axis < 3; ++axis)
    if (auto* name = site.block[axis] ? site.block[axis]->as_variable() : nullptr)
      launch.variables.emplace(*name, along(instance.geometry.block, axis));
  std::map<size_t, Expression> passed;
  for (size_t p = 0; p < site.argument_text.size(); ++p) {
    auto value = mep.integer_argument(instance, p);
    auto text = Expression::parse(site.argument_text[p]);
    if (!value || !text.ok()) continue;
    passed.emplace(p, *text);
    if (auto* name = text->as_variable()) {
      auto [known, added] = launch.variables.emplace(*name, *value);
      if (added) launch.directly.emplace(*name, p);
      if (known->second != *value) return std::nullopt;
    }
  }
  for (auto& member : members) {
    const size_t p = member.parameter;
    auto whole = Expression::parse(p < site.argument_text.size() ? site.argument_text[p] : "");
    auto value = mep.integer_member(instance, p, member.offset, member.type);
    if (!value || !whole.ok() || !whole->as_variable()) continue;
    const std::string name = *whole->as_variable() + member.path;
    auto names_it = [&](auto& size) { return size && size->uses(name); };
    if (std::ranges::none_of(site.grid, names_it) && std::ranges::none_of(site.block, names_it)) continue;
    if (launch.variables.emplace(name, *value).first->second != *value) return std::nullopt;
    launch.members.emplace_back(name, member);
  }
  // A number of blocks that the kernel is not given, `dim3(…, …, batch)`, is what it was.
  for (int axis = 0; axis < 3; ++axis)
    if (auto* name = site.grid[axis] ? site.grid[axis]->as_variable() : nullptr)
      if (launch.variables.emplace(*name, along(instance.geometry.grid, axis)).second) launch.as_recorded.insert(axis);
  // Where nothing else follows from the arguments either, the launch says nothing of other sizes.
  auto follows = [&](int axis) {
    return site.grid[axis] && !launch.as_recorded.contains(axis) && !site.grid[axis]->variables().empty();
  };
  if (!launch.as_recorded.empty() && !follows(0) && !follows(1) && !follows(2)) return std::nullopt;
  for (auto& [p, text] : passed)
    if (evaluated(text, launch.variables) == mep.integer_argument(instance, p)) launch.arguments.emplace(p, text);
  auto geometry = geometry_of(site, launch.variables, instance.geometry);
  if (!geometry || geometry->grid != instance.geometry.grid || geometry->block != instance.geometry.block)
    return std::nullopt;
  return launch;
}

HostLaunch with_recorded_grid(const Mep& mep, const MepInstance& instance, const LaunchSite* site) {
  HostLaunch launch;
  if (site) launch.site = *site;
  launch.site.grid_where.clear();
  for (int axis = 0; axis < 3; ++axis) {
    launch.site.grid[axis] = Expression::constant(along(instance.geometry.grid, axis));
    launch.site.block[axis] = Expression::constant(along(instance.geometry.block, axis));
    launch.as_recorded.insert(axis);
  }
  launch.site.shared = Expression::constant(instance.geometry.shared_bytes);
  launch.site.argument_text.resize(mep.parameters.size());
  launch.variables = mep.named_values();
  for (size_t p = 0; p < mep.parameters.size(); ++p) {
    const auto value = mep.integer_argument(instance, p);
    auto text = Expression::parse(launch.site.argument_text[p]);
    if (!value || (text.ok() && evaluated(*text, mep.named_values()) == value)) continue;
    // What is computed from variables of the host is one of its own: nothing says what else follows from them.
    const std::string own = "argument.a" + std::to_string(p);
    auto* name = text.ok() ? text->as_variable() : nullptr;
    auto known = launch.variables.emplace(name ? *name : own, *value).first;
    if (known->second != *value) known = launch.variables.emplace(own, *value).first;
    launch.directly.emplace(known->first, p);
    launch.arguments.emplace(p, Expression::variable(known->first));
  }
  return launch;
}

}  // namespace kernelift::sandbox
