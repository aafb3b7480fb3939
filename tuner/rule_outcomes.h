// What rewrite rules offer for a kernel, and what they came to in its trials: how many were tried, the best of each
// rule, and why others of its rewrites were refused. For prompts and for agents, who are told no more of a verdict than
// a proposer may know.
#pragma once
#include <string>
#include <vector>

#include "tuner/store/run.h"

namespace kernelift::tuner {

struct RuleOutcome {
  std::string rule;
  size_t tried = 0, failed = 0;
  const RunTrial *best = nullptr, *refused = nullptr;  ///< The fastest right one; the last that failed.

  bool gained() const { return best && best->verdict.gains(); }
  /// "shared_tiling: 4 tried; best: tile 32: ok: 1.8x …; 1 failed, the last: tile 64: over_resources …"
  std::string text() const;
};

/// What a rule could change in a text.
struct RuleOffer {
  std::string rule;
  std::vector<std::string> places;  ///< "the loop over k"; distinct.
  size_t rewrites = 0;              ///< With all settings of its parameters.

  std::string text() const;  ///< "shared_tiling: the loop over k (12 rewrites)".
};

/// By rule, in the order of their names; the best setting of parameters, as "parameters", is the last.
std::vector<RuleOutcome> rule_outcomes(const std::vector<const RunTrial*>& trials);

/// A verdict on one line, as a proposer is told it, of at most 240 characters.
std::string told_on_one_line(const Verdict& verdict);

}  // namespace kernelift::tuner
