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
                                 size_t batch) {
  SimulationCurve curve{strategy, evaluations, seeds, {}, 0};
  for (size_t seed = 1; seed <= seeds; ++seed) {
    KERNELIFT_ASSIGN(auto searcher, make_searcher(strategy, trials.space, seed));
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

}  // namespace kernelift::tuner
