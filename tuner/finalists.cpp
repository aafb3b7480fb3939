// See finalists.h.
#include "tuner/finalists.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

constexpr int kMostTimes = 2;  ///< A finalist is confirmed: what is measured until it gains gains at last.

/// The machine was too busy to decide whether there is a gain: the interval is wide and contains the smallest gain.
/// Such a finalist is confirmed once more, and the second result counts in any case.
bool inconclusive(const Verdict& confirmed) {
  constexpr double kNoisy = 1.1;
  double low = confirmed.speedup_low(), high = confirmed.speedup_high();
  return confirmed.ok() && low <= kSmallestGain && high > kSmallestGain && high > kNoisy * low;
}

}  // namespace

std::vector<const RunTrial*> Finalists::likely(size_t count, bool applicable_only) const {
  auto chosen = history_.winners(count, applicable_only);
  if (chosen.empty()) chosen = history_.hopefuls(1, applicable_only);
  std::vector<const RunTrial*> shortest;
  for (auto* trial : chosen) {
    trial = reduction_.shortest(trial);
    if (std::ranges::find(shortest, trial) == shortest.end()) shortest.push_back(trial);
  }
  return shortest;
}

bool Finalists::leads(const RunTrial* trial) const {
  const std::vector<const RunTrial*> alone{trial};
  return likely(1, true) == alone || (!only_patches_ && likely(1, false) == alone);
}

bool Finalists::gained(bool applicable_only) const {
  const RunTrial* best = best_of(history_, applicable_only);
  return best && best->confirmed && best->confirmed->gains();
}

std::vector<const RunTrial*> Finalists::waiting() const {
  std::vector<const RunTrial*> chosen = likely(count_, false);
  for (auto* trial : likely(count_, true))
    if (std::find(chosen.begin(), chosen.end(), trial) == chosen.end()) chosen.push_back(trial);
  std::erase_if(chosen, [](auto* trial) { return trial->confirmed.has_value(); });
  std::sort(chosen.begin(), chosen.end(), [&](auto* a, auto* b) {
    return leads(a) != leads(b) ? leads(a) : a->verdict.speedup_low() > b->verdict.speedup_low();
  });
  return chosen;
}

std::vector<const RunTrial*> Finalists::second_chances() const {
  std::vector<const RunTrial*> chosen;
  for (auto& trial : history_)
    if (trial.confirmed && inconclusive(*trial.confirmed) && history_.times_confirmed(trial.id) < kMostTimes)
      chosen.push_back(&trial);
  std::sort(chosen.begin(), chosen.end(), [](auto* a, auto* b) {
    double left = a->confirmed->speedup(), right = b->confirmed->speedup();
    return left != right ? left > right : a->id < b->id;
  });
  auto add = [&](const std::vector<const RunTrial*>& trials) {
    for (auto* trial : trials)
      if (!trial->confirmed && std::find(chosen.begin(), chosen.end(), trial) == chosen.end()) chosen.push_back(trial);
  };
  for (bool applicable_only : {true, false}) add(history_.winners(2 * count_, applicable_only));
  for (bool applicable_only : {true, false}) add(history_.hopefuls(count_, applicable_only));
  chosen.resize(std::min(chosen.size(), 2 * count_));
  return chosen;
}

}  // namespace kernelift::tuner
