// Bayesian optimisation on a discrete, constrained space with hidden failures. A Gaussian process models the logarithm
// of the cost of what worked; expected improvement is multiplied by the probability that a point works at all, from a
// kernel-weighted vote of all answers (failures never enter the cost model: a large made-up cost would poison it).
// The acquisition is maximised over a pool: fresh random points and the neighbours of the best ones. Points in flight
// are believed to turn out as predicted, so that a batch spreads out.
#include <algorithm>
#include <cmath>

#include "tuner/search/gaussian_process.h"
#include "tuner/search/searcher.h"

namespace kernelift {
namespace {

constexpr size_t kDesign = 12;           ///< Space-filling points before the model speaks.
constexpr size_t kDesignDraws = 24;      ///< Random points of which the most remote one joins the design.
constexpr size_t kPoolDraws = 400, kPoolElite = 4;
constexpr size_t kModelPoints = 300;     ///< Best and latest; keeps one ask in the tens of milliseconds.
constexpr double kVoteWidth = 0.35;      ///< Of the feasibility vote, in coordinate units.
constexpr double kVotePrior = 0.5;       ///< Weight of the overall success rate in it.
constexpr double kStrictest = 0.9;       ///< Upper end of the random feasibility threshold, relative to the safest point.
constexpr double kGreedyFloor = 1e-3;    ///< Margin of improvement, in log cost, below which exploring is worth more.

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
      for (auto& observation : told()) nearest = std::min(nearest, (coordinates(observation.point) - here).squaredNorm());
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
    std::sort(elite.begin(), elite.end(), [](auto* a, auto* b) { return a->cost < b->cost; });
    elite.resize(std::min(elite.size(), kPoolElite));
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
    for (auto& observation : told()) {
      Eigen::RowVectorXd here = coordinates(observation.point).transpose();
      Eigen::ArrayXd weight = (-(points.rowwise() - here).rowwise().squaredNorm().array() / (kVoteWidth * kVoteWidth)).exp();
      all += weight;
      if (observation.ok) worked += weight;
    }
    double rate = (successes + 1.0) / (told().size() + 2.0);
    return (worked + kVotePrior * rate) / (all + kVotePrior);
  }

  std::optional<Point> best_of_pool() {
    std::vector<Point> candidates = pool();
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
    Eigen::MatrixXd points(static_cast<Eigen::Index>(candidates.size()), dimensions);
    for (size_t i = 0; i < candidates.size(); ++i) points.row(static_cast<Eigen::Index>(i)) = coordinates(candidates[i]).transpose();
    auto prediction = process_.predict(points);
    Eigen::ArrayXd works = feasibility(points);
    // A random threshold, as in BaCO: a model that expects wonders beyond a cliff would else outbid any small chance.
    double threshold = works.maxCoeff() * std::uniform_real_distribution<double>(0, kStrictest)(random_);
    double incumbent = std::log(std::max(best()->cost, 1e-300)) - kGreedyFloor;
    size_t chosen = 0;
    double most = -1;
    for (size_t i = 0; i < candidates.size(); ++i) {
      Eigen::Index row = static_cast<Eigen::Index>(i);
      double gain = incumbent - prediction.mean[row], z = gain / prediction.deviation[row];
      double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI), below = 0.5 * std::erfc(-z * M_SQRT1_2);
      double improvement = (gain * below + prediction.deviation[row] * density) * works[row] * (works[row] >= threshold);
      if (improvement > most) most = improvement, chosen = i;
    }
    return candidates[chosen];
  }

  GaussianProcess process_;
  size_t fitted_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_bayesian_search(const Space& space, uint64_t seed) {
  return std::make_unique<BayesianSearch>(space, seed);
}

}  // namespace kernelift
