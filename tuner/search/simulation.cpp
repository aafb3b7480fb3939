// See simulation.h.
#include "tuner/search/simulation.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace kernelift::tuner {

double SimulationCurve::quantile(size_t evaluations, double q) const {
  std::vector<double> at;
  for (auto& curve : fraction) at.push_back(curve[std::min(evaluations, curve.size()) - 1]);
  std::sort(at.begin(), at.end());
  return at[static_cast<size_t>(q * static_cast<double>(at.size() - 1) + 0.5)];
}

double SimulationCurve::mean(size_t evaluations) const {
  double sum = 0;
  for (auto& curve : fraction) sum += curve[std::min(evaluations, curve.size()) - 1];
  return sum / static_cast<double>(fraction.size());
}

Result<SimulationCurve> simulate(const Trials& trials, const std::string& strategy, size_t evaluations, size_t seeds,
                                 size_t batch, const std::shared_ptr<const Prior>& prior) {
  SimulationCurve curve{strategy, evaluations, seeds, {}, 0};
  for (size_t seed = 1; seed <= seeds; ++seed) {
    KERNELIFT_ASSIGN(auto searcher, make_searcher(strategy, trials.space, seed, prior));
    std::vector<double> fraction;
    double best = 0;
    auto begin = std::chrono::steady_clock::now();
    while (fraction.size() < evaluations) {
      auto points = searcher->ask(std::min(batch, evaluations - fraction.size()));
      if (points.empty()) break;
      for (auto& point : points) {
        auto& result = trials.results.at(point);
        if (result.ok) best = std::max(best, trials.optimum / result.cost);
        fraction.push_back(best);
        searcher->tell(result);
      }
    }
    curve.searcher_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    fraction.resize(evaluations, best);
    curve.fraction.push_back(std::move(fraction));
  }
  return curve;
}

Result<EarlierRun> earlier_run(const Trials& trials, const std::string& name, const std::string& strategy,
                               size_t evaluations) {
  EarlierRun run{name, trials.space.parameters()};
  if (evaluations == 0) {
    for (auto& [point, result] : trials.results) run.trials.push_back(result);
    return run;
  }
  // Another seed than those that simulate() uses from 1 on.
  KERNELIFT_ASSIGN(auto searcher, make_searcher(strategy, trials.space, 0));
  while (run.trials.size() < evaluations) {
    auto points = searcher->ask(1);
    if (points.empty()) break;
    run.trials.push_back(trials.results.at(points[0]));
    searcher->tell(run.trials.back());
  }
  return run;
}

}  // namespace kernelift::tuner
