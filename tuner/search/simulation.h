// A searcher on recorded trials: how good is the best found after so many evaluations? Many seeds, no GPU.
#pragma once
#include <string>
#include <vector>

#include "tuner/search/prior.h"
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

/// `prior`: what the searchers inherit; may be null.
Result<SimulationCurve> simulate(const Trials& trials, const std::string& strategy, size_t evaluations, size_t seeds,
                                 size_t batch = 1, const std::shared_ptr<const Prior>& prior = nullptr);

/// Recorded trials as something to inherit: all of them or, if `evaluations` is not 0, those that a run of the strategy
/// with so many evaluations would have made.
Result<EarlierRun> earlier_run(const Trials& trials, const std::string& name, const std::string& strategy,
                               size_t evaluations);

}  // namespace kernelift::tuner
