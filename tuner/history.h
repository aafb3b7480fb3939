// What a tuning run knows so far, in memory: every trial, by key, and the best of them. The run database is the durable
// copy; proposers read this one.
#pragma once
#include <deque>
#include <map>
#include <vector>

#include "tuner/store/run.h"

namespace kernelift {

class History {
 public:
  /// The stored trial. It stays where it is for the history's life.
  const RunTrial& add(RunTrial trial);
  void confirm(int64_t id, Verdict verdict);

  size_t size() const { return trials_.size(); }
  auto begin() const { return trials_.begin(); }
  auto end() const { return trials_.end(); }

  const RunTrial* find(int64_t id) const;
  const RunTrial* by_key(const Hash& key) const;
  const RunTrial* baseline() const { return baseline_; }
  /// Screened, by the lower end of the interval; the baseline until something beats it. nullptr before the baseline.
  const RunTrial* best() const { return best_; }
  const RunTrial* best_applicable() const { return best_applicable_; }
  /// The fastest trials with distinct source texts and the default recipe, the baseline included; best first. Of those that
  /// came out as equal code, only the first: what is tried on one would mostly be the same on the others.
  std::vector<const RunTrial*> best_sources(size_t count) const;
  /// Who seems to win, whatever the recipe, best first: at most `count` whose whole interval is above the original, or else
  /// the one that was fastest, as long as it may be more than noise. Of those that came out as equal code, only the first.
  std::vector<const RunTrial*> best_candidates(size_t count, bool applicable_only) const;

 private:
  std::deque<RunTrial> trials_;
  std::map<Hash, const RunTrial*> keys_;
  const RunTrial *baseline_ = nullptr, *best_ = nullptr, *best_applicable_ = nullptr;
};

}  // namespace kernelift
