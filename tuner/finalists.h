// Which trials of a search are confirmed, and in what order.
#pragma once
#include <vector>

#include "tuner/history.h"
#include "tuner/reduction.h"

namespace kernelift::tuner {

class Finalists {
 public:
  /// `count`: of each kind, those of all and those applicable as a source patch. `only_patches`: gains of a recipe
  /// alone do not count, because they cannot be applied.
  Finalists(const History& history, const Reduction& reduction, size_t count, bool only_patches)
      : history_(history), reduction_(reduction), count_(count), only_patches_(only_patches) {}

  bool only_patches() const { return only_patches_; }
  /// The winners of a kind, reduced; if there are none, the most hopeful trial.
  std::vector<const RunTrial*> likely(size_t count, bool applicable_only) const;
  /// The trial is the likeliest winner of its kind.
  bool leads(const RunTrial* trial) const;
  /// The trials to confirm, the likeliest winners of both kinds first.
  std::vector<const RunTrial*> waiting() const;
  /// A candidate (with a source patch, if `applicable_only`) was confirmed to win.
  bool gained(bool applicable_only) const;
  /// Trials to confirm if no finalist gained and time is left: those with an inconclusive confirmation, then the next
  /// best.
  std::vector<const RunTrial*> second_chances() const;

 private:
  const History& history_;
  const Reduction& reduction_;
  size_t count_;
  bool only_patches_;
};

}  // namespace kernelift::tuner
