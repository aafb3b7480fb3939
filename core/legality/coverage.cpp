// See coverage.h.
#include "core/legality/coverage.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/legality/premise.h"

namespace kernelift::legality {
namespace {

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// In what these return, a set that is null means that isl gave up, as everywhere.

/// The elements of `from`, in the tuple of `to`: terms that `from` lacks may have any value. nullopt: `from` depends on
/// a term that `to` has not.
std::optional<isl::set> in_tuple_of(const Touch& to, const Touch& from, size_t subscripts) {
  if (to.terms() == from.terms()) return from.elements();
  std::vector<std::string> target, source;
  for (size_t i = 0; i < subscripts; ++i) target.push_back("s" + std::to_string(i));
  source = target;
  std::vector<std::vector<std::string>> groups;
  for (size_t t = 0; t < to.terms().size(); ++t) {
    std::vector<std::string> group;
    for (size_t i = 0; i <= to.terms()[t].arguments; ++i)
      group.push_back("t" + std::to_string(t) + "_" + std::to_string(i));
    target.insert(target.end(), group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  std::set<size_t> taken;
  for (auto& term : from.terms()) {
    size_t t = 0;
    while (t < to.terms().size() && (to.terms()[t] != term || taken.contains(t))) ++t;
    if (t == to.terms().size()) return std::nullopt;
    taken.insert(t);
    source.insert(source.end(), groups[t].begin(), groups[t].end());
  }
  return from.elements().apply(
      isl::map(from.elements().ctx(), "{ E[" + list(source) + "] -> E[" + list(target) + "] }"));
}

/// Elements that the accesses touch whatever the values of their terms are: `if (x[i] > 0) out[i] = 1; else out[i] =
/// 2;` Only accesses with the terms of the first that has any are looked at; nullopt: none has.
std::optional<isl::set> surely_touched(const std::vector<Touch>& all, size_t subscripts) {
  isl::set touched;
  const Touch* first = nullptr;
  for (auto& one : all) {
    if (!one.exact() || one.terms().empty() || (first && one.terms() != first->terms())) continue;
    touched = first ? touched.unite(one.elements()) : one.elements();
    first = first ? first : &one;
  }
  if (!first) return std::nullopt;
  std::vector<std::string> whole, without_values;
  for (size_t i = 0; i < subscripts; ++i) whole.push_back("s" + std::to_string(i));
  without_values = whole;
  const std::string elements = list(whole);
  for (size_t t = 0; t < first->terms().size(); ++t)
    for (size_t i = 0, count = first->terms()[t].arguments; i <= count; ++i) {
      whole.push_back("t" + std::to_string(t) + "_" + std::to_string(i));
      if (i < count) without_values.push_back(whole.back());
    }
  const isl::ctx context = touched.ctx();
  isl::map drop_values(context, "{ E[" + list(whole) + "] -> A[" + list(without_values) + "] }");
  isl::set arguments = touched.apply(drop_values);
  isl::set missing = arguments.apply(drop_values.reverse()).subtract(touched).apply(drop_values);
  return arguments.subtract(missing).apply(
      isl::map(context, "{ A[" + list(without_values) + "] -> E[" + elements + "] }"));
}

/// For what is not surely touched there are values in memory for which it is not: the accesses depend on one input
/// each, which no other access depends on in another way.
bool one_input_decides(const std::vector<Touch>& all) {
  const Touch* first = nullptr;
  for (auto& one : all) {
    if (!one.exact() || !one.terms_are_inputs() || one.terms().size() > 1) return false;
    if (one.terms().empty()) continue;
    if (first && one.terms() != first->terms()) return false;
    first = &one;
  }
  return true;
}

/// One instance out of `instances` as a sentence: "thread 3 of block 0 reads x[3] in line 7, which …".
std::string sentence(const Setting& setting, __isl_take isl_map* instances, const Touch& touch, size_t subscripts,
                     const CoverageWords& words) {
  const Side& side = words.of_candidate ? setting.candidate : setting.original;
  isl_map* whole = isl_map_copy(instances);
  isl_basic_map* one = isl_map_sample(instances);
  auto coordinate = [&](isl_dim_type type, int place) -> std::optional<long> {
    isl_val* value = place < 0 ? nullptr : isl_basic_map_plain_get_val_if_fixed(one, type, place);
    std::optional<long> number;
    if (value && isl_val_is_int(value) == isl_bool_true) number = isl_val_get_num_si(value);
    isl_val_free(value);
    return number;
  };
  std::string thread, block, element;
  int axes = 1;
  for (int axis = 0; axis < 3; ++axis)
    if (along(side.launch.block, axis) > 1 || !side.launch.grid[axis] || !side.launch.grid[axis]->is_constant(1))
      axes = axis + 1;
  bool placed = true;
  for (int axis = 0; axis < axes; ++axis) {
    const std::string name = std::string("g_") + "xyz"[axis];
    auto number = coordinate(isl_dim_in, isl_map_find_dim_by_name(whole, isl_dim_in, name.c_str()));
    placed &= number.has_value();
    const long threads = along(side.launch.block, axis), at = number.value_or(0);
    thread += (axis > 0 ? ", " : "") + std::to_string(at % threads);
    block += (axis > 0 ? ", " : "") + std::to_string(at / threads);
  }
  for (int i = 0; i < static_cast<int>(subscripts); ++i) {
    auto subscript = coordinate(isl_dim_out, i);
    element += "[" + (subscript ? std::to_string(*subscript) : "?") + "]";
  }
  isl_map_free(whole), isl_basic_map_free(one);
  if (axes > 1) thread = "(" + thread + ")", block = "(" + block + ")";
  return (placed ? "thread " + thread + " of block " + block : std::string("a thread")) + " " +
         word(touch.access().kind) + " " + words.object + element + at_line(touch.access().line) + ", " + words.which;
}

/// Fixes the parameters to a small example first, so that the sentence fits it.
std::string described(const Setting& setting, const isl::set& parameters, const isl::set& rest, const Touch& touch,
                      size_t subscripts, const CoverageWords& words) {
  isl_map* instances = touch.instances().intersect_range(rest).release();
  if (auto member = small_member(parameters))
    for (auto& [parameter, value] : *member) {
      const int place = isl_map_find_dim_by_name(instances, isl_dim_param, parameter.c_str());
      if (place >= 0) instances = isl_map_fix_si(instances, isl_dim_param, place, static_cast<int>(value));
    }
  if (isl_map_is_empty(instances) == isl_bool_false) return sentence(setting, instances, touch, subscripts, words);
  isl_map_free(instances);
  return std::string("a thread ") + word(touch.access().kind) + " an element of " + words.object +
         at_line(touch.access().line) + ", " + words.which;
}

/// Both touch the same elements by the same expressions.
bool same_elements(const Touch& a, const Touch& b) {
  auto &x = a.access(), &y = b.access();
  return x.offset == y.offset && x.domain == y.domain && x.bytes == y.bytes;
}

using Constants = std::vector<int64_t>;

constexpr size_t kMostTests = 40;     ///< Of one group.
constexpr size_t kMostPairs = 40000;  ///< Of constants of two groups.

/// Touches that differ by the constants in their subscripts.
struct Group {
  const Touch* first = nullptr;
  std::set<Constants> constants;
};

/// A group that is allowed, and how far the constants of the touched one are moved to become its.
struct Shift {
  const Group* group = nullptr;
  Constants by;
  std::set<Constants> serves;  ///< Constants that are then in the group.
};

Constants difference(const Constants& a, const Constants& b) {
  Constants all = a;
  for (size_t i = 0; i < all.size(); ++i) all[i] -= b[i];
  return all;
}

std::vector<Group> groups_of(const std::vector<Touch>& touches) {
  std::vector<Group> groups;
  for (auto& one : touches) {
    auto like = [&](const Group& group) {
      auto &a = group.first->access(), &b = one.access();
      return group.first->moving() == one.moving() && a.bytes == b.bytes && a.domain == b.domain &&
             group.first->exact() == one.exact();
    };
    auto group = std::ranges::find_if(groups, like);
    if (group == groups.end()) group = groups.insert(group, Group{&one, {}});
    group->constants.insert(one.constants());
  }
  return groups;
}

/// Those that serve most first.
std::vector<Shift> shifts(const Group& touched, const std::vector<Group>& allowed) {
  std::vector<Shift> all;
  for (auto& group : allowed) {
    if (!group.first->exact() || touched.constants.size() * group.constants.size() > kMostPairs) continue;
    std::map<Constants, std::set<Constants>> serves;
    for (auto& one : touched.constants)
      for (auto& other : group.constants) serves[difference(other, one)].insert(one);
    for (auto& [by, ones] : serves) all.push_back({&group, by, std::move(ones)});
  }
  std::ranges::sort(
      all, [](auto& a, auto& b) { return std::pair(b.serves.size(), a.by) < std::pair(a.serves.size(), b.by); });
  return all;
}

/// What the first of the shift's group touches, where the first of the touched group stands for it.
std::optional<isl::set> elements(const Group& touched, const Shift& shift, size_t subscripts) {
  auto there = in_tuple_of(*touched.first, *shift.group->first, subscripts);
  if (!there || there->is_null()) return std::nullopt;
  const Constants apart = difference(difference(shift.group->first->constants(), touched.first->constants()), shift.by);
  std::string from, to;
  for (size_t i = 0, all = isl_set_dim(there->get(), isl_dim_set); i < all; ++i) {
    const std::string name = (i == 0 ? "" : ", ") + ("s" + std::to_string(i));
    from += name, to += name + (i < subscripts ? " - (" + std::to_string(apart[i]) + ")" : "");
  }
  return there->apply(isl::map(there->ctx(), "{ E[" + from + "] -> E[" + to + "] }"));
}

bool is_covered(const Setting& setting, const Group& touched, const std::vector<Group>& allowed, size_t subscripts) {
  const auto possible = shifts(touched, allowed);
  const isl::set all = touched.first->elements().intersect_params(setting.asked);
  std::set<Constants> left = touched.constants;
  size_t tests = 0;
  for (auto& shift : possible) {
    if (left.empty() || ++tests > kMostTests) break;
    if (std::ranges::none_of(shift.serves, [&](auto& one) { return left.contains(one); })) continue;
    const auto there = elements(touched, shift, subscripts);
    if (there && all.is_subset(*there).is_true())
      for (auto& one : shift.serves) left.erase(one);
  }
  if (left.empty()) return true;
  // No access does it alone: those that together do it for each of them.
  isl::set rest = all;
  for (auto& shift : possible) {
    if (shift.serves.size() < touched.constants.size()) break;
    if (const auto there = elements(touched, shift, subscripts)) rest = rest.subtract(*there).coalesce();
    if (is_empty(rest)) return true;
    if (rest.is_null()) return false;
  }
  return false;
}

}  // namespace

bool covered_by_shifts(const Setting& setting, const std::vector<Touch>& touched, const std::vector<Touch>& allowed,
                       size_t subscripts) {
  const auto groups = groups_of(allowed);
  return std::ranges::all_of(groups_of(touched),
                             [&](auto& group) { return is_covered(setting, group, groups, subscripts); });
}

std::optional<Findings> uncovered(Setting& setting, const std::vector<Touch>& touched,
                                  const std::vector<Touch>& allowed, size_t subscripts, const CoverageWords& words) {
  Findings found;
  for (size_t i = 0; i < touched.size(); ++i) {
    auto& one = touched[i];
    if (std::any_of(touched.begin(), touched.begin() + i, [&](auto& earlier) { return same_elements(one, earlier); }))
      continue;
    isl::set rest = one.elements().intersect_params(setting.asked);
    std::string reason = one.reason();
    for (auto& other : allowed) {
      if (is_empty(rest)) break;
      const auto there = other.exact() ? in_tuple_of(one, other, subscripts) : std::nullopt;
      if (!there) {
        if (reason.empty()) reason = !other.exact() ? other.reason() : other.terms()[0].shown;
        continue;
      }
      rest = rest.subtract(*there);
    }
    if (rest.is_null()) return std::nullopt;
    if (is_empty(rest)) continue;
    if (one.terms().empty() && one.exact() && !reason.empty()) {
      if (const auto sure = surely_touched(allowed, subscripts)) rest = rest.subtract(*sure);
      if (rest.is_null()) return std::nullopt;
      if (is_empty(rest)) continue;
      // An atomic operation may leave what it finds, as adding 0 does.
      if (one.access().kind != KernelModel::Access::Kind::Atomic && one_input_decides(allowed)) reason.clear();
    }
    if (!reason.empty() || !one.terms_are_inputs()) {
      found.not_known = "whether " + std::string(words.of_candidate ? "it " : "the original ") +
                        word(one.access().kind) + " the same elements of " + words.object + at_line(one.access().line) +
                        " depends on " + (reason.empty() ? one.terms()[0].shown : reason);
      found.line = one.access().line;
      continue;
    }
    isl::set parameters = rest.params();
    found.wrong.push_back(
        {parameters, described(setting, parameters, rest, words.placed ? (*words.placed)[i] : one, subscripts, words),
         one.access().line});
  }
  return found;
}

}  // namespace kernelift::legality
