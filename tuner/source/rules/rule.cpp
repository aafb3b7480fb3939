// What all rules share: applying edits, facts from a MEP, the table.
#include "tuner/source/rules/rule.h"

#include <algorithm>

namespace kernelift {

std::optional<std::string> apply_edits(const std::string& text, std::vector<TextEdit> edits) {
  std::vector<size_t> order(edits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return edits[a].begin != edits[b].begin ? edits[a].begin < edits[b].begin : a < b;
  });
  std::string out;
  size_t at = 0;
  for (size_t i : order) {
    auto& edit = edits[i];
    if (edit.begin < at || edit.end < edit.begin || edit.end > text.size()) return std::nullopt;
    out.append(text, at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out.append(text, at);
  return out;
}

KernelFacts KernelFacts::of(const Mep& mep) {
  KernelFacts facts;
  facts.kernel = mep.kernel_name;
  for (auto& instance : mep.instances) {
    if (std::find(facts.geometries.begin(), facts.geometries.end(), instance.geometry) == facts.geometries.end())
      facts.geometries.push_back(instance.geometry);
    // Two pointers into one allocation are common (x, x + n) and harmless; the same pointer twice is not. What lies
    // between the two is for verification to find out.
    std::vector<uint64_t> addresses;
    for (size_t p = 0; p < mep.parameters.size() && p < instance.parameters.size(); ++p) {
      auto [offset, size] = instance.parameters[p];
      if (mep.parameters[p].pointee.empty() || size != 8 || offset + size > instance.arguments.size()) continue;
      uint64_t address = 0;
      for (size_t byte = 0; byte < size; ++byte) address |= uint64_t(instance.arguments[offset + byte]) << (8 * byte);
      facts.pointers_overlap |= address && std::count(addresses.begin(), addresses.end(), address) > 0;
      addresses.push_back(address);
    }
  }
  return facts;
}

std::vector<Opportunity> opportunities(const Rule& rule, const KernelSource& source, const KernelFacts& facts) {
  std::vector<Bindings> choices{{}};
  for (auto& parameter : rule.parameters) {
    std::vector<Bindings> longer;
    for (auto& choice : choices)
      for (int64_t value : parameter.values) {
        longer.push_back(choice);
        longer.back()[parameter.name] = value;
      }
    choices = std::move(longer);
  }
  std::vector<Opportunity> found;
  for (auto& choice : choices)
    for (auto& opportunity : rule.find(source, facts, choice)) {
      opportunity.values = choice;
      found.push_back(std::move(opportunity));
    }
  return found;
}

const std::vector<const Rule*>& all_rules() {
  static const std::vector<const Rule*> rules = {&kAccumulate,   &kReadonly,  &kUnroll,       &kCoarsen,   &kFloatLiterals,
                                                 &kDemote,       &kReciprocal, &kHoist,        &kLaunchBounds, &kPadShared};
  return rules;
}

const Rule* find_rule(std::string_view name) {
  for (auto* rule : all_rules())
    if (name == rule->name) return rule;
  return nullptr;
}

}  // namespace kernelift
