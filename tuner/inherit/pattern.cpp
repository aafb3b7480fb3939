// See pattern.h.
#include "tuner/inherit/pattern.h"

#include <algorithm>
#include <cmath>

#include "core/model/kernel_key.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kProcessor = "cpu";
constexpr double kOtherGpu = 0.7;     ///< What remains of a pattern's worth on a GPU of another architecture.
constexpr double kSameKernel = 0.99;  ///< Similarity of runs of one kernel: features are rounded when stored.
/// A gain that was seen once is worth two thirds of itself.
constexpr double kTriedBefore = 2, kHeldBefore = 1;

std::string size_name(int axis) { return std::string("block.") + "xyz"[axis]; }

/// The knob that is the block's size along the axis at every launch of the kernel; empty: none is.
std::string knob_of_block(const Mep& mep, int axis) {
  std::string name;
  for (auto& site : mep.launches) {
    const std::string* variable = site.block[axis] ? site.block[axis]->as_variable() : nullptr;
    if (!variable || (!name.empty() && name != *variable)) return {};
    name = *variable;
  }
  return name;
}

/// Nothing, where a knob of the step determines something else than one axis of the block.
std::optional<Step> general(const Step& step, const Mep& mep) {
  Step made{.origin = step.origin};
  if (step.origin == Step::Origin::Rule) {
    made.rule = step.rule, made.parameters = step.parameters;
    return made;
  }
  if (step.origin != Step::Origin::Knob) return std::nullopt;
  for (auto& [name, value] : step.parameters) {
    std::string role;
    for (int axis = 0; axis < 3; ++axis)
      if (name == size_name(axis) || name == knob_of_block(mep, axis)) role = size_name(axis);
    if (role.empty() || !made.parameters.emplace(role, value).second) return std::nullopt;
  }
  return made;
}

Json to_json(const Step& step) {
  if (step.origin == Step::Origin::Rule) return {{"rule", step.rule}, {"parameters", step.parameters}};
  return {{"block", step.parameters}};
}

Step step_from_json(const Json& json) {
  if (json.contains("block")) return {.origin = Step::Origin::Knob, .parameters = json["block"].get<Bindings>()};
  return {.origin = Step::Origin::Rule,
          .rule = json.at("rule").get<std::string>(),
          .parameters = json.at("parameters").get<Bindings>()};
}

}  // namespace

PatternContext PatternContext::of(const Mep& mep, const KernelFeatures& features, const std::string& architecture) {
  return {base_name(mep.kernel_key), architecture, features};
}

bool PatternContext::is_kernel_of(const PatternContext& other) const {
  return kernel == other.kernel && features.similarity(other.features) >= kSameKernel;
}

double Pattern::gain() const { return held > 0 ? std::exp(log_gains / held) : 1; }

double Pattern::worth_for(const PatternContext& kernel) const {
  const bool one_kind = (context.architecture == kProcessor) == (kernel.architecture == kProcessor);
  if (!one_kind || held <= 0) return 0;
  const double holds = (held + kHeldBefore) / (tried + kTriedBefore);
  const double here = context.architecture == kernel.architecture ? 1 : kOtherGpu;
  return context.features.similarity(kernel.features) * holds * here * std::log(gain());
}

bool Pattern::same_chain(const Pattern& other) const { return chain == other.chain && recipe == other.recipe; }

std::string Pattern::text() const {
  std::string text;
  for (auto& step : chain) {
    std::string values;
    for (auto& [name, value] : step.parameters)
      values += (values.empty() ? "" : ", ") + name + " " + std::to_string(value);
    if (!step.rule.empty() && !values.empty()) values = " (" + values + ")";
    text += (text.empty() ? "" : "; ") + step.rule + values;
  }
  if (!recipe.is_default()) text += (text.empty() ? "" : "; ") + recipe.text();
  return text;
}

std::optional<Pattern> Pattern::of(const RunTrial& trial, const Mep& mep, const PatternContext& context) {
  Pattern made{context, {}, trial.candidate.recipe, std::log(trial.figures().speedup_low())};
  for (auto& step : trial.candidate.steps) {
    if (step.origin == Step::Origin::Recipe) continue;  // The recipe itself says more than its text.
    auto repeatable = general(step, mep);
    if (!repeatable) return std::nullopt;
    made.chain.push_back(std::move(*repeatable));
  }
  if (made.chain.empty() && made.recipe.is_default()) return std::nullopt;
  return made;
}

std::vector<Step> Pattern::steps_for(const Mep& mep) const {
  std::vector<Step> steps = chain;
  for (auto& step : steps) {
    if (step.origin != Step::Origin::Knob) continue;
    Bindings named;
    for (int axis = 0; axis < 3; ++axis) {
      auto size = step.parameters.find(size_name(axis));
      if (size == step.parameters.end()) continue;
      const std::string knob = knob_of_block(mep, axis);
      named[knob.empty() ? size_name(axis) : knob] = size->second;
    }
    step.parameters = std::move(named);
  }
  return steps;
}

Json to_json(const Pattern& pattern) {
  Json chain = Json::array();
  for (auto& step : pattern.chain) chain.push_back(to_json(step));
  Json json{{"kernel", pattern.context.kernel}, {"architecture", pattern.context.architecture}, {"chain", chain}};
  if (!pattern.recipe.is_default()) json["recipe"] = to_json(pattern.recipe);
  json["gain"] = std::round(pattern.gain() * 1e4) / 1e4, json["tried"] = pattern.tried, json["held"] = pattern.held;
  json["features"] = to_json(pattern.context.features);
  return json;
}

Pattern pattern_from_json(const Json& json) {
  Pattern made;
  made.context.kernel = json.at("kernel"), made.context.architecture = json.at("architecture");
  made.context.features = kernel_features_from_json(json.at("features"));
  for (auto& step : json.at("chain")) made.chain.push_back(step_from_json(step));
  if (auto recipe = json.find("recipe"); recipe != json.end()) {
    auto read = recipe_from_json(*recipe, "recipe");
    if (!read.ok()) malformed(read.error().message);
    made.recipe = *std::move(read);
  }
  made.tried = json.at("tried"), made.held = json.at("held");
  const double gain = json.at("gain");
  if (!(gain > 0) || made.held < 0 || made.tried < made.held) malformed("a pattern's gain or counts are impossible");
  made.log_gains = made.held * std::log(gain);
  return made;
}

std::vector<Pattern> patterns_of(const std::vector<RunTrial>& trials, const Mep& mep, const PatternContext& context) {
  std::vector<Pattern> found;
  for (bool applicable_only : {true, false}) {
    if (!applicable_only && context.architecture == kProcessor) break;  // No recipe can be applied there.
    const RunTrial* best = nullptr;
    for (auto& trial : trials) {
      if (!trial.confirmed || !trial.figures().gains() || (applicable_only && !trial.applicable())) continue;
      if (best && best->figures().speedup_low() >= trial.figures().speedup_low()) continue;
      if (Pattern::of(trial, mep, context)) best = &trial;
    }
    if (!best || (!found.empty() && applicable_only == best->applicable())) continue;
    Pattern made = *Pattern::of(*best, mep, context);
    if (std::ranges::none_of(found, [&](auto& one) { return one.same_chain(made); })) found.push_back(std::move(made));
  }
  return found;
}

}  // namespace kernelift::tuner
