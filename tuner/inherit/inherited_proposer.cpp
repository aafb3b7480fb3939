// See inherited_proposer.h.
#include "tuner/inherit/inherited_proposer.h"

#include <algorithm>
#include <cstdio>

#include "core/base/words.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kMostOfARun = 3, kMost = 6;  ///< Candidates proposed.

/// The trials that gained, fastest first; confirmed ones before others.
std::vector<const RunTrial*> winners(const EarlierSearch& earlier) {
  std::vector<const RunTrial*> found;
  for (auto& trial : earlier.trials)
    if (trial.candidate.tier != "baseline" && trial.figures().gains()) found.push_back(&trial);
  std::ranges::sort(found, [](auto* a, auto* b) {
    if (a->confirmed.has_value() != b->confirmed.has_value()) return a->confirmed.has_value();
    const double left = a->figures().speedup_low(), right = b->figures().speedup_low();
    return left != right ? left > right : a->id < b->id;
  });
  return found;
}

/// What the winner consists of without its text: knobs and recipe, applied to the original.
Candidate without_text(const MepSpace& space, const Candidate& original, const Candidate& winner) {
  Candidate made = original;
  if (auto point = space.point_at(space.known(winner.values))) made = space.materialise(*point);
  if (winner.recipe.is_default()) return made;
  made.recipe = winner.recipe;
  made.tier = "compiler";
  for (auto& step : winner.steps)
    if (step.origin == Step::Origin::Recipe) made.add_step(step);
  return made;
}

}  // namespace

InheritedProposer::InheritedProposer(const Mep& mep, std::shared_ptr<const std::vector<EarlierSearch>> earlier,
                                     std::vector<std::string> tiers)
    : mep_(mep), earlier_(std::move(earlier)), tiers_(std::move(tiers)) {}

void InheritedProposer::collect(const RunTrial& original) {
  collected_ = true;
  std::vector<std::vector<Candidate>> by_run;
  const MepSpace space = MepSpace::create(mep_, original.candidate);
  for (auto& earlier : *earlier_) {
    if (earlier.trials.empty()) continue;
    const bool same_text = earlier.trials[0].candidate.source == original.candidate.source;
    auto& of_run = by_run.emplace_back();
    for (auto* winner : winners(earlier)) {
      if (of_run.size() == kMostOfARun) break;
      Candidate made = same_text ? winner->candidate : without_text(space, original.candidate, winner->candidate);
      if (std::ranges::find(tiers_, made.tier) == tiers_.end()) continue;
      if (made.key() == original.candidate.key() || !proposed_.insert(made.key()).second) continue;
      made.proposer = name();
      of_run.push_back(std::move(made));
    }
  }
  // The best of each run, then the second best of each.
  for (size_t rank = 0; rank < kMostOfARun; ++rank)
    for (auto& of_run : by_run)
      if (rank < of_run.size() && waiting_.size() < kMost) waiting_.push_back({std::move(of_run[rank]), {original.id}});
}

std::vector<Proposal> InheritedProposer::propose(const History& history, size_t count) {
  if (!history.baseline()) return {};
  if (!collected_) collect(*history.baseline());
  std::vector<Proposal> made;
  while (made.size() < count && !waiting_.empty()) {
    made.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return made;
}

void InheritedProposer::learn(const RunTrial& trial) {
  if (!proposed_.contains(trial.candidate.key()) || trial.candidate.proposer != name()) return;
  ++judged_;
  if (!trial.verdict.ok()) return;
  ++right_;
  gained_ += trial.verdict.gains();
  best_ = std::max(best_, trial.verdict.speedup_low());
}

std::string InheritedProposer::closing_note() const {
  if (judged_ == 0) return {};
  char best[48] = "";
  if (gained_) std::snprintf(best, sizeof best, ", the fastest at least %.3fx", best_);
  return "of " + counted(judged_, "candidate") + " inherited from " + counted(earlier_->size(), "earlier run") + " " +
         std::to_string(right_) + " " + (right_ == 1 ? "is" : "are") + " right here and " + std::to_string(gained_) +
         " faster" + best;
}

}  // namespace kernelift::tuner
