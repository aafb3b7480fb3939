// See size_plan.h.
#include "sandbox/evaluate/size_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

#include "core/base/bytes.h"
#include "core/model/element_layout.h"
#include "core/model/kernel/declared_number.h"
#include "core/model/launch/limits.h"
#include "core/model/launch_values.h"
#include "sandbox/evaluate/passed_twice.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargestGrown = 64 << 20;   // Bytes of an instance's memory that is made larger.
constexpr uint64_t kLargestDoubled = 4 << 20;  // The same, where sizes are twice as large.
constexpr double kMostGrowth = 64;
constexpr size_t kMostBranches = 6;   // Launches of an instance, for each integer that is compared;
constexpr size_t kMostOfAll = 18;     // for all of them.
constexpr size_t kMostFactors = 6;    // Launches with another value of an integer that decides no size.
constexpr int64_t kLargestFlag = 16;  // A larger number is a size, of which smaller ones are tried anyway.

bool fits(int64_t value, const ScannedParameter& parameter, uint32_t bytes) {
  const unsigned bits = 8 * bytes - (parameter.is_unsigned() ? 0 : 1);
  return bits >= 63 || (value < int64_t(1) << bits && value >= (parameter.is_unsigned() ? 0 : -(int64_t(1) << bits)));
}

/// A recorded launch as its launch site in the application says it: variables of the host, and what follows from them.
struct HostLaunch {
  const LaunchSite* site = nullptr;
  Bindings variables;                      ///< Those that are known, with their recorded values.
  std::map<std::string, size_t> directly;  ///< The parameter to which the host passes each.
  std::map<size_t, Expression> arguments;  ///< Integer arguments that are expressions of them.
  /// Members of structures that the host passes, where its grid or block names them: "view.rows".
  std::vector<std::pair<std::string, KernelModel::Member>> members = {};
  std::set<int> as_recorded;  ///< Axes whose number of blocks nothing says but the recorded launch.
};

std::optional<int64_t> evaluated(const std::optional<Expression>& expression, const Bindings& variables) {
  if (!expression) return std::nullopt;
  auto value = expression->evaluate(variables);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

/// The launch's geometry; nullopt: it uses something that is not known, or no device launches it.
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

/// nullopt: the site does not describe the recorded launch, or leaves out how many blocks it has.
std::optional<HostLaunch> as_launched(const Mep& mep, const MepInstance& instance, const LaunchSite& site,
                                      const std::vector<KernelModel::Member>& members) {
  HostLaunch launch;
  launch.site = &site, launch.variables = mep.named_values();
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

/// Elements that one block covers along the axis whose number of blocks depends on the variable.
int64_t block_along(const HostLaunch& launch, const std::string& variable, const Dim3& block) {
  for (int axis = 0; axis < 3; ++axis)
    if (launch.site->grid[axis]->uses(variable)) return along(block, axis);
  return block.x;
}

struct Size {
  int64_t value = 0;
  bool shown = true;
};

/// Smaller values than the recorded one, those that show most first. `before`, `after`: blocks of original and
/// candidate.
std::vector<Size> sizes_of(int64_t recorded, int64_t before, int64_t after, std::mt19937_64& random) {
  std::vector<Size> sizes;
  auto add = [&](int64_t value, bool shown = true) {
    if (value >= 0 && value < recorded && std::ranges::find(sizes, value, &Size::value) == sizes.end())
      sizes.push_back({value, shown});
  };
  auto draw = [&](int64_t low, int64_t high) {
    if (low < high) add(low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low)), false);
  };
  // The largest number of whole blocks of the original, in the candidate's blocks not whole where that can be.
  const int64_t blocks = (recorded - 1) / before;
  int64_t last = blocks;
  while (last > 0 && blocks - last < after && last * before % after == 0) --last;
  add((last > 0 && last * before % after != 0 ? last : blocks) * before), add(recorded - 1);
  draw(std::max<int64_t>(2, recorded / 2), recorded - 1);
  add(1), add(recorded - 7);
  draw(2, std::max<int64_t>(3, recorded / 2));
  add(33), add(recorded - after), add(recorded - before), add(31);
  draw(std::max<int64_t>(2, recorded - 2 * before), recorded - 1);
  add(0);
  return sizes;
}

