// See history.h.
#include "tuner/history.h"

#include <algorithm>
#include <optional>
#include <set>

namespace kernelift {
namespace {

bool faster(const RunTrial* a, const RunTrial* b) {
  double left = a->verdict.speedup_low(), right = b->verdict.speedup_low();
  return left != right ? left > right : a->id < b->id;
}

/// What was run, where the evaluator told images apart: equal code need not be confirmed twice.
std::optional<Hash> code_of(const RunTrial& trial) {
  auto image = trial.verdict.counters.find("image_id");
  if (image == trial.verdict.counters.end()) return std::nullopt;
  Candidate run;
  run.launches = trial.candidate.launches, run.scratch = trial.candidate.scratch;
  if (!run.launches.empty() || !run.scratch.empty()) run.values = trial.candidate.values;
  run.source = std::to_string(image->second);
  return run.key();
}

}  // namespace

const RunTrial& History::add(RunTrial trial) {
  trials_.push_back(std::move(trial));
  const RunTrial* added = &trials_.back();
  keys_.emplace(added->candidate.key(), added);
  if (!baseline_ && added->candidate.tier == "baseline") baseline_ = added;
  if (added->verdict.ok()) {
    if (!best_ || faster(added, best_)) best_ = added;
    if (added->applicable() && (!best_applicable_ || faster(added, best_applicable_))) best_applicable_ = added;
  }
  return *added;
}

void History::confirm(int64_t id, Verdict verdict) {
  for (auto& trial : trials_)
    if (trial.id == id) trial.confirmed = std::move(verdict);
}

const RunTrial* History::find(int64_t id) const {
  auto found = std::lower_bound(trials_.begin(), trials_.end(), id, [](const RunTrial& trial, int64_t wanted) { return trial.id < wanted; });
  return found != trials_.end() && found->id == id ? &*found : nullptr;
}

const RunTrial* History::by_key(const Hash& key) const {
  auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : found->second;
}

std::vector<const RunTrial*> History::best_sources(size_t count) const {
  std::vector<const RunTrial*> working, chosen;
  for (auto& trial : trials_)
    if (trial.verdict.ok() && trial.applicable()) working.push_back(&trial);
  std::sort(working.begin(), working.end(), faster);
  std::set<std::string> seen;
  std::set<Hash> codes;
  for (auto* trial : working) {
    if (chosen.size() == count) break;
    auto code = code_of(*trial);
    if (seen.insert(trial->candidate.source).second && (!code || codes.insert(*code).second)) chosen.push_back(trial);
  }
  return chosen;
}

std::vector<const RunTrial*> History::best_candidates(size_t count, bool applicable_only) const {
  std::vector<const RunTrial*> winners;
  const RunTrial* hopeful = nullptr;
  for (auto& trial : trials_) {
    if (!trial.verdict.ok() || trial.candidate.tier == "baseline" || (applicable_only && !trial.applicable())) continue;
    if (trial.verdict.speedup_low() > 1) winners.push_back(&trial);
    else if (trial.verdict.speedup() > kSmallestGain && (!hopeful || trial.verdict.speedup() > hopeful->verdict.speedup()))
      hopeful = &trial;
  }
  if (winners.empty() && hopeful && count > 0) return {hopeful};
  std::sort(winners.begin(), winners.end(), faster);
  std::set<Hash> seen;
  std::erase_if(winners, [&](auto* trial) {
    auto code = code_of(*trial);
    return code && !seen.insert(*code).second;
  });
  winners.resize(std::min(winners.size(), count));
  return winners;
}

}  // namespace kernelift
