// Bayesian optimisation on a discrete, constrained space with hidden failures. A Gaussian process models the logarithm
// of the cost of what worked; expected improvement is multiplied by the probability that a point works at all, from a
// kernel-weighted vote of all answers (failures never enter the cost model: a large made-up cost would poison it).
// The acquisition is maximised over a pool: fresh random points and the neighbours of the best ones. Points in flight
// are believed to turn out as predicted, so that a batch spreads out.
#include <algorithm>
#include <cmath>

#include "tuner/search/gaussian_process.h"
#include "tuner/search/searcher.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kDesign = 12;       ///< Space-filling points before the model speaks.
constexpr size_t kDesignDraws = 24;  ///< Random points of which the most remote one joins the design.
constexpr size_t kPoolDraws = 600, kPoolElite = 4;
constexpr size_t kClimbers = 3;        ///< Points whose neighbours join the pool in each round of climbing …
constexpr int kClimbs = 6;             ///< … of so many rounds at most.
constexpr size_t kModelPoints = 300;   ///< Best and latest; keeps one ask in the tens of milliseconds.
constexpr size_t kVoters = 1000;       ///< Latest answers that vote on whether a point works.
constexpr double kVoteWidth = 0.2;     ///< Of the feasibility vote, in coordinate units.
constexpr double kVotePrior = 0.5;     ///< Weight of the overall success rate in it.
constexpr double kStrictest = 0.9;     ///< Upper end of the random feasibility threshold, a probability.
constexpr double kSlowShare = 0.25;    ///< Of what a cost exceeds the median by, in the model's eyes.
constexpr double kGreedyFloor = 1e-3;  ///< Margin of improvement, in log cost, below which exploring is worth more.

class BayesianSearch : public Searcher {
 public:
  using Searcher::Searcher;
  const char* name() const override { return "bayesian"; }

 protected:
  std::optional<Point> do_ask() override {
    size_t successes = 0;
    for (auto& observation : told()) successes += observation.ok;
    if (told().size() + pending().size() < kDesign || successes < 3) return remote();
    return best_of_pool();
  }

 private:
  Eigen::VectorXd coordinates(const Point& point) const {
    auto encoded = space_.encode(point);
    return Eigen::Map<Eigen::VectorXd>(encoded.data(), static_cast<Eigen::Index>(encoded.size()));
  }

  std::optional<Point> remote() {
    std::optional<Point> best;
    double furthest = -1;
    for (size_t draw = 0; draw < kDesignDraws; ++draw) {
      Point point = space_.sample(random_);
      if (visited(point)) continue;
      Eigen::VectorXd here = coordinates(point);
      double nearest = INFINITY;
      for (auto& observation : told())
        nearest = std::min(nearest, (coordinates(observation.point) - here).squaredNorm());
      for (auto& other : pending()) nearest = std::min(nearest, (coordinates(other) - here).squaredNorm());
      if (nearest > furthest) furthest = nearest, best = point;
    }
    return best;
  }

  std::vector<Point> pool() {
    std::set<Point> points;
    for (size_t draw = 0; draw < kPoolDraws; ++draw) points.insert(space_.sample(random_));
    std::vector<const Observation*> elite;
    for (auto& observation : told())
      if (observation.ok) elite.push_back(&observation);
    size_t chosen = std::min(elite.size(), kPoolElite);
    std::partial_sort(elite.begin(), elite.begin() + static_cast<long>(chosen), elite.end(),
                      [](auto* a, auto* b) { return a->cost < b->cost; });
    elite.resize(chosen);
    for (auto* observation : elite)
      for (auto& point : space_.neighbours(observation->point, false)) points.insert(point);
    std::erase_if(points, [&](auto& point) { return visited(point); });
    return {points.begin(), points.end()};
  }

  /// What the cost model is fitted on: all successes, or the best half and the latest half of what fits.
  std::vector<const Observation*> training() const {
    std::vector<const Observation*> chosen;
    for (auto& observation : told())
      if (observation.ok) chosen.push_back(&observation);
    if (chosen.size() <= kModelPoints) return chosen;
    std::vector<const Observation*> latest(chosen.end() - kModelPoints / 2, chosen.end());
    chosen.resize(chosen.size() - kModelPoints / 2);
    std::nth_element(chosen.begin(), chosen.begin() + kModelPoints / 2, chosen.end(),
                     [](auto* a, auto* b) { return a->cost < b->cost; });
    chosen.resize(kModelPoints / 2);
    chosen.insert(chosen.end(), latest.begin(), latest.end());
    return chosen;
  }

  Eigen::ArrayXd feasibility(const Eigen::MatrixXd& points) const {
    Eigen::ArrayXd worked = Eigen::ArrayXd::Zero(points.rows()), all = worked;
    size_t successes = 0;
    bool any_failed = false;
    for (auto& observation : told()) successes += observation.ok, any_failed |= !observation.ok;
    if (!any_failed) return Eigen::ArrayXd::Ones(points.rows());
    for (size_t i = told().size() > kVoters ? told().size() - kVoters : 0; i < told().size(); ++i) {
      const Observation& observation = told()[i];
      Eigen::RowVectorXd here = coordinates(observation.point).transpose();
      Eigen::ArrayXd weight =
          (-(points.rowwise() - here).rowwise().squaredNorm().array() / (kVoteWidth * kVoteWidth)).exp();
      all += weight;
      if (observation.ok) worked += weight;
    }
    double rate = (successes + 1.0) / (told().size() + 2.0);
    return (worked + kVotePrior * rate) / (all + kVotePrior);
  }

