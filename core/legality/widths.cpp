// See widths.h.
#include "core/legality/widths.h"

#include <isl/set.h>

#include <algorithm>

namespace kernelift::legality {
namespace {

using Narrow = KernelModel::Narrow;

constexpr int64_t kEndOfInt = int64_t(1) << 31;
constexpr int64_t kUnasked = 1 << 20;  ///< A block's, tile's or grid's threads beyond a bound are fewer.

/// Of a sum of products that is not affine: at least the sizes for which it leaves the range for some thread, by its
/// products' values at the ends of the positions' ranges. nullopt: it has loop counters or values in memory.
std::optional<isl::set> overflow_at_ends(Setting& setting, const Side& side, const Narrow& number, int64_t most) {
  constexpr size_t kMostProducts = 4;
  const auto sum = Polynomial::of(number.value);
  if (!sum || sum->products().size() > kMostProducts) return std::nullopt;
  std::vector<Expression> ends;
  for (auto& [factors, coefficient] : sum->products()) {
    Expression end = Expression::constant(coefficient);
    for (auto& factor : factors) {
      const Expression parsed = Polynomial::factor(factor);
      auto* name = parsed.as_variable();
      if (!name) return std::nullopt;
      const char letter = name->back();
      const int axis = letter - 'x';
      const auto& grid = axis >= 0 && axis < 3 ? side.launch.grid[axis] : std::nullopt;
      if (name->starts_with("tid.")) end = end * Expression::constant(along(side.launch.block, axis) - 1);
      else if (name->starts_with("bid."))
        end = end * ((grid ? *grid : Expression::variable(std::string("nctaid.") + letter)) - Expression::constant(1));
      else if (name->starts_with("arg.")) end = end * parsed;
      else return std::nullopt;
    }
    ends.push_back(end);
  }
  InstanceText text(side.launch, setting.parameters, InstanceText::Scope::Grid);
  std::string out;
  for (size_t some = 1; some < size_t(1) << ends.size(); ++some) {
    Expression part = Expression::constant(0);
    for (size_t i = 0; i < ends.size(); ++i)
      if (some >> i & 1) part = part + ends[i];
    auto value = text.affine(part);
    if (!value) return std::nullopt;
    out += (out.empty() ? "" : " or ") + *value + " < " + std::to_string(-kEndOfInt) + " or " + *value + " > " +
           std::to_string(most);
  }
  return isl::set(setting.context, "[" + text.parameter_list() + "] -> { [" + text.dimensions() +
                                       "] : " + text.constraints() + " and (" + out + ") }")
      .params()
      .intersect(setting.asked);
}

/// Sizes for which the number overflows; nullopt: they are not known. `at_least`: more of them than that, where they
/// are not known.
std::optional<isl::set> overflow(Setting& setting, const Side& side, const Narrow& number, bool at_least) {
  InstanceText text(side.launch, setting.parameters, InstanceText::Scope::Grid);
  auto value = text.affine(number.value);
  const int64_t most = number.is_signed ? kEndOfInt - 1 : 2 * kEndOfInt - 1;
  if (!value) return at_least ? overflow_at_ends(setting, side, number, most) : std::nullopt;
  text.constrain(number.domain);
  std::set<std::string> used = number.value.variables();
  used.merge(number.domain.variables());
  for (auto& grid : side.launch.grid)
    if (grid) used.merge(grid->variables());
  for (auto& name : used) {
    auto width = side.model.widths.find(name);
    if (width == side.model.widths.end() || width->second > 32) continue;
    if (auto parameter = text.affine(Expression::variable(name)))
      text.add(std::to_string(-kEndOfInt) + " <= " + *parameter + " <= " + std::to_string(kEndOfInt - kUnasked));
  }
  isl::set beyond(setting.context, "[" + text.parameter_list() + "] -> { [" + text.dimensions() + "] : " +
                                       text.constraints() + " and (" + *value + " < " + std::to_string(-kEndOfInt) +
                                       " or " + *value + " > " + std::to_string(most) + ") }");
  isl::set parameters = beyond.params().intersect(setting.asked);
  if (parameters.is_null() || is_empty(parameters) || (text.exact() && !text.uses_terms())) return parameters;
  // Of a number that is known, more sizes are those for which it is computed anywhere.
  const auto variables = number.value.variables();
  const bool known = std::ranges::none_of(variables, [](auto& name) { return name.starts_with("term."); });
  return at_least && known && !text.strides() ? std::optional(parameters) : std::nullopt;
}

/// It is part of a wider number: 32 bits of that are taken on purpose, which is no overflow.
bool is_cut(const Side& side, const Narrow& number) {
  return std::ranges::any_of(number.value.variables(), [&](auto& name) {
    auto width = side.model.widths.find(name);
    return name.starts_with("arg.") && (width == side.model.widths.end() || width->second > 32);
  });
}

/// The expression with what its terms are made of in their places; empty: they do not determine it.
std::string meaning(const KernelModel& model, const Expression& expression) {
  std::string text = expression.text();
  for (auto& name : expression.variables()) {
    auto* term = name.starts_with("term.") ? model.term(name) : nullptr;
    if (!term) continue;
    if (!term->repeats) return "";
    text += ", " + name + ": " + compact(to_json(term->value));
    for (auto& argument : term->arguments) text += " of " + meaning(model, argument);
  }
  return text;
}

/// The original computes it, too, in as few bits.
bool in_original(const Setting& setting, const Narrow& number) {
  const std::string wanted = meaning(setting.candidate.model, number.value);
  auto of_thread = [](const Expression& expression) {
    const auto variables = expression.variables();
    return std::ranges::any_of(variables, [](auto& name) { return !name.starts_with("arg."); });
  };
  const auto &before = setting.original.launch, &after = setting.candidate.launch;
  const bool same_threads = before.block == after.block && before.grid == after.grid;
  if (wanted.empty() || (of_thread(number.value) && !same_threads)) return false;
  const std::string where = meaning(setting.candidate.model, number.domain);
  return std::ranges::any_of(setting.original.model.narrow, [&](const Narrow& other) {
    if (other.is_signed != number.is_signed || meaning(setting.original.model, other.value) != wanted) return false;
    // For all threads that compute it there, or for all of the launch.
    if (other.domain.is_constant(1)) return true;
    return same_threads && !where.empty() && meaning(setting.original.model, other.domain) == where;
  });
}

/// The object's elements that the original touches are within reach of such a number, and the candidate touches no
/// others.
bool kept_by_coverage(const Setting& setting, const Narrow& number) {
  if (!number.index_of) return false;
  auto& object = setting.candidate.model.objects[*number.index_of];
  if (object.bytes) return true;
  auto& all = setting.original.model;
  uint64_t reach = 0, least = UINT64_MAX;
  for (auto& access : all.accesses) {
    auto& other = all.objects[access.object];
    if (other.kind != object.kind || other.name != object.name) continue;
    if (access.reach == 0) return false;
    reach = std::max(reach, access.reach);
  }
  // One of several numbers is no larger than their sum where none of them is negative.
  auto is_part = [&](const KernelModel::Access& access) {
    std::set<std::string> parameters;
    const Expression rest = access.offset - Expression::constant(static_cast<int64_t>(number.unit)) * number.value;
    const auto sum = Polynomial::of(rest);
    if (number.unit == 0 || !sum || !never_negative(number.value, &parameters)) return false;
    return std::ranges::all_of(sum->products(), [&](auto& product) {
      return product.second >= 0 && std::ranges::all_of(product.first, [&](auto& factor) {
               return never_negative(Polynomial::factor(factor), &parameters);
             });
    });
  };
  const uint64_t end = static_cast<uint64_t>(number.is_signed ? kEndOfInt : 2 * kEndOfInt);
  for (auto& access : setting.candidate.model.accesses) {
    if (access.object != *number.index_of) continue;
    if (access.reach == 0 && !is_part(access)) return false;
    least = std::min(least, access.reach == 0 ? number.unit * end : access.reach);
  }
  return reach > 0 && reach <= least;
}

}  // namespace

std::optional<Findings> ask_where_the_original_fits(Setting& setting) {
  Findings found;
  for (auto& number : setting.original.model.narrow) {
    const bool cut = is_cut(setting.original, number);
    auto beyond = overflow(setting, setting.original, number, /*at_least=*/cut);
    if (!beyond && cut) {
      found.not_known = "whether " + setting.shown(number.value) + at_line(number.line) +
                        " of the original fits into 32 bits is not understood";
      return found;
    }
    if (!beyond) continue;
    const isl::set left = setting.asked.intersect(*beyond);
    if (left.is_null()) return std::nullopt;
    if (cut && !is_empty(left)) {
      setting.unread = setting.unread.unite(left);
      if (setting.why_unread.empty())
        setting.why_unread = "elsewhere " + setting.shown(number.value) + at_line(number.line) +
                             " of the original does not fit into 32 bits";
    }
    setting.asked = setting.asked.subtract(left);
    if (setting.asked.is_null() || setting.unread.is_null()) return std::nullopt;
  }
  return found;
}

std::optional<Findings> beyond_width(Setting& setting) {
  Findings found;
  for (auto& number : setting.candidate.model.narrow) {
    if (kept_by_coverage(setting, number) || in_original(setting, number)) continue;
    auto beyond = overflow(setting, setting.candidate, number, /*at_least=*/true);
    if (beyond && beyond->is_null()) return std::nullopt;
    if (beyond && is_empty(*beyond)) continue;
    if (beyond) {
      found.wrong.push_back({*beyond, setting.shown(number.value) + at_line(number.line) + " does not fit into 32 bits",
                             number.line, /*may_be_right=*/true});
    } else if (found.not_known.empty()) {
      found.not_known = "whether " + setting.shown(number.value) + at_line(number.line) +
                        " fits into 32 bits, as the original's need not, is not understood";
      found.line = number.line;
    }
  }
  return found;
}

}  // namespace kernelift::legality
