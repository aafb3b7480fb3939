// Creates the proposers for the tiers that a user names.
#pragma once
#include <optional>

#include "core/model/kernel_facts.h"
#include "core/model/mep.h"
#include "tuner/inherit/earlier_search.h"
#include "tuner/inherit/pattern_proposer.h"
#include "tuner/proposer.h"
#include "tuner/source/chain.h"
#include "tuner/source/llm/llm_proposer.h"
#include "tuner/source/rule_proposer.h"

namespace kernelift::tuner {

struct TierOptions {
  std::vector<std::string> tiers = {"source", "params", "compiler"};
  std::string strategy = "portfolio";  ///< Search strategy, see search/searcher.h.
  uint64_t seed = 1;
  bool on_cpu = false;  ///< Candidates run on the CPU device.
  /// Sets of clang arguments for the source tier, tried in order until the kernel parses (with Kernelift's headers,
  /// with a toolkit's).
  std::vector<std::vector<std::string>> clang_arguments;
  std::optional<LlmOptions> llm;
  std::vector<Chain> chains = {};  ///< What helped other kernels; tried first.
  /// Written by hand; each as candidate_of_template() makes it, with a step of Step::Origin::Template.
  std::vector<Candidate> templates = {};
  std::vector<std::string> without_rules = {};  ///< Names of rewrite rules that are not tried; "all".
  bool keep_precision = false;                  ///< Nothing is tried that lowers the precision of results.
  bool unit_flags = true;                       ///< Flags of the kernel's file have a place in the application's build.
  /// Profile of the original, which decides the order in which rules and recipes are tried.
  std::optional<KernelFacts> facts;
  /// Earlier runs of the kernel, from which the search begins; null: none.
  std::shared_ptr<const std::vector<EarlierSearch>> earlier = nullptr;
  /// What helped similar kernels of other applications, tried first; null: nothing.
  std::shared_ptr<InheritedPatterns> patterns = nullptr;
};

/// "source,params" as a list; a usage error names an unknown tier.
Result<std::vector<std::string>> parse_tiers(const std::string& text);

/// A usage Error names a rule that there is not, and those that there are.
Status check_rules(const std::vector<std::string>& names);

/// What rewrite rules could change in the MEP's text, and which were expected to apply and do not, a line each.
struct RulesThatApply {
  std::vector<RuleOffer> offers;
  std::string declined;  ///< RuleProposer::closing_note(); may be empty.
};
RulesThatApply rules_that_apply(const Mep& mep, const Candidate& original, const TierOptions& options);

/// EXPECTS: `mep` outlives the proposers.
Result<std::vector<std::unique_ptr<Proposer>>> make_proposers(const Mep& mep, const std::string& source,
                                                              const TierOptions& options);

}  // namespace kernelift::tuner
