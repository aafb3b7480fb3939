// A searcher on recorded trials: how good is the best found after so many evaluations? Many seeds, no GPU.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tuner/search/starting_points.h"
#include "tuner/search/trials.h"

namespace kernelift::tuner {

struct SimulationCurve {
  std::string strategy;
  size_t evaluations = 0, seeds = 0;
  /// fraction[s][e]: optimum / best found by seed s after e + 1 evaluations (failures count as evaluations); 0: none.
  std::vector<std::vector<double>> fraction;
  double searcher_seconds = 0;  ///< Total spent in ask and tell.

  /// Quantile over seeds after `evaluations` evaluations.
  double quantile(size_t evaluations, double q) const;
  double mean(size_t evaluations) const;
};

/// What searchers begin from; by default from nothing.
struct SimulationStart {
  std::shared_ptr<const Prior> prior = nullptr;         ///< What they inherit.
  std::function<StartingPoints(uint64_t seed)> points;  ///< Proposed configurations, in its place; empty: none.
};

Result<SimulationCurve> simulate(const Trials& trials, const std::string& strategy, size_t evaluations, size_t seeds,
                                 size_t batch = 1, const SimulationStart& start = {});

/// Five configurations as somebody might propose them: "right" ones, of the fastest hundredth; "random" ones; or
/// "misleading" ones, of the slowest quarter of what works, all near to the slowest of them, so that they point to one
/// place. An Error: there is no such kind.
Result<StartingPoints> proposed_by(const std::string& kind, const Trials& trials, uint64_t seed);

/// Recorded trials as something to inherit: all of them or, if `evaluations` is not 0, those that a run of the strategy
/// with so many evaluations would have made.
Result<EarlierRun> earlier_run(const Trials& trials, const std::string& name, const std::string& strategy,
                               size_t evaluations);

}  // namespace kernelift::tuner
