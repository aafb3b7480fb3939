// Decides how many samples of a candidate are taken: a few first, then more only while the candidate may still win or
// its win is not yet certain. Works on numbers alone; the runner takes the samples.
#pragma once
#include <string>
#include <vector>

#include "sandbox/judge/timing/statistics.h"

namespace kernelift::sandbox {

struct RaceRules {
  int early_rounds = 2;  ///< Pairs after which a hopelessly slow candidate is given up.
  /// A candidate is hopelessly slow if in the early rounds the slowest original sample divided by the fastest candidate
  /// sample is below this share of `smallest_gain`.
  double hopeless = 0.85;
  /// That all of so many pairs show a gain by chance has a probability below 2.5 %. The interval of fewer is no
  /// evidence, however narrow it is: it decides only where it is far from `smallest_gain`.
  static constexpr int kEnough = 6;
  int first_rounds = kEnough;  ///< Pairs before the first interval is evaluated.
  int most_rounds = 60;
  double growth = 1.6;          ///< Factor by which the number of pairs grows from one evaluation to the next.
  double smallest_gain = 1.01;  ///< Speedup that a win must exceed: kSmallestGain, or close to the best so far.
  double settled_width = 0.02;  ///< Relative width of the interval at which a clear winner is known well enough.
  /// An interval that lies above so many times `smallest_gain` settles the race however wide it is, and of however few
  /// pairs; 0: none does. One of too few pairs cannot win only if it lies as far below.
  double clear = 0;
  /// Measured seconds per instance, both sides together, after which the race ends with the interval it has. This is a
  /// screening; finalists are confirmed with new samples. In simulations (streams of equal, slower and a few faster
  /// candidates; noise of 2 to 6 %; launches of 4 to 16 ms) 0.1 to 0.2 s gave the fastest kernel at the end of a fixed
  /// search time, 1 s one a tenth slower; of those the shorter, since around the launches, which alone were counted
  /// there, inputs are laid and results compared. Launches below 0.8 ms never reach this limit.
  double most_seconds = 0.1;
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

/// The least seconds in which any kernel can write its results, given the fastest measured time to write as many bytes
/// on this machine, divided among `cores`. A kernel that takes less did not do the work.
/// Reads are not counted, since the bytes that must be read are not known: even if results change with an input, they
/// need not depend on all its bytes (a search ends early, an index selects, a factor is zero), and bytes may still be
/// in a cache. A floor that is too high would accuse correct kernels. A candidate that reads too little is wrong on
/// perturbed inputs, on which every finalist is verified.
double physics_floor(double fastest_write_seconds, unsigned cores);

}  // namespace kernelift::sandbox
