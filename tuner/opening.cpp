// See opening.h.
#include "tuner/opening.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kernelift::tuner {
namespace {

/// Number of candidates of these tiers that come first, before the bandit chooses: rewrites and knobs change most, and
/// a short run must try them before it searches pass pipelines.
constexpr std::pair<std::string_view, size_t> kOpening[] = {{"source", 12}, {"params", 8}};

}  // namespace

std::vector<size_t> opening_order(const std::vector<std::unique_ptr<Proposer>>& proposers, const History& history,
                                  std::vector<size_t> ranking, const std::function<size_t(std::string_view)>& tried,
                                  size_t places, bool scarce) {
  // If many candidates are measured in parallel, more rewrites must come first, or rewrites of rewrites would not be
  // reached. The tier that has had least of its share comes first: where time is short, each has had a part of it.
  std::vector<std::pair<double, size_t>> behind;  // What it has had of its share, and its place in kOpening.
  for (size_t i = 0; i < std::size(kOpening); ++i) {
    auto& [tier, share] = kOpening[i];
    const size_t own = std::max(share, tier == "source" ? places : 0), had = tried(tier);
    if (had < own) behind.emplace_back(double(had) / double(own), i);
  }
  std::ranges::sort(behind);
  std::vector<size_t> opening;
  for (auto& [had, i] : behind)
    for (size_t arm : ranking)
      if (proposers[arm]->tier() == kOpening[i].first) opening.push_back(arm);
  if (scarce) {
    // Of the arms that can tell what they expect, the most promising one comes first.
    std::multimap<double, size_t, std::greater<>> known;
    std::vector<size_t*> positions;
    for (size_t& arm : opening)
      if (auto gain = proposers[arm]->expected_gain(history)) known.emplace(*gain, arm), positions.push_back(&arm);
    for (auto position = positions.begin(); auto& [gain, arm] : known) **position++ = arm;
  }
  std::erase_if(ranking, [&](size_t arm) { return std::ranges::find(opening, arm) != opening.end(); });
  opening.insert(opening.end(), ranking.begin(), ranking.end());
  for (size_t arm = 0; arm < proposers.size(); ++arm)
    if (proposers[arm]->in_background()) std::erase(opening, arm), opening.insert(opening.begin(), arm);
  return opening;
}

}  // namespace kernelift::tuner
