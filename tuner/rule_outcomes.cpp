// See rule_outcomes.h.
#include "tuner/rule_outcomes.h"

#include <map>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestVerdict = 240;
constexpr std::string_view kProposers = "rules/";

bool is_faster(const RunTrial& trial, const RunTrial* than) {
  return trial.verdict.ok() && (!than || trial.verdict.speedup() > than->verdict.speedup());
}

}  // namespace

std::string told_on_one_line(const Verdict& verdict) {
  return std::string(whole_characters(verdict.as_told().text(), kLongestVerdict));
}

std::string RuleOutcome::text() const {
  std::string line = rule + ": " + std::to_string(tried) + " tried";
  if (best) line += "; best: " + best->candidate.note() + ": " + told_on_one_line(best->verdict);
  if (refused)
    line += "; " + std::to_string(failed) + " failed, the last: " + refused->candidate.note() + ": " +
            told_on_one_line(refused->verdict);
  return line;
}

std::vector<RuleOutcome> rule_outcomes(const std::vector<const RunTrial*>& trials) {
  std::map<std::string, RuleOutcome> rules;
  RuleOutcome parameters{"parameters"};
  for (auto* trial : trials) {
    const Candidate& candidate = trial->candidate;
    const bool by_rule = candidate.proposer.starts_with(kProposers);
    if (!by_rule && candidate.tier != "params") continue;
    RuleOutcome& outcome = by_rule ? rules[candidate.proposer.substr(kProposers.size())] : parameters;
    ++outcome.tried;
    if (!trial->verdict.ok()) ++outcome.failed, outcome.refused = trial;
    else if (is_faster(*trial, outcome.best)) outcome.best = trial;
  }
  std::vector<RuleOutcome> all;
  for (auto& [rule, outcome] : rules) all.push_back(outcome), all.back().rule = rule;
  if (parameters.tried > 0) all.push_back(parameters);
  return all;
}

std::string RuleOffer::text() const {
  constexpr size_t kMostPlaces = 4;
  std::string text = rule + ": ";
  for (size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) text += (i > 0 ? ", " : "") + places[i];
  if (places.size() > kMostPlaces) text += " and " + std::to_string(places.size() - kMostPlaces) + " more";
  return text + " (" + counted(rewrites, "rewrite") + ")";
}

}  // namespace kernelift::tuner
