// See tiers.h.
#include "tuner/tiers.h"

#include <algorithm>
#include <sstream>

#include "tuner/compiler/flag_proposer.h"
#include "tuner/compiler/pass_proposer.h"
#include "tuner/compiler/unit_flag_proposer.h"
#include "tuner/inherit/inherited_proposer.h"
#include "tuner/inherit/pattern_proposer.h"
#include "tuner/source/chain_proposer.h"
#include "tuner/source/llm/idea_prompt.h"
#include "tuner/source/llm/start/start_proposer.h"
#include "tuner/source/rule_proposer.h"
#include "tuner/source/template_proposer.h"
#include "tuner/space/parameter_proposer.h"

namespace kernelift::tuner {
namespace {

constexpr std::string_view kAllRules = "all";  ///< In place of the rules' names.

/// The rules whose results are less precise by design; others only round in another order.
constexpr std::string_view kLessPrecise[] = {"float_literals", "double_to_float", "fast_math", "reciprocal"};

bool is_left_out(const TierOptions& options, std::string_view rule) {
  if (options.keep_precision && std::ranges::find(kLessPrecise, rule) != std::end(kLessPrecise)) return true;
  return std::ranges::find(options.without_rules, rule) != options.without_rules.end();
}

std::vector<std::string> rules_left_out(const TierOptions& options) {
  std::vector<std::string> names;
  for (auto* rule : all_rules())
    if (is_left_out(options, rule->name)) names.emplace_back(rule->name);
  return names;
}

Bound bound_of(const TierOptions& options) { return options.facts ? bound_by(*options.facts) : Bound::Unknown; }

RuleContext context_of(const Mep& mep, const TierOptions& options) {
  RuleContext context = RuleContext::of(mep);
  context.bound = bound_of(options), context.on_cpu = options.on_cpu;
  return context;
}

/// The first set with which the text parses; else the last.
std::vector<std::string> arguments_for(const std::string& source, const TierOptions& options) {
  std::vector<std::string> arguments;
  for (auto& set : options.clang_arguments) {
    arguments = set;
    if (KernelSource::parse(source, set).ok()) break;
  }
  return arguments;
}

/// Of patterns that need them, too.
bool is_precise(const Recipe& recipe) { return recipe.fast_math.empty() && !recipe.unit_flags.fast_math; }

}  // namespace

Result<std::vector<std::string>> parse_tiers(const std::string& text) {
  std::vector<std::string> tiers;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word != "source" && word != "params" && word != "compiler")
      return usage_error("'" + word + "' is not a tier; there are source, params and compiler");
    if (std::find(tiers.begin(), tiers.end(), word) == tiers.end()) tiers.push_back(word);
  }
  if (tiers.empty()) return usage_error("--tiers names no tier; there are source, params and compiler");
  return tiers;
}

Status check_rules(const std::vector<std::string>& names) {
  for (auto& name : names) {
    if (name == kAllRules || find_rule(name)) continue;
    std::string known;
    for (auto* rule : all_rules()) known += (known.empty() ? "" : ", ") + std::string(rule->name);
    return usage_error("'" + name + "' is not a rewrite rule; there are " + known + ", or all");
  }
  return done();
}

RulesThatApply rules_that_apply(const Mep& mep, const Candidate& original, const TierOptions& options) {
  RuleProposer rules(context_of(mep, options), arguments_for(original.source, options), rules_left_out(options));
  RulesThatApply found;
  found.offers = rules.offers(original), found.declined = rules.closing_note();
  return found;
}

Result<std::vector<std::unique_ptr<Proposer>>> make_proposers(const Mep& mep, const std::string& source,
                                                              const TierOptions& options) {
  auto wanted = [&](const char* tier) {
    return std::find(options.tiers.begin(), options.tiers.end(), tier) != options.tiers.end();
  };
  std::shared_ptr<ModelCalls> calls;
  if (options.llm) {
    if (!wanted("source") && !wanted("params"))
      return usage_error("--llm works in the source and parameter tiers, which --tiers leaves out");
    KERNELIFT_ASSIGN(calls, ModelCalls::open(*options.llm));
  }
  // The bandit tries proposers first in this order: large changes first, the compiler last.
  std::vector<std::unique_ptr<Proposer>> proposers;
  const Bound bound = bound_of(options);
  KERNELIFT_TRY(check_rules(options.without_rules));
  if (!options.templates.empty())
    proposers.push_back(std::make_unique<TemplateProposer>(mep, options.templates, wanted("params"), options.seed));
  std::vector<std::string> arguments;
  if (wanted("source")) arguments = arguments_for(source, options);
  RuleContext context = context_of(mep, options);
  if (options.patterns) {
    auto without = [&](const Step& step) {
      return !step.rule.empty() && (is_left_out(options, step.rule) || is_left_out(options, kAllRules));
    };
    std::erase_if(options.patterns->offers, [&](auto& one) {
      return std::ranges::any_of(one.chain, without) || (options.keep_precision && !is_precise(one.recipe)) ||
             (!options.unit_flags && !one.recipe.unit_flags.is_default());
    });
    if (!options.patterns->offers.empty())
      proposers.push_back(std::make_unique<PatternProposer>(mep, options.patterns, options.tiers,
                                                            ChainProposer(mep, context, arguments, {})));
  }
  if (wanted("source")) {
    std::vector<Chain> chains = options.chains;
    for (auto& chain : chains) std::erase_if(chain.steps, [&](auto& step) { return is_left_out(options, step.rule); });
    const bool rules = !is_left_out(options, kAllRules);
    if (rules && !chains.empty())
      proposers.push_back(std::make_unique<ChainProposer>(mep, context, arguments, std::move(chains)));
    if (rules)
      proposers.push_back(
          std::make_unique<RuleProposer>(std::move(context), std::move(arguments), rules_left_out(options)));
    if (options.llm) {
      KERNELIFT_ASSIGN(auto model, LlmProposer::create(mep, *options.llm, calls));
      proposers.push_back(std::move(model));
    }
  }
  KERNELIFT_TRY(check_strategy(options.strategy));
  std::vector<EarlierRun> earlier;
  if (options.earlier && !options.earlier->empty()) {
    proposers.push_back(std::make_unique<InheritedProposer>(mep, options.earlier, options.tiers));
    for (auto& run : *options.earlier)
      if (EarlierRun parameters = run.parameters(); !parameters.trials.empty())
        earlier.push_back(std::move(parameters));
  }
  if (wanted("params")) {
    auto parameters = std::make_unique<ParameterProposer>(mep, options.strategy, options.seed, std::move(earlier));
    // A single request is for an idea.
    if (calls && (options.llm->most_calls > 1 || !wanted("source"))) {
      KERNELIFT_TRY(check_prompts(options.llm->prompts));
      auto take = [&parameters = *parameters](const ProposedStart& start) {
        parameters.begin_with(start.run, start.configurations, "llm/" + start.model);
      };
      proposers.push_back(std::make_unique<StartProposer>(mep, *options.llm, calls, take));
    }
    proposers.push_back(std::move(parameters));
  }
  if (wanted("compiler")) {
    if (options.unit_flags)
      proposers.push_back(
          std::make_unique<UnitFlagProposer>(UnitFlagProposer::Options{bound, options.on_cpu, options.keep_precision}));
    proposers.push_back(std::make_unique<FlagProposer>(options.strategy, options.seed, bound, options.keep_precision));
    proposers.push_back(std::make_unique<PassProposer>(options.seed));
  }
  return proposers;
}

}  // namespace kernelift::tuner
