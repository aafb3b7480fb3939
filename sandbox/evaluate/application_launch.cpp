// See application_launch.h.
#include "sandbox/evaluate/application_launch.h"

#include <algorithm>
#include <cstring>

#include "core/model/launch_values.h"
#include "sandbox/evaluate/passed_twice.h"

namespace kernelift::sandbox {
namespace {

std::set<Dim3> recorded_blocks(const Mep& mep) {
  std::set<Dim3> blocks;
  for (auto& instance : mep.instances) blocks.insert(instance.geometry.block);
  return blocks;
}

/// The site's expression over the kernel's parameters; nullopt: it uses something that the kernel is not given.
/// A constant that is spelled as the block's size (`<<<(n + B - 1) / B, B>>>`) has the recorded one.
std::optional<Expression> over_parameters(const Expression& expression, const Mep& mep, const LaunchSite& site,
                                          const Dim3& block) {
  std::map<std::string, Expression> known;
  for (auto& [name, value] : mep.named_values()) known.emplace(name, Expression::constant(value));
  for (int axis = 0; axis < 3; ++axis)
    if (auto* name = site.block[axis] ? site.block[axis]->as_variable() : nullptr)
      known.emplace(*name, Expression::constant(along(block, axis)));
  std::vector<std::pair<Expression, size_t>> computed;  // Arguments that are no plain variables.
  for (size_t p = 0; p < site.argument_text.size() && p < mep.parameters.size(); ++p) {
    auto text = Expression::parse(site.argument_text[p]);
    if (mep.parameters[p].is_index() && text.ok()) {
      if (text->as_variable()) known.emplace(*text->as_variable(), Expression::variable(model_argument(p)));
      else if (!text->variables().empty()) computed.emplace_back(*text, p);
    }
    // `view.n` of a structure is known by its path until a model tells where that lies.
    if (mep.parameters[p].record.empty() || !text.ok() || !text->as_variable()) continue;
    for (auto& name : expression.variables())
      if (name.starts_with(*text->as_variable() + "."))
        known.emplace(name, Expression::variable(model_argument(p) + name.substr(text->as_variable()->size())));
  }
  auto is_known = [&](const std::string& name) { return known.contains(name); };
  if (std::ranges::all_of(expression.variables(), is_known)) return expression.substitute(known);
  // What is passed as a whole is that argument, whatever it is computed from; the longest first.
  std::ranges::sort(computed, std::greater(), [](auto& one) { return std::pair(one.first.size(), one.second); });
  Expression over = expression;
  std::map<std::string, Expression> whole;
  for (auto& [text, p] : computed) {
    const std::string name = "argument.a" + std::to_string(p);
    over = over.rewritten(
        [&](auto& node) { return node == text ? std::optional(Expression::variable(name)) : std::nullopt; });
    whole.emplace(name, Expression::variable(model_argument(p)));
  }
  known.merge(whole);
  if (!std::ranges::all_of(over.variables(), is_known)) return std::nullopt;
  return over.substitute(known);
}

/// Pointer arguments that have one address in a recorded launch, or at `site`.
std::set<std::pair<size_t, size_t>> one_memory(const Mep& mep, const LaunchSite* site) {
  std::set<std::pair<size_t, size_t>> pairs;
  if (site) pairs = passed_twice(*site);
  auto address = [&](const MepInstance& instance, size_t p) {
    uint64_t value = 0;
    if (p < instance.parameters.size() && instance.parameters[p].offset + sizeof value <= instance.arguments.size())
      std::memcpy(&value, instance.arguments.data() + instance.parameters[p].offset, sizeof value);
    return value;
  };
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    for (size_t q = p + 1; q < mep.parameters.size(); ++q) {
      if (mep.parameters[p].pointee.empty() || mep.parameters[q].pointee.empty()) continue;
      // A pack that is written out is one text for several arguments.
      const bool spelled = site && q < site->argument_text.size() && !site->argument_text[p].empty() &&
                           site->argument_text[p] == site->argument_text[q] && !site->argument_text[p].ends_with("...");
      const bool recorded = std::ranges::any_of(mep.instances, [&](auto& instance) {
        return address(instance, p) != 0 && address(instance, p) == address(instance, q);
      });
      if (spelled || recorded) pairs.emplace(p, q);
    }
  return pairs;
}

}  // namespace

std::string model_argument(size_t index) { return "arg.a" + std::to_string(index); }

legality::LaunchShape over_members(legality::LaunchShape shape, const std::vector<KernelModel::Member>& members) {
  std::map<std::string, Expression> by;
  for (auto& member : members)
    by.emplace(model_argument(member.parameter) + member.path, Expression::variable(member.variable()));
  for (int axis = 0; axis < 3; ++axis) {
    auto is_path = [&](const std::string& name) {
      return name.starts_with("arg.a") && name.find('.', std::strlen("arg.a")) != name.npos && !by.contains(name);
    };
    auto& grid = *shape.grid[axis];
    if (std::ranges::any_of(grid.variables(), is_path))
      grid = Expression::variable(std::string("blocks.") + "xyz"[axis]);
    else grid = grid.substitute(by);
  }
  if (shape.grid_where) shape.grid_where = shape.grid_where->substitute(by);
  return shape;
}

std::optional<Expression> has_recorded_block(const Mep& mep) {
  const std::set<Dim3> blocks = recorded_blocks(mep);
  using Op = Expression::Op;
  const Bindings constants = mep.named_values();
  const auto sites = mep.all_launches();
  bool asks = sites.empty(), asks_axis[3] = {asks, asks, asks};
  for (int axis = 0; axis < 3; ++axis)
    for (auto& block : blocks) asks_axis[axis] |= along(block, axis) != along(*blocks.begin(), axis);
  for (auto* site : sites) {
    Dim3 block;
    bool constant = true;
    for (int axis = 0; axis < 3; ++axis) {
      const auto says = constant_block(*site, axis, constants);
      constant &= says.has_value();
      asks_axis[axis] |= !says || *says != along(*blocks.begin(), axis);
      along(block, axis) = static_cast<uint32_t>(says.value_or(0));
    }
    asks |= !constant || !blocks.contains(block);
  }
  if (!asks || blocks.empty()) return std::nullopt;
  std::optional<Expression> any;
  for (auto& block : blocks) {
    std::optional<Expression> all;
    for (int axis = 0; axis < 3; ++axis) {
      if (!asks_axis[axis]) continue;
      const Expression one = Expression::binary(Op::Equal, Expression::variable(std::string("blockDim.") + "xyz"[axis]),
                                                Expression::constant(along(block, axis)));
      all = all ? Expression::binary(Op::And, *all, one) : one;
    }
    any = any ? Expression::binary(Op::Or, *any, *all) : *all;
  }
  return any;
}

legality::LaunchShape of_any_grid(const Mep& mep, legality::LaunchShape shape) {
  shape.grid_where.reset();
  for (int axis = 0; axis < 3; ++axis)
    if (!shape.grid[axis]->as_constant()) shape.grid[axis] = unknown_grid(mep, axis);
  return shape;
}

Expression unknown_grid(const Mep& mep, int axis) {
  const bool one =
      std::ranges::all_of(mep.instances, [&](auto& instance) { return along(instance.geometry.grid, axis) == 1; });
  return one ? Expression::constant(1) : Expression::variable(std::string("blocks.") + "xyz"[axis]);
}

std::vector<ApplicationLaunch> launches_of(const Mep& mep) {
  const std::set<Dim3> recorded = recorded_blocks(mep);
  std::vector<ApplicationLaunch> launches;
  for (auto* one : mep.all_launches())
    for (auto& block : recorded) {
      auto& site = *one;
      ApplicationLaunch launch;
      launch.place = "the launch at line " + std::to_string(site.range.line);
      launch.one_memory = one_memory(mep, one);
      bool fits = true, return_to_unknown = false;
      for (int axis = 0; axis < 3; ++axis) {
        along(launch.shape.block, axis) = along(block, axis);
        const auto says = constant_block(site, axis, mep.named_values());
        fits &= !says || *says == along(block, axis);
        if (site.grid[axis]) launch.shape.grid[axis] = over_parameters(*site.grid[axis], mep, site, block);
        if (!launch.shape.grid[axis]) launch.shape.grid[axis] = unknown_grid(mep, axis);
      }
      for (auto& condition : site.grid_where) {
        const auto over = over_parameters(condition, mep, site, block);
        auto& all = launch.shape.grid_where;
        if (over) all = all ? Expression::binary(Expression::Op::And, *all, *over) : *over;
        else return_to_unknown = true;
      }
      if (return_to_unknown) launch.shape = of_any_grid(mep, launch.shape);
      if (site.shared_range.begin < site.shared_range.end)
        launch.shared = site.shared ? over_parameters(*site.shared, mep, site, block) : std::nullopt;
      auto known = [&](auto& other) { return other.asks_the_same(launch); };
      if (fits && std::ranges::none_of(launches, known)) launches.push_back(std::move(launch));
    }
  if (!launches.empty()) return launches;
  for (auto& block : recorded) {
    ApplicationLaunch launch{{block, {}}, "the recorded launch", one_memory(mep, nullptr)};
    for (int axis = 0; axis < 3; ++axis) launch.shape.grid[axis] = unknown_grid(mep, axis);
    if (std::ranges::any_of(mep.instances, [](auto& one) { return one.geometry.shared_bytes > 0; }))
      launch.shared.reset();
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace kernelift::sandbox