  std::optional<Point> best_of_pool() {
    // Every other ask stays beside the best point: the model then only orders a hill climb, which rugged spaces need,
    // and the asks between look for other hills.
    beside_ = !beside_;
    std::vector<Point> candidates;
    if (beside_) {
      candidates = space_.neighbours(best()->point, false);
      std::erase_if(candidates, [&](auto& point) { return visited(point); });
    }
    bool climb_on = candidates.empty();
    if (climb_on) candidates = pool();
    if (candidates.empty()) return std::nullopt;
    auto examples = training();
    Eigen::Index dimensions = coordinates(candidates[0]).size();
    if (dimensions == 0) return candidates[0];
    Eigen::Index known = static_cast<Eigen::Index>(examples.size());
    Eigen::MatrixXd inputs(known, dimensions);
    Eigen::VectorXd targets(known);
    for (Eigen::Index i = 0; i < known; ++i) {
      inputs.row(i) = coordinates(examples[i]->point).transpose();
      targets[i] = std::log(std::max(examples[i]->cost, 1e-300));
    }
    // What is worse than the median only needs to be known as bad: compressed, it leaves the model its resolution for
    // the fast end, which is all that is asked of it.
    std::vector<double> sorted(targets.data(), targets.data() + known);
    std::nth_element(sorted.begin(), sorted.begin() + known / 2, sorted.end());
    double median = sorted[static_cast<size_t>(known / 2)];
    for (auto& target : targets) target = target > median ? median + kSlowShare * (target - median) : target;
    // Scales are chosen anew when there is a tenth more to learn from.
    bool choose = examples.size() > fitted_ + std::max<size_t>(4, fitted_ / 10) || examples.size() < fitted_;
    if (choose) fitted_ = examples.size();
    process_.fit(inputs, targets, choose);
    if (!pending().empty()) {
      Eigen::Index waiting = static_cast<Eigen::Index>(pending().size()), i = known;
      Eigen::MatrixXd unseen(waiting, dimensions);
      for (auto& point : pending()) unseen.row(i++ - known) = coordinates(point).transpose();
      inputs.conservativeResize(known + waiting, Eigen::NoChange);
      targets.conservativeResize(known + waiting);
      inputs.bottomRows(waiting) = unseen;
      targets.tail(waiting) = process_.predict(unseen).mean;
      process_.fit(inputs, targets, false);
    }
    // A random threshold, as in BaCO: a model that expects wonders beyond a cliff would else outbid any small chance.
    threshold_ = std::uniform_real_distribution<double>(0, kStrictest)(random_);
    // From the best of the pool, climb: neighbours of what looks best, until nothing looks better.
    std::vector<double> values = acquisition(candidates);
    for (int climb = 0; climb_on && climb < kClimbs; ++climb) {
      std::vector<size_t> order(candidates.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      size_t leaders = std::min(kClimbers, order.size());
      std::partial_sort(order.begin(), order.begin() + static_cast<long>(leaders), order.end(),
                        [&](size_t a, size_t b) { return values[a] > values[b]; });
      std::set<Point> known(candidates.begin(), candidates.end()), fresh_points;
      for (size_t i = 0; i < leaders; ++i)
        for (auto& point : space_.neighbours(candidates[order[i]], false))
          if (!visited(point) && !known.contains(point)) fresh_points.insert(point);
      if (fresh_points.empty()) break;
      std::vector<Point> around(fresh_points.begin(), fresh_points.end());
      std::vector<double> more = acquisition(around);
      double before = values[order[0]];
      bool better = *std::max_element(more.begin(), more.end()) > before;
      candidates.insert(candidates.end(), around.begin(), around.end());
      values.insert(values.end(), more.begin(), more.end());
      if (!better) break;
    }
    return candidates[static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin())];
  }

  /// Expected improvement of log cost, times the squared chance that the point works (a failure teaches less), per
  /// candidate.
  std::vector<double> acquisition(const std::vector<Point>& candidates) {
    Eigen::Index count = static_cast<Eigen::Index>(candidates.size());
    Eigen::MatrixXd points(count, coordinates(candidates[0]).size());
    for (Eigen::Index row = 0; row < count; ++row)
      points.row(row) = coordinates(candidates[static_cast<size_t>(row)]).transpose();
    auto prediction = process_.predict(points);
    Eigen::ArrayXd works = feasibility(points);
    double incumbent = std::log(std::max(best()->cost, 1e-300)) - kGreedyFloor;
    std::vector<double> values;
    for (Eigen::Index row = 0; row < count; ++row) {
      double gain = incumbent - prediction.mean[row], z = gain / prediction.deviation[row];
      double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI), below = 0.5 * std::erfc(-z * M_SQRT1_2);
      values.push_back((gain * below + prediction.deviation[row] * density) * works[row] * works[row] *
                       (works[row] >= threshold_));
    }
    return values;
  }

  GaussianProcess process_;
  size_t fitted_ = 0;
  bool beside_ = false;
  double threshold_ = 0;  ///< Least feasibility asked for, redrawn at every ask.
};

}  // namespace

std::unique_ptr<Searcher> make_bayesian_search(const Space& space, uint64_t seed) {
  return std::make_unique<BayesianSearch>(space, seed);
}

}  // namespace kernelift::tuner
