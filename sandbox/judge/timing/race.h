// How long to go on measuring a candidate: a few samples first, more only while the candidate might still win or while
// its win is not yet sure. Sees numbers only; the runner takes the samples.
#pragma once
#include <string>
#include <vector>

#include "sandbox/judge/timing/statistics.h"

namespace kernelift {

struct RaceRules {
  int glance_rounds = 2;  ///< Pairs after which a candidate that is hopelessly slower is given up.
  double hopeless =
      0.85;  ///< Share of `smallest_gain` that no two samples of the glance exceed, whoever is paired with whom.
  int first_rounds = 6;  ///< Pairs before the first real look; fewer give no usable interval.
  int most_rounds = 60;
  double growth = 1.6;          ///< Each further look needs so many times the pairs of the last.
  double smallest_gain = 1.01;  ///< What a win must exceed: kSmallestGain, or nearly what the best so far reached.
  double settled_width = 0.02;  ///< Relative width at which a clear winner is known well enough.
  /// Measured time of an instance, both sides together, after which the race ends as it stands: a screening; finalists
  /// are confirmed with samples of their own. Played through on made-up streams of candidates (equal, slower, a few
  /// faster; noise of 2 to 6 %), 0.1 to 0.2 s leave the fastest kernel at the end of a given time for launches of 4 to
  /// 16 ms, 1 s a tenth less; launches below a millisecond never get there.
  double most_seconds = 0.2;
};

class Race {
 public:
  enum class Stop { None, CannotWin, Settled, Budget };

  explicit Race(RaceRules rules) : rules_(rules) {}
  /// Pairs to take next; 0 once stopped.
  int next_rounds() const;
  void add(const std::vector<double>& baseline, const std::vector<double>& candidate);
  /// baseline / candidate: above 1 the candidate is faster.
  const Ratio& speedup() const { return speedup_; }
  Stop stopped() const { return stop_; }
  const std::vector<double>& baseline() const { return baseline_; }
  const std::vector<double>& candidate() const { return candidate_; }

 private:
  RaceRules rules_;
  std::vector<double> baseline_, candidate_;
  Ratio speedup_;
  double spent_ = 0;  ///< Measured seconds, both sides.
  Stop stop_ = Stop::None;
};

/// The least time any kernel can take that leaves `bytes_written` new bytes, given the fastest way this machine was
/// measured to write that much, shared by `cores`. A kernel below it did not do the work.
/// What must be read is not counted, since nobody knows it: that results change with an input does not tell which of
/// its bytes they depend on (a search ends early, an index chooses, a factor is zero), and what is read again may still
/// lie in a cache. A floor that is too high would accuse honest kernels; whoever reads too little is wrong on perturbed
/// inputs, which every finalist meets.
double physics_floor(double fastest_write_seconds, unsigned cores);

}  // namespace kernelift
