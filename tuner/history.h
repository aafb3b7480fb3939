// All trials of a tuning run in memory, with indices by key and by speed. The run database is the durable copy;
// proposers read this one. A run of hours has some hundred thousand trials, so everything that is queried at each
// verdict is kept sorted: no query is linear in the number of trials.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "tuner/store/run.h"

namespace kernelift::tuner {

/// Hash of the trial's image and its launches, so that equal code counts once; the candidate's key if the evaluator
/// gave no image id.
Hash code_of(const RunTrial& trial);

/// A language model made one of its steps.
bool by_model(const Candidate& candidate);

class History {
 public:
  /// The stored trial, whose address is stable for the history's lifetime.
  const RunTrial& add(RunTrial trial);
  /// From now on the trial has the rank of its confirmed figures. One that is refused has none, nor has its code: it
  /// leads the search no more, and nothing is made of it.
  void confirm(int64_t id, Verdict verdict);
  /// How often the trial was confirmed, as far as this sitting knows.
  int times_confirmed(int64_t id) const;
  /// Trials that were right when screened and refused when confirmed, in the order of that.
  const std::vector<int64_t>& refused() const { return refused_; }

  size_t size() const { return trials_.size(); }
  size_t failed() const { return failed_; }
  size_t count_of(const std::string& tier) const;
  auto begin() const { return trials_.begin(); }
  auto end() const { return trials_.end(); }

  const RunTrial* find(int64_t id) const;
  const RunTrial* by_key(const Hash& key) const;
  const RunTrial* baseline() const { return baseline_; }
  /// The trial with the highest lower end of its speedup; the baseline until a candidate beats it. nullptr before the
  /// baseline.
  const RunTrial* best() const { return working_.first(); }
  const RunTrial* best_applicable() const { return applicable_.first(); }
  /// The fastest that gains and has a model's change and the default recipe; nullptr: there is none.
  const RunTrial* best_of_models() const;
  /// How many trials of the tier were made from the trial.
  size_t children_of(int64_t id, const std::string& tier) const;
  /// The fastest trials with distinct source texts and the default recipe, including the baseline; best first. Of
  /// trials that compiled to equal code, only the first: changes of the others would mostly give equal code again.
  /// The last of them is best_of_models() if that is not among them, so that every tier works on what a model found.
  std::vector<const RunTrial*> best_sources(size_t count) const;
  /// At most `count` trials whose whole interval is above the smallest gain, best first, with any recipe unless
  /// `applicable_only`. Of trials that compiled to equal code, only the first.
  std::vector<const RunTrial*> winners(size_t count, bool applicable_only) const;
  /// The same for trials whose gain noise may hide: the interval's middle is above the smallest gain, its lower end is
  /// not. Ordered by the mean of both, because the highest middles mostly belong to the widest intervals.
  std::vector<const RunTrial*> hopefuls(size_t count, bool applicable_only) const;

 private:
  /// The fastest trial of each compiled code, best first.
  class Standings {
   public:
    using Speed = double (*)(const Verdict&);
    explicit Standings(Speed by) : order_(Faster{by}) {}
    void add(const RunTrial* trial, const Hash& code);
    const RunTrial* of(const Hash& code) const;  ///< nullptr: none.
    /// Before its figures change. False: it has no rank.
    bool remove(const RunTrial* trial, const Hash& code);
    std::vector<const RunTrial*> first(size_t count) const;
    const RunTrial* first() const { return order_.empty() ? nullptr : *order_.begin(); }
    auto begin() const { return order_.begin(); }
    auto end() const { return order_.end(); }

   private:
    struct Faster {
      Speed by;
      bool operator()(const RunTrial* a, const RunTrial* b) const;
    };
    std::map<Hash, const RunTrial*> leaders_;  ///< By code_of().
    std::set<const RunTrial*, Faster> order_;
  };

  static double sure(const Verdict& verdict) { return verdict.speedup_low(); }
  void refuse(const RunTrial& trial);
  std::array<Standings*, 5> standings() {
    return {&working_, &applicable_, &of_models_, &hopeful_, &hopeful_applicable_};
  }
  /// Takes its rank, or that of what leads in its code's place; where it had one.
  std::vector<Standings*> withdraw(const RunTrial& trial);
  static double hoped(const Verdict& verdict);

  std::deque<RunTrial> trials_;
  std::map<Hash, const RunTrial*> keys_;
  std::map<std::string, size_t> tiers_;
  std::map<std::pair<int64_t, std::string>, size_t> children_;  ///< By parent and tier.
  size_t failed_ = 0;
  std::vector<int64_t> refused_;
  std::map<int64_t, int> confirmations_;  ///< By trial.
  std::set<Hash> refused_codes_;
  const RunTrial* baseline_ = nullptr;
  Standings working_{sure}, applicable_{sure}, of_models_{sure}, hopeful_{hoped}, hopeful_applicable_{hoped};
};

}  // namespace kernelift::tuner