class Planner {
 public:
  Planner(const Mep& mep, const SizeQuestion& question) : mep_(mep), question_(question), random_(question.seed) {
    for (auto& site : mep.launches) sites_.push_back(over_arguments(site, mep));
  }

  SizePlan plan() {
    plan_.seed = question_.seed;
    std::string why = "the application's launch sites are not known";
    size_t planned = 0;
    for (size_t i : smallest_first()) {
      if (planned == kMostSizedInstances) break;
      std::optional<HostLaunch> launch;
      for (auto& site : sites_)
        if (!launch) launch = as_launched(mep_, mep_.instances[i], site, question_.members);
      if (!mep_.launches.empty()) why = "how many blocks it is launched with at other sizes is not known";
      if (launch && plan_instance(i, *launch)) ++planned;
      else if (launch) why = "neither its grid nor a condition in it depends on an integer argument";
    }
    if (planned == 0) plan_.left_out = why;
    return std::move(plan_);
  }

 private:
  std::vector<size_t> smallest_first() const {
    std::vector<size_t> order(mep_.instances.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return std::pair(mep_.instances[i].region_bytes(), i); });
    return order;
  }

  Dim3 candidate_block(const MepInstance& instance) const {
    auto& launches = question_.candidate.launches;
    auto geometry = launches.empty() ? Result<Geometry>(instance.geometry)
                                     : launches[0].evaluate(instance.geometry,
                                                            with_arguments(mep_, instance, question_.candidate.values));
    return geometry.ok() && geometry->block.count() > 0 ? geometry->block : instance.geometry.block;
  }

  /// False: there is nothing to vary.
  bool plan_instance(size_t index, const HostLaunch& launch) {
    const MepInstance& instance = mep_.instances[index];
    std::vector<std::string> varied;
    for (auto& [name, parameter] : launch.directly) {
      bool follows = question_.conditions.contains(parameter);
      for (int axis = 0; axis < 3; ++axis)
        follows |= launch.site->grid[axis]->uses(name) || launch.site->block[axis]->uses(name);
      if (follows) varied.push_back(name);
    }
    for (auto& [name, member] : launch.members)
      if (std::ranges::find(varied, name) == varied.end()) varied.push_back(name);
    std::vector<std::vector<Size>> sizes;
    for (auto& name : varied)
      sizes.push_back(sizes_of(launch.variables.at(name), block_along(launch, name, instance.geometry.block),
                               block_along(launch, name, candidate_block(instance)), random_));
    // Each argument in turn, and each time all of them at once, as a square image grows in both directions.
    const size_t begin = plan_.launches.size();
    for (size_t round = 0; plan_.launches.size() - begin < kMostSizes; ++round) {
      bool more = false;
      for (size_t v = 0; v < varied.size(); ++v)
        if (round < sizes[v].size()) {
          more = true;
          add(index, launch, {{varied[v], sizes[v][round].value}}, sizes[v][round].shown, begin);
        }
      if (!more) break;
      if (varied.size() < 2) continue;
      Bindings all;
      bool shown = true;
      for (size_t v = 0; v < varied.size(); ++v)
        if (round < sizes[v].size()) all[varied[v]] = sizes[v][round].value, shown &= sizes[v][round].shown;
      add(index, launch, all, shown, begin);
    }
    add_branches(index, launch, varied);
    add_factors(index, launch, varied);
    add_numbers(index, launch);
    if (!varied.empty()) add_larger(index, launch, varied);
    add_pointers(index, launch, varied);
    return !varied.empty() || plan_.launches.size() > begin;
  }

  void add(size_t index, const HostLaunch& launch, const Bindings& changed, bool shown, size_t begin) {
    if (plan_.launches.size() - begin >= kMostSizes) return;
    auto made = launched_with(index, launch, changed);
    if (!made || !made->has_other_values()) return;
    made->shown = shown;
    if (!is_planned(*made)) plan_.launches.push_back(*std::move(made));
  }

  bool is_planned(const SizedInstance& one) const {
    return std::ranges::any_of(plan_.launches, [&](const SizedInstance& other) {
      return other.instance == one.instance && other.size == one.size;
    });
  }

  /// The recorded launch with other values of the host's variables, or of an integer argument, whatever it is computed
  /// from. nullopt: the application launches nothing then, or the premise does not hold.
  std::optional<SizedInstance> launched_with(size_t index, const HostLaunch& launch, const Bindings& changed,
                                             std::optional<std::pair<size_t, int64_t>> passed = {}) {
    const MepInstance& instance = mep_.instances[index];
    Bindings variables = launch.variables, arguments;
    for (auto& [name, value] : changed) variables[name] = value;
    auto geometry = geometry_of(*launch.site, variables, instance.geometry);
    if (!geometry) return std::nullopt;
    SizedInstance made;
    made.instance = index, made.size.instance = instance.id, made.geometry = *geometry;
    for (size_t p = 0; p < mep_.parameters.size(); ++p) {
      auto recorded = mep_.integer_argument(instance, p);
      auto follows = launch.arguments.find(p);
      if (!recorded) continue;
      const int64_t value = passed && passed->first == p ? passed->second
                            : follows == launch.arguments.end()
                                ? *recorded
                                : evaluated(follows->second, variables).value_or(*recorded);
      arguments[mep_.parameters[p].name] = value;
      arguments["arg.a" + std::to_string(p)] = as_models_read(mep_.parameters[p].scalar, value);
      if (value != *recorded && !fits(value, mep_.parameters[p], instance.parameters[p].size)) return std::nullopt;
      if (value != *recorded) made.values[p] = value, made.size.values[mep_.parameters[p].name] = value;
    }
    for (auto& [name, member] : launch.members) {
      const int64_t value = variables.at(name);
      const std::string shown = mep_.parameters[member.parameter].name + member.path;
      arguments[shown] = value, arguments[member.variable()] = as_models_read(member.type, value);
      if (value == launch.variables.at(name)) continue;
      const auto declared = DeclaredNumber::of(member.type);
      if (!declared || value < 0 || (declared->bits < 64 && value >> (declared->bits - 1) != 0)) return std::nullopt;
      made.parts.push_back({instance.parameters[member.parameter].offset + member.offset, declared->bits / 8, value});
      made.size.values[shown] = value;
    }
    if (!question_.premise) return made;
    if (index < question_.recorded.size())
      arguments.insert(question_.recorded[index].begin(), question_.recorded[index].end());
    auto holds = question_.premise->evaluate(arguments);
    if (holds.ok() && *holds != 0) return made;
    ++plan_.beyond_premise;
    return std::nullopt;
  }

  /// Memory that was captured for what a number looks like: two ints side by side, 8192 behind 40, are an address on
  /// the CPU device. Whatever was in it, the kernel has no pointer that leads there.
  static bool is_led_to_by_number(const MepInstance& instance, const MepRegion& region) {
    if (region.parameter >= 0 || region.reached_from.root != Origin::Root::Memory) return false;
    return std::ranges::any_of(instance.regions, [&](auto& from) {
      if (from.address != region.reached_from.address || from.parameter < 0 || from.pointer_stride > 0 ||
          from.element == "byte" || from.element == "pointer")
        return false;
      return std::ranges::all_of(ElementLayout::parse(from.element).lanes,
                                 [](auto& lane) { return lane.type.is_float() || lane.type.width < sizeof(uint64_t); });
    });
  }

  /// Why memory cannot be made larger for the kernel; empty: it can.
  std::string why_not_larger(const MepInstance& instance) const {
    for (auto& parameter : mep_.parameters)
      if (!parameter.record.empty()) return "it gets a structure, which may hold addresses and sizes";
    if (!instance.symbols.empty()) return "its memory holds addresses";
    // A copy for each address that the launch gets within a region (sized_launch.cpp).
    std::vector<std::set<uint64_t>> addresses(instance.regions.size());
    for (auto& [offset, region] : instance.argument_slots())
      addresses[region].insert(word_at(instance.arguments, offset));
    uint64_t bytes = 0;
    for (size_t i = 0; i < addresses.size(); ++i) {
      auto& region = instance.regions[i];
      if (is_led_to_by_number(instance, region)) continue;
      if (region.pointer_stride > 0 || region.parameter < 0) return "its memory holds addresses";
      if (region.element == "byte") return "what its memory holds is not known";
      bytes += region.size * std::max<size_t>(1, addresses[i].size());
    }
    return bytes > kLargestGrown ? "its memory is large" : "";
  }

  /// Sizes one more than recorded, one block more, and twice as large, in memory that has grown as their product has,
  /// and as much again for what grows with its square.
  void add_larger(size_t index, const HostLaunch& launch, const std::vector<std::string>& varied) {
    const MepInstance& instance = mep_.instances[index];
    const std::string why = why_not_larger(instance);
    ++(why.empty() ? grown_ : not_grown_);
    if (!why.empty()) why_not_grown_ = why;
    if (not_grown_ > 0)
      plan_.left_out = (grown_ == 0 ? "no larger size was run"
                                    : "no size larger than that of " + std::to_string(not_grown_) +
                                          (not_grown_ == 1 ? " recorded launch" : " recorded launches") + " was run") +
                       ", as " + why_not_grown_;
    if (!why.empty()) return;
    for (size_t more = 0; more < kLargerSizes; ++more) {
      Bindings larger;
      double growth = 1;
      for (auto& name : varied) {
        const int64_t recorded = launch.variables.at(name);
        const int64_t before = block_along(launch, name, instance.geometry.block),
                      after = block_along(launch, name, candidate_block(instance));
        larger[name] = recorded + (more == 0 ? 1 : more == 1 ? before : more == 2 ? after + 1 : recorded + 1);
        growth *= static_cast<double>(larger[name]) / static_cast<double>(std::max<int64_t>(recorded, 1));
      }
      auto made = launched_with(index, launch, larger);
      const bool much = more == kLargerSizes - 1 && instance.region_bytes() > kLargestDoubled;
      if (!made || !made->has_other_values() || growth * growth > kMostGrowth || much) continue;
      made->growth = growth * growth;
      plan_.launches.push_back(*std::move(made));
    }
  }

  /// Pointer arguments that lead to the beginning of recorded memory, with the bytes of their elements.
  std::map<size_t, uint32_t> pointers(const MepInstance& instance) const {
    std::map<size_t, uint32_t> found;
    for (auto& slot : instance.argument_slots())
      for (size_t p = 0; p < std::min(mep_.parameters.size(), instance.parameters.size()); ++p) {
        auto& region = instance.regions[slot.region];
        if (instance.parameters[p].offset == slot.offset && !mep_.parameters[p].pointee.empty() &&
            region.element != "byte")
          found[p] = ElementLayout::parse(region.element).stride;
      }
    return found;
  }

  /// Other branches of the kernel: values with which it compares integers that no size is chosen of, and those beside
  /// them.
  void add_branches(size_t index, const HostLaunch& launch, const std::vector<std::string>& varied) {
    const MepInstance& instance = mep_.instances[index];
    size_t of_all = 0;
    for (auto& [p, constants] : question_.compared) {
      size_t added = 0;
      const auto recorded = p < mep_.parameters.size() ? mep_.integer_argument(instance, p) : std::nullopt;
      auto name = std::ranges::find_if(launch.directly, [p = p](auto& one) { return one.second == p; });
      const bool is_size = name != launch.directly.end() && std::ranges::find(varied, name->first) != varied.end();
      if (!recorded || (is_size && *recorded > kLargestFlag)) continue;
      std::set<int64_t> values;
      for (int64_t constant : constants)
        values.insert({constant, constant + (constant < INT64_MAX), constant - (constant > INT64_MIN)});
      values.erase(*recorded);
      if (mep_.parameters[p].type == "bool")
        std::erase_if(values, [](int64_t value) { return value < 0 || value > 1; });
      for (int64_t value : values) {
        if (added == kMostBranches || of_all == kMostOfAll) break;
        auto made = is_size ? launched_with(index, launch, {{name->first, value}})
                            : launched_with(index, launch, {}, std::pair(p, value));
        if (!made || !made->has_other_values() || is_planned(*made)) continue;
        plan_.launches.push_back(*std::move(made)), ++added, ++of_all;
      }
    }
  }

  /// Integers that decide no size, as `k` in `key[i] % k`: what is right for one may be wrong for its neighbours.
  void add_factors(size_t index, const HostLaunch& launch, const std::vector<std::string>& varied) {
    const MepInstance& instance = mep_.instances[index];
    size_t added = 0;
    for (auto& [name, p] : launch.directly) {
      const auto recorded = mep_.integer_argument(instance, p);
      if (!recorded || std::ranges::find(varied, name) != varied.end() || question_.compared.contains(p) ||
          mep_.parameters[p].type == "bool" || *recorded == INT64_MAX || *recorded == INT64_MIN)
        continue;
      for (int64_t value : {*recorded - 1, *recorded + 1}) {
        if (added == kMostFactors) return;
        auto made = launched_with(index, launch, {}, std::pair(p, value));
        if (!made || !made->has_other_values() || is_planned(*made)) continue;
        plan_.launches.push_back(*std::move(made)), ++added;
      }
    }
  }

  /// All arguments of floating point at once have other values: half of what was recorded, one half where it was zero.
  void add_numbers(size_t index, const HostLaunch& launch) {
    const MepInstance& instance = mep_.instances[index];
    auto made = launched_with(index, launch, {});
    if (!made) return;
    for (size_t p = 0; p < std::min(mep_.parameters.size(), instance.parameters.size()); ++p) {
      const std::string& type = mep_.parameters[p].scalar;
      const auto& slot = instance.parameters[p];
      if ((type != "float" && type != "double") || slot.offset + slot.size > instance.arguments.size()) continue;
      double value = 0;
      float narrow = 0;
      if (type == "double") std::memcpy(&value, instance.arguments.data() + slot.offset, sizeof value);
      else std::memcpy(&narrow, instance.arguments.data() + slot.offset, sizeof narrow), value = narrow;
      value = value == 0 || !std::isfinite(value) ? 0.5 : value / 2, narrow = static_cast<float>(value);
      made->values[p] = type == "double" ? std::bit_cast<int64_t>(value) : std::bit_cast<int32_t>(narrow);
      char text[48];
      std::snprintf(text, sizeof text, " = %.6g", value);
      made->size.pointers += (made->size.pointers.empty() ? "" : ", ") + mep_.parameters[p].name + text;
    }
    if (made->has_other_values()) plan_.launches.push_back(*std::move(made));
  }

  /// Every pointer one element further, which no longer is a multiple of more than that; and memory that a caller of
  /// the launching function passes twice.
  void add_pointers(size_t index, const HostLaunch& launch, const std::vector<std::string>& varied) {
    const MepInstance& instance = mep_.instances[index];
    const auto all = pointers(instance);
    // There is room where each size is one less.
    Bindings smaller;
    for (auto& name : varied) smaller[name] = launch.variables.at(name) - 1;
    if (auto moved = launched_with(index, launch, smaller); moved && moved->has_other_values()) {
      for (auto [parameter, bytes] : all)
        if (!question_.aligned.contains(parameter)) moved->moved[parameter] = bytes;
      moved->size.pointers = "pointers one element further";
      plan_.beyond_premise += moved->moved.size() < all.size();
      if (!moved->moved.empty()) plan_.launches.push_back(*std::move(moved));
    }
    for (auto [one, other] : passed_twice(*launch.site)) {
      if (!all.contains(one) || !all.contains(other)) continue;
      auto twice = launched_with(index, launch, {});
      if (!twice) continue;
      twice->same[other] = one;
      twice->size.pointers = mep_.parameters[other].name + " = " + mep_.parameters[one].name;
      plan_.launches.push_back(*std::move(twice));
    }
  }

  const Mep& mep_;
  const SizeQuestion& question_;
  std::vector<LaunchSite> sites_;  ///< Of the application.
  std::mt19937_64 random_;
  SizePlan plan_;
  size_t grown_ = 0, not_grown_ = 0;  ///< Recorded launches whose memory can be made larger, and cannot.
  std::string why_not_grown_;
};

}  // namespace

bool knows_launches(const Mep& mep, const std::set<int>& axes, const std::vector<KernelModel::Member>& members) {
  return std::ranges::any_of(mep.launches, [&](const LaunchSite& site) {
    const LaunchSite over = over_arguments(site, mep);
    return std::ranges::any_of(mep.instances, [&](auto& one) {
      const auto launch = as_launched(mep, one, over, members);
      return launch && std::ranges::none_of(axes, [&](int axis) { return launch->as_recorded.contains(axis); });
    });
  });
}

SizePlan plan_sizes(const Mep& mep, const SizeQuestion& question) { return Planner(mep, question).plan(); }

}  // namespace kernelift::sandbox
