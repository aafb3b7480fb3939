// A searcher on recorded trials: how good is the best found after so many evaluations? Many seeds, no GPU.
#pragma once
#include <string>
#include <vector>

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

Result<SimulationCurve> simulate(const Trials& trials, const std::string& strategy, size_t evaluations, size_t seeds,
                                 size_t batch = 1);

}  // namespace kernelift::tuner
