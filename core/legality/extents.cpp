// See extents.h.
#include "core/legality/extents.h"

#include <isl/set.h>

#include <algorithm>
#include <functional>

namespace kernelift::legality {
namespace {

using Access = KernelModel::Access;

/// The condition under which an access breaks a rule, given its offset in isl's notation; empty: never.
using Broken = std::function<std::string(const Access&, InstanceText&)>;

/// A product of a block's position is a number of its own in isl's sets, which tells nothing of the position. Empty:
/// the sizes do not depend on one.
std::string product_of_positions(const Setting& setting, const isl::set& sizes) {
  for (auto& [name, product] : setting.parameters) {
    const int place = isl_set_find_dim_by_name(sizes.get(), isl_dim_param, name.c_str());
    if (!product.as_variable() && product.uses_any({"bid.x", "bid.y", "bid.z"}) && place >= 0 &&
        isl_set_involves_dims(sizes.get(), isl_dim_param, static_cast<unsigned>(place), 1) != isl_bool_false)
      return setting.shown(product);
  }
  return "";
}

std::optional<Findings> broken(Setting& setting, const Side& side, const std::string& whether, const std::string& does,
                               const Broken& condition) {
  Findings found;
  std::vector<const Access*> seen;
  for (auto& access : side.model.accesses) {
    if (std::ranges::any_of(seen, [&](auto* earlier) {
          return earlier->object == access.object && earlier->offset == access.offset &&
                 earlier->domain == access.domain && earlier->bytes == access.bytes &&
                 earlier->alignment == access.alignment;
        }))
      continue;
    seen.push_back(&access);
    InstanceText text(side.launch, setting.parameters, InstanceText::Scope::Block);
    // Before terms are fixed: where one is the same for a whole block, it has any value here.
    const std::string bad = condition(access, text);
    if (bad.empty()) continue;
    const std::string name = setting.shown(side.model.objects[access.object]);
    auto unknown = [&](const std::string& why) {
      if (!found.not_known.empty()) return;
      found.not_known = "whether " + name + at_line(access.line) + " " + whether + " depends on " + why;
      found.line = access.line;
    };
    std::set<std::string> used = access.domain.variables();
    used.merge(access.offset.variables());
    setting.fix_uniform_terms(text, side.model, used, InstanceText::Scope::Block);
    text.constrain(access.domain);
    isl::set wrong(setting.context, "[" + text.parameter_list() + "] -> { [" + text.dimensions() +
                                        "] : " + text.constraints() + " and " + bad + " }");
    isl::set parameters = wrong.params().intersect(setting.asked);
    if (parameters.is_null()) return std::nullopt;
    if (is_empty(parameters)) continue;
    if (bad == "1 = 1") unknown("its index " + setting.shown(access.offset));
    else if (!text.exact()) unknown(text.reason());
    else if (text.uses_terms()) unknown("a value in memory");
    else if (auto product = product_of_positions(setting, parameters); !product.empty())
      unknown(product + ", which is not affine");
    else
      found.wrong.push_back(
          {parameters, std::string("a thread ") + word(access.kind) + " " + does + " " + name + at_line(access.line),
           access.line});
  }
  return found;
}

}  // namespace

std::optional<Findings> beyond_extents(Setting& setting, const Side& side) {
  return broken(setting, side, "stays inside", "beyond the end of", [&](const Access& access, InstanceText& text) {
    auto& extent = side.model.objects[access.object].bytes;
    if (!extent) return std::string();
    auto offset = text.affine(access.offset);
    if (!offset) return std::string("1 = 1");
    const int64_t last = int64_t(*extent) - int64_t(access.bytes);
    return "(" + *offset + " < 0 or " + *offset + " > " + std::to_string(last) + ")";
  });
}

std::optional<Findings> misaligned(Setting& setting, const Side& side) {
  return broken(setting, side, "is aligned", "at no multiple of its width",
                [&](const Access& access, InstanceText& text) {
                  if (access.alignment <= 1) return std::string();
                  const std::string by = std::to_string(access.alignment);
                  // Products whose coefficient is a multiple are, whatever they stand for.
                  auto offset = Polynomial::of(access.offset);
                  if (!offset) return std::string("1 = 1");
                  Polynomial rest;
                  for (auto& [factors, coefficient] : offset->products())
                    if (coefficient % access.alignment != 0) rest.add(factors, coefficient % access.alignment);
                  if (rest.products().empty()) return std::string();
                  auto remainder = text.affine(rest);
                  if (!remainder) return std::string("1 = 1");
                  return "(" + *remainder + ") mod " + by + " != 0";
                });
}

Findings undeclared_alignment(const Setting& setting) {
  auto &original = setting.original.model, &candidate = setting.candidate.model;
  for (auto& access : candidate.accesses) {
    auto& object = candidate.objects[access.object];
    if (object.alignment == 0 || access.alignment <= object.alignment) continue;
    const bool as_before = std::ranges::any_of(original.accesses, [&](const Access& other) {
      return original.objects[other.object] == object && other.alignment >= access.alignment;
    });
    if (!as_before)
      return {{},
              "whether " + setting.shown(object) + at_line(access.line) + " is aligned to " +
                  std::to_string(access.alignment) + " bytes is not known, it is declared without",
              access.line};
  }
  return {};
}

}  // namespace kernelift::legality
