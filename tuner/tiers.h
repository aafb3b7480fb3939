// From the tiers a user names to the proposers that work them, on one MEP.
#pragma once
#include <optional>

#include "core/model/kernel_facts.h"
#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/source/llm/llm_proposer.h"

namespace kernelift {

struct TierOptions {
  std::vector<std::string> tiers = {"source", "params", "compiler"};
  std::string strategy = "portfolio";  ///< Of the searchers, see search/searcher.h.
  uint64_t seed = 1;
  bool on_cpu = false;  ///< Candidates run on the CPU device.
  /// Sets of clang arguments for the source tier, to be tried in order until the kernel parses (our headers, a
  /// toolkit's).
  std::vector<std::vector<std::string>> clang_arguments;
  std::optional<LlmOptions> llm;
  /// How the original spends its time; rules and recipes are tried in the order that suits it.
  std::optional<KernelFacts> facts;
};

/// "source,params" as a list; a usage error names the tier that is not known.
Result<std::vector<std::string>> parse_tiers(const std::string& text);

/// EXPECTS: `mep` outlives the proposers.
Result<std::vector<std::unique_ptr<Proposer>>> make_proposers(const Mep& mep, const std::string& source,
                                                              const TierOptions& options);

}  // namespace kernelift
