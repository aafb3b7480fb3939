// Bayesian optimisation on a discrete, constrained space with hidden failures. A model of the logarithm of the cost of
// what worked (cost_model.h) gives the expected improvement, which is multiplied by the probability that a point works
// at all, from a kernel-weighted vote of all answers (failures never enter the cost model: a large made-up cost would
// poison it). The acquisition is maximised over a pool: fresh random points, the neighbours of the best ones, and what
// earlier runs promise as long as measurements bear them out. Points in flight are believed to turn out as predicted,
// so that a batch spreads out.
#include <algorithm>
#include <cmath>

#include "tuner/search/cost_model.h"
#include "tuner/search/searcher.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kDesignDraws = 24;  ///< Random points of which the most remote one joins the design.
constexpr size_t kPoolDraws = 600, kPoolElite = 4;
constexpr size_t kClimbers = 3;        ///< Points whose neighbours join the pool in each round of climbing …
constexpr int kClimbs = 6;             ///< … of so many rounds at most.
constexpr size_t kFewest = 3;          ///< Successes before the model speaks.
constexpr size_t kModelPoints = 300;   ///< Best and latest; keeps one ask in the tens of milliseconds.
constexpr size_t kVoters = 1000;       ///< Latest answers that vote on whether a point works.
constexpr double kVoteWidth = 0.2;     ///< Of the feasibility vote, in coordinate units.
constexpr double kVotePrior = 0.5;     ///< Weight of the overall success rate in it.
constexpr double kStrictest = 0.9;     ///< Upper end of the random feasibility threshold, a probability.
constexpr double kGreedyFloor = 1e-3;  ///< Margin of improvement, in log cost, below which exploring is worth more.

class BayesianSearch : public Searcher {
 public:
  BayesianSearch(const Space& space, uint64_t seed, std::shared_ptr<const Prior> prior)
      : Searcher(space, seed), prior_(prior && prior->sources() ? std::move(prior) : nullptr), model_(prior_) {
    // One more than the space has dimensions, as in HyperMapper and BaCO: what it takes to see each move once.
    Random random(seed);
    if (space.count() > 0) design_ = space.encode(space.sample(random)).size() + 1;
  }
  const char* name() const override { return "bayesian"; }
  void inherit(std::shared_ptr<const Prior> prior) override {
    prior_ = prior && prior->sources() ? std::move(prior) : nullptr;
    model_ = CostModel(prior_);
  }

 protected:
  std::optional<Point> do_ask() override {
    size_t successes = 0;
    for (auto& observation : told()) successes += observation.ok;
    const size_t asked = told().size() + pending().size();
    if ((successes + pending().size() < design_ && asked < 2 * design_) || successes < kFewest) {
      // What earlier runs promise, in turn with points far from all others, which show whether to believe it.
      if (prior_ && asked % 2 == 0)
        if (auto point = promised(asked / 2 % prior_->sources())) return point;
      return remote();
    }
    return best_of_pool();
  }

 private:
  Eigen::VectorXd coordinates(const Point& point) const {
    auto encoded = space_.encode(point);
    return Eigen::Map<Eigen::VectorXd>(encoded.data(), static_cast<Eigen::Index>(encoded.size()));
  }

  /// The most promising point of a source that differs in more than one parameter from all that were asked: its
  /// neighbours are about as good, there and here.
  std::optional<Point> promised(size_t source) const {
    auto apart = [&](const Point& a, const Point& b) {
      size_t different = 0;
      for (size_t p = 0; p < a.size(); ++p) different += a[p] != b[p];
      return different > 1;
    };
    for (auto& point : prior_->promising(source))
      if (std::ranges::all_of(told(), [&](auto& one) { return apart(one.point, point); }) &&
          std::ranges::all_of(pending(), [&](auto& one) { return apart(one, point); }))
        return point;
    return std::nullopt;
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
    if (auto source = model_.trusted()) {
      auto& promising = prior_->promising(*source);
      points.insert(promising.begin(), promising.end());
    }
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

  /// False for a space of a single point, which has no coordinates.
  bool fit(bool inherit) {
    auto examples = training();
    const auto known = static_cast<Eigen::Index>(examples.size()), ahead = static_cast<Eigen::Index>(pending().size());
    const Eigen::Index dimensions = coordinates(examples[0]->point).size();
    if (dimensions == 0) return false;
    Eigen::MatrixXd inputs(known, dimensions), waiting(ahead, dimensions);
    Eigen::VectorXd costs(known);
    for (Eigen::Index i = 0; i < known; ++i) {
      inputs.row(i) = coordinates(examples[static_cast<size_t>(i)]->point).transpose();
      costs[i] = log_cost(*examples[static_cast<size_t>(i)]);
    }
    for (Eigen::Index i = 0; auto& point : pending()) waiting.row(i++) = coordinates(point).transpose();
    model_.fit(inputs, costs, waiting, inherit);
    return true;
  }

  static double log_cost(const Observation& observation) { return std::log(std::max(observation.cost, 1e-300)); }

  std::optional<Point> best_of_pool() {
    // Every other ask stays beside the best point: the model then only orders a hill climb, which rugged spaces need,
    // and the asks between look for other hills. Every other of these forgets the prior, which knows only its own
    // hills.
    ++turn_;
    const bool beside = turn_ % 2 == 1, inherit = turn_ % 4 != 0;
    if (!fit(inherit)) return fresh();
    std::vector<Point> candidates;
    if (beside) {
      candidates = space_.neighbours(best()->point, false);
      std::erase_if(candidates, [&](auto& point) { return visited(point); });
    }
    bool climb_on = candidates.empty();
    if (climb_on) candidates = pool();
    if (candidates.empty()) return std::nullopt;
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
    auto prediction = model_.predict(points);
    Eigen::ArrayXd works = feasibility(points);
    double incumbent = log_cost(*best()) - kGreedyFloor;
    std::vector<double> values;
    for (Eigen::Index row = 0; row < count; ++row) {
      double gain = incumbent - prediction.mean[row], z = gain / prediction.deviation[row];
      double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI), below = 0.5 * std::erfc(-z * M_SQRT1_2);
      values.push_back((gain * below + prediction.deviation[row] * density) * works[row] * works[row] *
                       (works[row] >= threshold_));
    }
    return values;
  }

  std::shared_ptr<const Prior> prior_;  ///< Null: none.
  CostModel model_;
  size_t design_ = 0;     ///< Points before the model speaks.
  size_t turn_ = 0;       ///< Asks answered by the model.
  double threshold_ = 0;  ///< Least feasibility asked for, redrawn at every ask.
};

}  // namespace

std::unique_ptr<Searcher> make_bayesian_search(const Space& space, uint64_t seed, std::shared_ptr<const Prior> prior) {
  return std::make_unique<BayesianSearch>(space, seed, std::move(prior));
}

}  // namespace kernelift::tuner
