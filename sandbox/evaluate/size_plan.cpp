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
#include "sandbox/evaluate/application_launch.h"
#include "sandbox/evaluate/host_launch.h"
#include "sandbox/evaluate/passed_twice.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargestGrown = 64 << 20;   // Bytes of an instance's memory that is made larger.
constexpr uint64_t kLargestDoubled = 4 << 20;  // The same, where sizes are twice as large.
constexpr double kMostGrowth = 64;
constexpr size_t kMostOfOne = 16;     // Other values of one argument that decides no size: launches of an instance,
constexpr size_t kMostOfAll = 40;     // of all arguments,
constexpr size_t kMostTogether = 8;   // of several arguments together.
constexpr int64_t kLargestFlag = 16;  // A larger number is a size, of which smaller ones are tried anyway.

bool fits(int64_t value, const ScannedParameter& parameter, uint32_t bytes) {
  const unsigned bits = 8 * bytes - (parameter.is_unsigned() ? 0 : 1);
  return bits >= 63 || (value < int64_t(1) << bits && value >= (parameter.is_unsigned() ? 0 : -(int64_t(1) << bits)));
}

/// Elements that one block covers along the axis whose number of blocks depends on the variable.
int64_t block_along(const HostLaunch& launch, const std::string& variable, const Dim3& block) {
  for (int axis = 0; axis < 3; ++axis)
    if (launch.site.grid[axis]->uses(variable)) return along(block, axis);
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
    bool grids_unknown = false;
    for (size_t i : smallest_first()) {
      if (planned == kMostSizedInstances) break;
      const MepInstance& instance = mep_.instances[i];
      std::optional<HostLaunch> launch;
      for (auto& site : sites_)
        if (!launch) launch = as_launched(mep_, instance, site, question_.members);
      const bool known = launch.has_value();
      if (!known) launch = with_recorded_grid(mep_, instance, sites_.empty() ? nullptr : &sites_.front());
      if (!sites_.empty()) why = "how many blocks it is launched with at other sizes is not known";
      if (plan_instance(i, *launch, known || question_.asks_grid)) ++planned, grids_unknown |= !known;
      else if (known) why = "neither its grid nor a condition in it depends on an integer argument";
    }
    if (not_grown_ > 0)
      leave_out((grown_ == 0 ? "no larger size was run"
                             : "no size larger than that of " + std::to_string(not_grown_) +
                                   (not_grown_ == 1 ? " recorded launch" : " recorded launches") + " was run") +
                ", as " + why_not_grown_);
    if (planned == 0) plan_.left_out = why;
    else if (grids_unknown) leave_out(why + ", so other sizes were run with the recorded number");
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

  /// `larger`: sizes than the recorded one as well. False: there is nothing to vary.
  bool plan_instance(size_t index, const HostLaunch& launch, bool larger) {
    const MepInstance& instance = mep_.instances[index];
    std::vector<std::string> varied;
    for (auto& [name, parameter] : launch.directly) {
      if (question_.conditions.contains(parameter) || launch.decides_geometry(name)) varied.push_back(name);
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
          add_size(index, launch, {{varied[v], sizes[v][round].value}}, sizes[v][round].shown, begin);
        }
      if (!more) break;
      if (varied.size() < 2) continue;
      Bindings all;
      bool shown = true;
      for (size_t v = 0; v < varied.size(); ++v)
        if (round < sizes[v].size()) all[varied[v]] = sizes[v][round].value, shown &= sizes[v][round].shown;
      add_size(index, launch, all, shown, begin);
    }
    add_branches(index, launch, varied);
    add_halved_numbers(index, launch);
    if (larger && !varied.empty()) add_larger(index, launch, varied);
    add_pointers(index, launch, varied);
    return !varied.empty() || plan_.launches.size() > begin;
  }

  void leave_out(const std::string& why) { plan_.left_out += (plan_.left_out.empty() ? "" : "; ") + why; }

  void add_size(size_t index, const HostLaunch& launch, const Bindings& changed, bool shown, size_t begin) {
    if (plan_.launches.size() - begin >= kMostSizes) return;
    add(launched_with(index, launch, {.variables = changed}), shown);
  }

  /// False: it is nothing new.
  bool add(std::optional<SizedInstance> made, bool shown = true) {
    if (!made || (!made->has_other_values() && made->same.empty() && made->size.pointers.empty())) return false;
    const bool planned = std::ranges::any_of(plan_.launches, [&](const SizedInstance& other) {
      return other.instance == made->instance && other.size == made->size;
    });
    if (planned) return false;
    made->shown = shown;
    plan_.launches.push_back(*std::move(made));
    return true;
  }

  /// How a launch differs from a recorded one.
  struct Change {
    Bindings variables = {};                     ///< Of the host, with what follows from them.
    Bindings integers = {};                      ///< Arguments and members, "arg.a2", whatever they are computed from.
    std::map<std::string, double> numbers = {};  ///< The same of floating point.
    std::set<size_t> null = {};                  ///< Pointers, by parameter.
    std::map<size_t, size_t> same = {};          ///< Pointers that are equal to another one.

    void add(const Change& other) {
      variables.insert(other.variables.begin(), other.variables.end());
      integers.insert(other.integers.begin(), other.integers.end());
      numbers.insert(other.numbers.begin(), other.numbers.end());
      null.insert(other.null.begin(), other.null.end()), same.insert(other.same.begin(), other.same.end());
    }
  };

  /// An argument, or a member of one.
  struct Place {
    size_t parameter = 0;
    uint64_t offset = 0;  ///< In the launch's arguments.
    uint32_t bytes = 0;
    std::string type, shown;  ///< Canonical type, and as the kernel spells it.
    bool is_member = false;
  };

  /// nullopt: the kernel has no such number.
  std::optional<Place> place_of(const std::string& variable, const MepInstance& instance) const {
    for (size_t p = 0; p < std::min(mep_.parameters.size(), instance.parameters.size()); ++p)
      if (variable == model_argument(p) && !mep_.parameters[p].scalar.empty())
        return Place{p, instance.parameters[p].offset, instance.parameters[p].size, mep_.parameters[p].scalar,
                     mep_.parameters[p].name};
    for (auto& member : question_.members) {
      if (variable != member.variable() || member.parameter >= instance.parameters.size()) continue;
      const auto number = DeclaredNumber::of(member.type);
      const uint32_t bytes = number ? number->bits / 8 : member.type == "float" ? 4 : member.type == "double" ? 8 : 0;
      if (bytes > 0)
        return Place{member.parameter, instance.parameters[member.parameter].offset + member.offset, bytes,
                     member.type,      mep_.parameters[member.parameter].name + member.path,         true};
    }
    return std::nullopt;
  }

  std::optional<int64_t> integer_at(const Place& place, const MepInstance& instance) const {
    if (!place.is_member) return mep_.integer_argument(instance, place.parameter);
    return mep_.integer_member(instance, place.parameter, place.offset - instance.parameters[place.parameter].offset,
                               place.type);
  }

  static std::optional<double> number_at(const Place& place, const MepInstance& instance) {
    double value = 0;
    float narrow = 0;
    if (place.offset + place.bytes > instance.arguments.size()) return std::nullopt;
    if (place.type == "double") std::memcpy(&value, instance.arguments.data() + place.offset, sizeof value);
    else if (place.type == "float") std::memcpy(&narrow, instance.arguments.data() + place.offset, sizeof narrow);
    else return std::nullopt;
    return place.type == "double" ? value : static_cast<double>(narrow);
  }

  /// nullopt: the application launches nothing then, an argument has no such value, or the premise does not hold.
  std::optional<SizedInstance> launched_with(size_t index, const HostLaunch& launch, const Change& change) {
    const MepInstance& instance = mep_.instances[index];
    Bindings variables = launch.variables, arguments;
    for (auto& [name, value] : change.variables) variables[name] = value;
    auto geometry = geometry_of(launch.site, variables, instance.geometry);
    if (!geometry) return std::nullopt;
    SizedInstance made;
    made.instance = index, made.size.instance = instance.id, made.geometry = *geometry;
    for (size_t p = 0; p < mep_.parameters.size(); ++p) {
      auto recorded = mep_.integer_argument(instance, p);
      auto follows = launch.arguments.find(p);
      if (!recorded) continue;
      auto chosen = change.integers.find(model_argument(p));
      const int64_t value = chosen != change.integers.end() ? chosen->second
                            : follows == launch.arguments.end()
                                ? *recorded
                                : evaluated(follows->second, variables).value_or(*recorded);
      arguments[mep_.parameters[p].name] = value;
      arguments[model_argument(p)] = as_models_read(mep_.parameters[p].scalar, value);
      if (value != *recorded && !fits(value, mep_.parameters[p], instance.parameters[p].size)) return std::nullopt;
      if (value != *recorded) made.values[p] = value, made.size.values[mep_.parameters[p].name] = value;
    }
    Bindings members;
    for (auto& [name, member] : launch.members) members[member.variable()] = variables.at(name);
    for (auto& [name, value] : change.integers) members.try_emplace(name, value);
    for (auto& [name, value] : members) {
      const auto place = place_of(name, instance);
      if (!place || !place->is_member) continue;
      arguments[place->shown] = value, arguments[name] = as_models_read(place->type, value);
      if (integer_at(*place, instance) == value) continue;
      const bool follows_host = !change.integers.contains(name);
      const unsigned bits = 8 * place->bytes;
      if ((follows_host && value < 0) || (bits < 64 && value >> (bits - 1) != 0 && value >> (bits - 1) != -1))
        return std::nullopt;
      made.parts.push_back({place->offset, place->bytes, value}), made.size.values[place->shown] = value;
    }
    for (auto& [name, value] : change.numbers)
      if (const auto place = place_of(name, instance)) set_number(*place, value, made);
    for (size_t p : change.null) made.values[p] = 0, tell(made, mep_.parameters[p].name + " = null");
    for (auto [p, other] : change.same)
      made.same[p] = other, tell(made, mep_.parameters[p].name + " = " + mep_.parameters[other].name);
    if (!question_.premise) return made;
    if (index < question_.recorded.size())
      arguments.insert(question_.recorded[index].begin(), question_.recorded[index].end());
    auto holds = question_.premise->evaluate(arguments);
    if (holds.ok() && *holds != 0) return made;
    ++plan_.beyond_premise;
    return std::nullopt;
  }

  static void tell(SizedInstance& made, const std::string& what) {
    made.size.pointers += (made.size.pointers.empty() ? "" : ", ") + what;
  }

  static void set_number(const Place& place, double value, SizedInstance& made) {
    const auto narrow = static_cast<float>(value);
    const int64_t bits =
        place.type == "double" ? std::bit_cast<int64_t>(value) : int64_t(std::bit_cast<int32_t>(narrow));
    made.parts.push_back({place.offset, place.bytes, bits});
    char text[48];
    std::snprintf(text, sizeof text, " = %.6g", value);
    tell(made, place.shown + text);
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
      auto made = launched_with(index, launch, {.variables = larger});
      const bool much = more == kLargerSizes - 1 && instance.region_bytes() > kLargestDoubled;
      if (!made || !made->has_other_values() || growth * growth > kMostGrowth || much) continue;
      made->growth = growth * growth;
      plan_.launches.push_back(*std::move(made));
    }
  }

  struct Pointed {
    uint32_t bytes = 0;    ///< Of an element.
    bool changed = false;  ///< By the recorded launch.
  };
  /// Pointer arguments that lead to the beginning of recorded memory.
  std::map<size_t, Pointed> pointers(const MepInstance& instance) const {
    std::map<size_t, Pointed> found;
    for (auto& slot : instance.argument_slots())
      for (size_t p = 0; p < std::min(mep_.parameters.size(), instance.parameters.size()); ++p) {
        auto& region = instance.regions[slot.region];
        if (instance.parameters[p].offset == slot.offset && !mep_.parameters[p].pointee.empty() &&
            region.element != "byte")
          found[p] = {static_cast<uint32_t>(ElementLayout::parse(region.element).stride),
                      region.before != region.after};
      }
    return found;
  }

  /// What an integer may be instead where it decides no size, those that show most first: what other launch sites pass,
  /// constants that it is compared with, those beside them, and what is beside its own value where nothing is known.
  std::vector<int64_t> others_of(const std::string& variable, const Place& place, int64_t recorded,
                                 const HostLaunch& launch) const {
    std::vector<int64_t> values;
    auto add = [&](int64_t value) {
      // A large number is a size, and no size is negative.
      const bool possible = place.type == "bool" ? value == 0 || value == 1 : recorded <= kLargestFlag || value >= 0;
      if (value != recorded && possible && std::ranges::find(values, value) == values.end()) values.push_back(value);
    };
    // What the host computes from variables follows them.
    const auto follows = launch.arguments.find(place.parameter);
    const bool own =
        follows == launch.arguments.end() || follows->second.as_variable() || follows->second.variables().empty();
    bool is_passed = std::ranges::any_of(launch.directly, [&](auto& one) { return one.second == place.parameter; });
    if (!place.is_member)
      for (auto& site : sites_) {
        const auto text =
            Expression::parse(place.parameter < site.argument_text.size() ? site.argument_text[place.parameter] : "");
        const auto value = text.ok() ? evaluated(*text, mep_.named_values()) : std::nullopt;
        if (value) add(*value);
        else is_passed = true;
      }
    auto beside = [&](int64_t value) {
      if (value > INT64_MIN) add(value - 1);
      if (value < INT64_MAX) add(value + 1);
    };
    const auto compared = question_.compared.integers.find(variable);
    if (compared == question_.compared.integers.end()) {
      // `k` in `key[i] % k`: what is right for one may be wrong for its neighbours.
      if (!place.is_member && is_passed && own) beside(recorded);
      return values;
    }
    for (int64_t constant : compared->second) add(constant);
    for (int64_t constant : compared->second) beside(constant);
    return values;
  }

  /// For each argument that decides no size, the changes of it alone.
  std::vector<std::vector<Change>> branches(const MepInstance& instance, const HostLaunch& launch,
                                            const std::vector<std::string>& varied) const {
    std::vector<std::vector<Change>> all;
    std::set<std::string> integers;
    for (auto& [variable, constants] : question_.compared.integers) integers.insert(variable);
    for (size_t p = 0; p < mep_.parameters.size(); ++p)
      if (mep_.integer_argument(instance, p)) integers.insert(model_argument(p));
    for (auto& variable : integers) {
      const auto place = place_of(variable, instance);
      const auto recorded = place ? integer_at(*place, instance) : std::nullopt;
      if (!recorded) continue;
      auto is_this = [&](auto& one) { return !place->is_member && one.second == place->parameter; };
      auto passed = std::ranges::find_if(launch.directly, is_this);
      auto member = std::ranges::find(launch.members, variable, [](auto& one) { return one.second.variable(); });
      const std::string host = passed != launch.directly.end()  ? passed->first
                               : member != launch.members.end() ? member->first
                                                                : "";
      const bool is_size = !host.empty() && std::ranges::find(varied, host) != varied.end();
      if (is_size && (*recorded > kLargestFlag || !question_.compared.integers.contains(variable))) continue;
      auto& changes = all.emplace_back();
      for (int64_t value : others_of(variable, *place, *recorded, launch))
        (is_size ? changes.emplace_back().variables[host] : changes.emplace_back().integers[variable]) = value;
    }
    for (auto& [variable, constants] : question_.compared.numbers) {
      const auto place = place_of(variable, instance);
      if (!place || !number_at(*place, instance)) continue;
      auto& changes = all.emplace_back();
      for (double constant : constants)
        for (double value : {constant, constant + std::max(std::abs(constant), 1.0) / 2,
                             constant - std::max(std::abs(constant), 1.0) / 2})
          if (value != number_at(*place, instance)) changes.emplace_back().numbers[variable] = value;
    }
    const auto given = pointers(instance);
    for (size_t p : question_.compared.pointers) {
      if (p >= mep_.parameters.size() || p >= instance.parameters.size() || mep_.parameters[p].pointee.empty())
        continue;
      auto& changes = all.emplace_back();
      if (given.contains(p)) changes.emplace_back().null.insert(p);
      else if (word_at(instance.arguments, instance.parameters[p].offset) != 0) all.pop_back();
      else
        // Memory of the same type that the kernel only reads.
        for (auto& [other, memory] : given)
          if (changes.empty() && mep_.parameters[other].pointee == mep_.parameters[p].pointee && !memory.changed)
            changes.emplace_back().same[p] = other;
    }
    std::erase_if(all, [](auto& changes) { return changes.empty(); });
    return all;
  }

  void add_branches(size_t index, const HostLaunch& launch, const std::vector<std::string>& varied) {
    const MepInstance& instance = mep_.instances[index];
    const auto all = branches(instance, launch, varied);
    // In turn, so that each argument has some.
    size_t added = 0;
    for (size_t round = 0; round < kMostOfOne; ++round)
      for (auto& changes : all)
        if (round < changes.size() && added < kMostOfAll) added += add(launched_with(index, launch, changes[round]));
    if (all.size() < 2) return;
    auto draw = [&](size_t below) { return static_cast<size_t>(random_() % below); };
    for (size_t together = 0; together < kMostTogether; ++together) {
      Change change;
      for (auto& changes : all)
        if (draw(2) == 0) change.add(changes[draw(changes.size())]);
      add(launched_with(index, launch, change), false);
    }
  }

  /// All arguments of floating point at once have other values: half of what was recorded, one half where it was zero.
  void add_halved_numbers(size_t index, const HostLaunch& launch) {
    const MepInstance& instance = mep_.instances[index];
    Change change;
    for (size_t p = 0; p < mep_.parameters.size(); ++p) {
      const auto place = place_of(model_argument(p), instance);
      const auto value = place ? number_at(*place, instance) : std::nullopt;
      if (value) change.numbers[model_argument(p)] = *value == 0 || !std::isfinite(*value) ? 0.5 : *value / 2;
    }
    if (!change.numbers.empty()) add(launched_with(index, launch, change));
  }

  /// Every pointer one element further, which no longer is a multiple of more than that; and memory that a caller of
  /// the launching function passes twice.
  void add_pointers(size_t index, const HostLaunch& launch, const std::vector<std::string>& varied) {
    const MepInstance& instance = mep_.instances[index];
    const auto all = pointers(instance);
    // There is room where each size is one less.
    Change smaller;
    for (auto& name : varied) smaller.variables[name] = launch.variables.at(name) - 1;
    if (auto moved = launched_with(index, launch, smaller); moved && moved->has_other_values()) {
      for (auto [parameter, memory] : all)
        if (!question_.aligned.contains(parameter)) moved->moved[parameter] = memory.bytes;
      moved->size.pointers = "pointers one element further";
      plan_.beyond_premise += moved->moved.size() < all.size();
      if (!moved->moved.empty()) plan_.launches.push_back(*std::move(moved));
    }
    for (auto [one, other] : passed_twice(launch.site)) {
      Change twice;
      if (all.contains(one) && all.contains(other)) twice.same[other] = one, add(launched_with(index, launch, twice));
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
