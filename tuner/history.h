// What a tuning run knows so far, in memory: every trial, by key, and the best of them. The run database is the durable
// copy; proposers read this one. A run of hours holds some hundred thousand trials, and all that is asked at each
// verdict is kept in order as they come: no question here costs more the more of them there are, but for a search by
// key.
#pragma once
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "tuner/store/run.h"

namespace kernelift {

class History {
 public:
  /// The stored trial. It stays where it is for the history's life.
  const RunTrial& add(RunTrial trial);
  void confirm(int64_t id, Verdict verdict);

  size_t size() const { return trials_.size(); }
  size_t failed() const { return failed_; }
  size_t count_of(const std::string& tier) const;
  auto begin() const { return trials_.begin(); }
  auto end() const { return trials_.end(); }

  const RunTrial* find(int64_t id) const;
  const RunTrial* by_key(const Hash& key) const;
  const RunTrial* baseline() const { return baseline_; }
  /// Screened, by the lower end of the interval; the baseline until something beats it. nullptr before the baseline.
  const RunTrial* best() const { return working_.first(); }
  const RunTrial* best_applicable() const { return applicable_.first(); }
  /// The fastest trials with distinct source texts and the default recipe, the baseline included; best first. Of those
  /// that came out as equal code, only the first: what is tried on one would mostly be the same on the others.
  std::vector<const RunTrial*> best_sources(size_t count) const;
  /// Who seems to win, whatever the recipe, best first: at most `count` whose whole interval is above what counts as a
  /// gain. Of those that came out as equal code, only the first.
  std::vector<const RunTrial*> winners(size_t count, bool applicable_only) const;
  /// Likewise who may win, if it was noise that hid it: gains in the middle of an interval that reaches below that,
  /// ordered by what lies between that middle and the lower end. The fastest middles are mostly those of the widest
  /// intervals.
  std::vector<const RunTrial*> hopefuls(size_t count, bool applicable_only) const;

 private:
  /// The fastest of each code, best first.
  class Standings {
   public:
    using Speed = double (*)(const Verdict&);
    explicit Standings(Speed by) : order_(Faster{by}) {}
    void add(const RunTrial* trial, const Hash& code);
    std::vector<const RunTrial*> first(size_t count) const;
    const RunTrial* first() const { return order_.empty() ? nullptr : *order_.begin(); }
    auto begin() const { return order_.begin(); }
    auto end() const { return order_.end(); }

   private:
    struct Faster {
      Speed by;
      bool operator()(const RunTrial* a, const RunTrial* b) const;
    };
    std::map<Hash, const RunTrial*> leaders_;  ///< By what was run.
    std::set<const RunTrial*, Faster> order_;
  };

  static double sure(const Verdict& verdict) { return verdict.speedup_low(); }
  static double hoped(const Verdict& verdict);

  std::deque<RunTrial> trials_;
  std::map<Hash, const RunTrial*> keys_;
  std::map<std::string, size_t> tiers_;
  size_t failed_ = 0;
  const RunTrial* baseline_ = nullptr;
  Standings working_{sure}, applicable_{sure}, hopeful_{hoped}, hopeful_applicable_{hoped};
};

}  // namespace kernelift
