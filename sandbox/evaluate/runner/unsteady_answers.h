// Judges a result again that differs from the answer in a few elements alone: as few as a comparison of floats that is
// rounded otherwise moves (judge/unsteady_elements.h). The original is run on inputs that are rounded otherwise, once
// for each entry of memory, whichever candidate asks.
#pragma once
#include <functional>
#include <map>

#include "sandbox/evaluate/runner/verification.h"

namespace kernelift::sandbox {

class UnsteadyAnswers {
 public:
  UnsteadyAnswers(Workbench& bench, const Verification& verification) : bench_(bench), verification_(verification) {}

  /// A result on this entry of memory seems wrong, as verify() said last. `right`: verifies it anew. False: it stays
  /// wrong, or too much of it is.
  bool judge_again(MemoryEntry entry, const std::function<bool()>& right);
  /// To be called before another calibration.
  void forget() { runs_.clear(); }
  /// Memory at this entry and behind it is another one's from now on.
  void forget_from(size_t memory) { runs_.erase(runs_.lower_bound(memory), runs_.end()); }

 private:
  /// Runs the original on inputs that are moved by up to `units` in their last places. False: it does not run.
  bool run_beside(MemoryEntry entry, double units, uint64_t seed);

  Workbench& bench_;
  const Verification& verification_;
  std::map<size_t, size_t> runs_;  ///< By entry of memory.
};

}  // namespace kernelift::sandbox
