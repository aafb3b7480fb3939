// See conclusion.h.
#include "core/legality/conclusion.h"

#include <isl/set.h>

#include <algorithm>
#include <array>

#include "core/legality/premise.h"

namespace kernelift::legality {
namespace {

constexpr size_t kMostPremiseNodes = 60;   ///< A longer condition is no premise that people would accept.
constexpr size_t kShortPremiseNodes = 12;  ///< A longer one is replaced by a stronger one that is short.
constexpr std::array<long, 12> kTried{1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 100, 130};  ///< Sizes, for products of them.

isl::set with(const isl::set& set, const std::string& parameter, long value) {
  const int place = isl_set_find_dim_by_name(set.get(), isl_dim_param, parameter.c_str());
  if (place < 0) return set;
  return isl::manage(isl_set_fix_si(set.copy(), isl_dim_param, place, static_cast<int>(value)));
}

bool involves(const isl::set& set, const std::string& parameter) {
  const int place = isl_set_find_dim_by_name(set.get(), isl_dim_param, parameter.c_str());
  return place >= 0 && isl_set_involves_dims(set.get(), isl_dim_param, place, 1) == isl_bool_true;
}

/// Values of the kernel's parameters in `set`. Products of them have the values of their factors.
std::optional<Bindings> find_example(const Setting& setting, const isl::set& set) {
  std::vector<std::pair<std::string, Expression>> products;
  for (auto& [name, expression] : setting.parameters)
    if (!expression.as_variable() && involves(set, name)) products.emplace_back(name, expression);
  Bindings values;
  if (products.empty()) {
    auto member = small_member(set);
    if (!member) return std::nullopt;
    for (auto& [name, value] : *member) {
      auto found = setting.parameters.find(name);
      if (found != setting.parameters.end() && found->second.as_variable() && involves(set, name))
        values[*found->second.as_variable()] = value;
    }
    return values;
  }
  std::set<std::string> factors;
  for (auto& [name, expression] : products) factors.merge(expression.variables());
  std::vector<std::string> order(factors.begin(), factors.end());
  // Depth first: a value that leaves nothing is not combined with others.
  auto search = [&](auto& self, size_t at, const isl::set& rest) -> bool {
    if (rest.is_null() || is_empty(rest)) return false;
    if (at == order.size()) {
      isl::set fixed = rest;
      for (auto& [name, expression] : products) {
        auto value = expression.evaluate(values);
        if (!value.ok() || std::abs(*value) > 1'000'000) return false;
        fixed = with(fixed, name, *value);
      }
      auto member = fixed.is_null() || is_empty(fixed) ? std::nullopt : small_member(fixed);
      if (!member) return false;
      for (auto& [name, value] : *member)
        if (auto found = setting.parameters.find(name);
            found != setting.parameters.end() && found->second.as_variable() && involves(set, name))
          values[*found->second.as_variable()] = value;
      return true;
    }
    for (long value : kTried) {
      values[order[at]] = value;
      if (self(self, at + 1, with(rest, isl_name(order[at]), value))) return true;
    }
    values.erase(order[at]);
    return false;
  };
  return search(search, 0, set) ? std::optional(values) : std::nullopt;
}

}  // namespace

Answer conclude(const Setting& setting, const std::vector<Wrong>& wrong, const isl::set& writes,
                const Wrong& leaves_rows) {
  const Answer too_much{Answer::Kind::NotKnown, {}, "comparing its accesses takes too many steps", 0, {}};
  const isl::set unread = setting.parameters_of(setting.unread, /*within=*/false);
  isl::set asked = setting.parameters_of(setting.asked), excluded = unread;
  std::vector<isl::set> parts;
  for (auto& one : wrong) {
    parts.push_back(setting.parameters_of(one.parameters).coalesce());
    excluded = excluded.unite(parts.back());
    if (!one.no_example.is_null()) parts.back() = parts.back().subtract(setting.parameters_of(one.no_example));
  }
  if (!leaves_rows.parameters.is_null()) {
    const isl::set rows = setting.parameters_of(leaves_rows.parameters);
    excluded = excluded.unite(rows);
    // There, an example's subscripts are no elements.
    for (auto& part : parts) part = part.subtract(rows);
  }
  asked = asked.unite(unread), excluded = excluded.coalesce();
  if (excluded.is_null()) return too_much;
  if (is_empty(excluded)) return {Answer::Kind::Proven, {}, "", 0, {}};
  isl::set right = asked.subtract(excluded).coalesce();
  isl::set useful = right.intersect(setting.parameters_of(writes));
  if (right.is_null() || useful.is_null()) return too_much;
  Answer result{Answer::Kind::UnderPremise, {}, leaves_rows.what, leaves_rows.line, {}};
  bool example = false, refuted = false;
  for (size_t i = 0; i < wrong.size() && !refuted; ++i)
    if (auto values = wrong[i].may_be_right && example ? std::nullopt : find_example(setting, parts[i])) {
      example = true, refuted = !wrong[i].may_be_right;
      result.example = *values, result.line = wrong[i].line;
      result.why = (values->empty() ? "" : setting.example(*values) + ": ") + wrong[i].what;
    }
  if (wrong.empty() && result.why.empty()) result.why = setting.why_unread;
  result.wrong_elsewhere = refuted;
  for (size_t i = 0; i < wrong.size() && !example; ++i) {
    if (parts[i].is_null()) return too_much;
    if (wrong[i].may_be_right || is_empty(parts[i])) continue;
    result.why = "for some sizes " + wrong[i].what, result.line = wrong[i].line, result.wrong_elsewhere = true;
    break;
  }
  if (result.why.empty() && !wrong.empty())
    result.why = "for some sizes it is not known whether " + wrong[0].what, result.line = wrong[0].line;
  if (!is_empty(useful)) result.premise = as_expression(likely_part(right), asked, setting.parameters);
  if (!is_empty(useful) && (!result.premise || result.premise->size() > kShortPremiseNodes))
    if (auto simple = remainder_premise(right, asked, setting.parameters)) result.premise = simple;
  if (!is_empty(useful) && (!result.premise || result.premise->size() > kMostPremiseNodes))
    if (auto simple = positive_premise(right, asked, setting.parameters)) result.premise = simple;
  if (!result.premise || result.premise->size() > kMostPremiseNodes) {
    result.premise.reset();
    result.kind = refuted ? Answer::Kind::Refuted : Answer::Kind::NotKnown;
  }
  return result;
}

}  // namespace kernelift::legality
