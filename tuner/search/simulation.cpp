// See simulation.h.
#include "tuner/search/simulation.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace kernelift::tuner {
namespace {

constexpr size_t kProposed = 5;
constexpr double kRight = 0.01, kMisleading = 0.25;  ///< Shares of what works, from either end.

}  // namespace

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
                                 size_t batch, const SimulationStart& start) {
  SimulationCurve curve{strategy, evaluations, seeds, {}, 0};
  for (size_t seed = 1; seed <= seeds; ++seed) {
    StartingPoints proposed = start.points ? start.points(seed) : StartingPoints();
    KERNELIFT_ASSIGN(auto searcher, make_searcher(strategy, trials.space, seed, start.prior));
    if (!proposed.points.empty()) {
      std::vector<std::string> notes;
      const EarlierRun run = proposed.as_run(trials.space, "proposed configurations");
      proposed.points.resize(std::min(proposed.points.size(), kTriedAtOnce));
      searcher->begin_with(proposed.points, std::make_shared<const Prior>(Prior::of(trials.space, {run}, notes)));
    }
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

Result<StartingPoints> proposed_by(const std::string& kind, const Trials& trials, uint64_t seed) {
  std::vector<const Observation*> works;
  for (auto& [point, result] : trials.results)
    if (result.ok) works.push_back(&result);
  std::ranges::sort(works, {}, [](auto* one) { return one->cost; });
  if (works.empty()) return StartingPoints();
  const auto count = static_cast<double>(works.size());
  Random random(seed);
  if (kind == "right") {
    works.resize(std::min(works.size(), std::max(kProposed, static_cast<size_t>(kRight * count))));
    std::ranges::shuffle(works, random);
  } else if (kind == "misleading") {
    const Observation slow = *works[works.size() - 1 - random() % std::max<size_t>(1, size_t(kRight * count))];
    const size_t kept = std::min(works.size(), std::max(kProposed, size_t(kMisleading * count)));
    works.erase(works.begin(), works.end() - static_cast<ptrdiff_t>(kept));
    std::ranges::sort(works, {}, [&](auto* one) {
      size_t different = 0;
      for (size_t p = 0; p < slow.point.size(); ++p) different += one->point[p] != slow.point[p];
      return std::make_pair(different, -one->cost);
    });
  } else if (kind == "random") {
    std::ranges::shuffle(works, random);
  } else {
    return usage_error("'" + kind + "' is no kind of proposal; there are right, random and misleading");
  }
  StartingPoints made;
  for (size_t i = 0; i < std::min(kProposed, works.size()); ++i) made.points.push_back(works[i]->point);
  return made;
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
