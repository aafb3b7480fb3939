// See history.h.
#include "tuner/history.h"

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

template <class Trials>
auto* by_id(Trials& trials, int64_t id) {
  auto found = std::lower_bound(trials.begin(), trials.end(), id,
                                [](const RunTrial& trial, int64_t wanted) { return trial.id < wanted; });
  return found != trials.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

Hash code_of(const RunTrial& trial) {
  const auto& image = trial.verdict.image.identity;
  if (!image) return trial.candidate.key();
  Candidate run;
  run.launches = trial.candidate.launches, run.scratch = trial.candidate.scratch;
  if (!run.launches.empty() || !run.scratch.empty()) run.values = trial.candidate.values;
  run.source = image->hex();
  return run.key();
}

bool by_model(const Candidate& candidate) {
  return std::ranges::any_of(candidate.steps, [](auto& step) { return step.origin == Step::Origin::Model; });
}

double History::hoped(const Verdict& verdict) { return std::sqrt(verdict.speedup() * verdict.speedup_low()); }

bool History::Standings::Faster::operator()(const RunTrial* a, const RunTrial* b) const {
  double left = by(a->figures()), right = by(b->figures());
  return left != right ? left > right : a->id < b->id;
}

void History::Standings::add(const RunTrial* trial, const Hash& code) {
  auto [place, fresh] = leaders_.try_emplace(code, trial);
  if (!fresh) {
    // What was confirmed of equal code is known better than what is screened now.
    if (place->second->confirmed || !order_.key_comp()(trial, place->second)) return;
    order_.erase(place->second);
    place->second = trial;
  }
  order_.insert(trial);
}

const RunTrial* History::Standings::of(const Hash& code) const {
  const auto place = leaders_.find(code);
  return place == leaders_.end() ? nullptr : place->second;
}

bool History::Standings::remove(const RunTrial* trial, const Hash& code) {
  const auto place = leaders_.find(code);
  if (place == leaders_.end() || place->second != trial) return false;
  order_.erase(trial);
  leaders_.erase(place);
  return true;
}

std::vector<const RunTrial*> History::Standings::first(size_t count) const {
  std::vector<const RunTrial*> chosen;
  for (auto place = order_.begin(); place != order_.end() && chosen.size() < count; ++place) chosen.push_back(*place);
  return chosen;
}

const RunTrial& History::add(RunTrial trial) {
  trials_.push_back(std::move(trial));
  const RunTrial* added = &trials_.back();
  Hash key = added->candidate.key();
  keys_.emplace(key, added);
  ++tiers_[added->candidate.tier];
  if (added->confirmed) ++confirmations_[added->id];
  if (!added->parents.empty()) ++children_[{added->parents[0], added->candidate.tier}];
  bool original = added->candidate.tier == "baseline";
  if (!baseline_ && original) baseline_ = added;
  if (!added->verdict.ok()) {
    ++failed_;
    return *added;
  }
  if (!added->figures().ok()) {
    refuse(*added);
    return *added;
  }
  Hash code = code_of(*added);
  if (refused_codes_.contains(code)) return *added;
  auto& verdict = added->verdict;
  bool hopeful = !original && !verdict.gains() && verdict.speedup() > kSmallestGain;
  working_.add(added, code);
  if (hopeful) hopeful_.add(added, code);
  if (!added->applicable()) return *added;
  applicable_.add(added, code);
  if (by_model(added->candidate)) of_models_.add(added, code);
  if (hopeful) hopeful_applicable_.add(added, code);
  return *added;
}

void History::confirm(int64_t id, Verdict verdict) {
  RunTrial* trial = by_id(trials_, id);
  if (!trial) return;
  ++confirmations_[id];
  // Ranks are by figures, so they are given up before these change.
  std::vector<Standings*> ranked;
  if (!verdict.ok()) refuse(*trial);
  else ranked = withdraw(*trial);
  trial->confirmed = std::move(verdict);
  for (auto* standings : ranked) standings->add(trial, code_of(*trial));
}

std::vector<History::Standings*> History::withdraw(const RunTrial& trial) {
  const Hash code = code_of(trial);
  std::vector<Standings*> ranked;
  for (auto* standings : standings())
    // What leads in its code's place, and was not confirmed, is known less well.
    if (const RunTrial* leader = standings->of(code);
        leader && leader != baseline_ && (leader == &trial || !leader->confirmed) && standings->remove(leader, code))
      ranked.push_back(standings);
  return ranked;
}

int History::times_confirmed(int64_t id) const {
  const auto found = confirmations_.find(id);
  return found == confirmations_.end() ? 0 : found->second;
}

void History::refuse(const RunTrial& trial) {
  const Hash code = code_of(trial);
  refused_.push_back(trial.id);
  if (baseline_ && code == code_of(*baseline_)) return;  // It leads until something does better.
  refused_codes_.insert(code);
  // Another trial of equal code may have had the rank.
  for (auto* standings : standings())
    if (const RunTrial* leader = standings->of(code)) {
      standings->remove(leader, code);
      if (leader != &trial && std::ranges::find(refused_, leader->id) == refused_.end()) refused_.push_back(leader->id);
    }
}

size_t History::count_of(const std::string& tier) const {
  auto found = tiers_.find(tier);
  return found == tiers_.end() ? 0 : found->second;
}

const RunTrial* History::find(int64_t id) const { return by_id(trials_, id); }

const RunTrial* History::by_key(const Hash& key) const {
  auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : found->second;
}

std::vector<const RunTrial*> History::best_sources(size_t count) const {
  std::vector<const RunTrial*> chosen;
  std::set<std::string_view> seen;
  for (auto* trial : applicable_) {
    if (chosen.size() == count) break;
    if (seen.insert(trial->candidate.source).second) chosen.push_back(trial);
  }
  const RunTrial* model = best_of_models();
  if (count > 1 && chosen.size() == count && model && !seen.contains(model->candidate.source)) chosen.back() = model;
  return chosen;
}

const RunTrial* History::best_of_models() const {
  const RunTrial* best = of_models_.first();
  return best && best->figures().gains() ? best : nullptr;
}

size_t History::children_of(int64_t id, const std::string& tier) const {
  auto found = children_.find({id, tier});
  return found == children_.end() ? 0 : found->second;
}

std::vector<const RunTrial*> History::winners(size_t count, bool applicable_only) const {
  auto chosen = (applicable_only ? applicable_ : working_).first(count);
  std::erase_if(chosen, [](auto* trial) { return !trial->figures().gains() || trial->candidate.tier == "baseline"; });
  return chosen;
}

std::vector<const RunTrial*> History::hopefuls(size_t count, bool applicable_only) const {
  return (applicable_only ? hopeful_applicable_ : hopeful_).first(count);
}

}  // namespace kernelift::tuner
