// The default strategy: Bayesian search as long as it finds better points, for no other strategy needs as few trials.
// Once it stalls (as many trials as the best point has neighbours brought nothing better), every fourth trial is given
// to local, Bayesian or genetic search by a bandit: they get away from where a model is sure that nothing else is good.
// All of them learn from every answer, so no strategy needs to be picked by the user.
#include <algorithm>
#include <cmath>
#include <map>

#include "tuner/search/auc_bandit.h"
#include "tuner/search/searcher.h"

namespace kernelift::tuner {
namespace {

class PortfolioSearch : public Searcher {
 public:
  PortfolioSearch(const Space& space, uint64_t seed, std::shared_ptr<const Prior> prior)
      : Searcher(space, seed), bandit_(3) {
    members_.push_back(make_local_search(space, seed * 4 + 1));
    members_.push_back(make_bayesian_search(space, seed * 4 + 2, std::move(prior)));
    members_.push_back(make_genetic_search(space, seed * 4 + 3));
  }
  const char* name() const override { return "portfolio"; }
  void inherit(std::shared_ptr<const Prior> prior) override { members_[kBayesian]->inherit(std::move(prior)); }

 protected:
  std::optional<Point> do_ask() override {
    const bool stalled = best() && stale_ > neighbours_;
    std::vector<size_t> order = bandit_.ranking();
    if (!stalled || ++turn_ % 4 != 0) std::iter_swap(order.begin(), std::ranges::find(order, kBayesian));
    for (size_t arm : order) {
      auto points = members_[arm]->ask(1);
      if (points.empty()) continue;
      if (!visited(points[0])) asked_by_[points[0]] = arm;
      return points[0];
    }
    return std::nullopt;
  }

  void do_tell(const Observation& observation) override {
    if (auto asked = asked_by_.find(observation.point); asked != asked_by_.end()) {
      bandit_.credit(asked->second, observation.ok && observation.cost < lowest_);
      asked_by_.erase(asked);
    }
    ++stale_;
    if (observation.ok && observation.cost < lowest_) {
      lowest_ = observation.cost;
      stale_ = 0, neighbours_ = space_.neighbours(observation.point, false).size();
    }
    for (auto& member : members_) member->tell(observation);
  }

 private:
  static constexpr size_t kBayesian = 1;  ///< Place among the members.

  AucBandit bandit_;
  std::vector<std::unique_ptr<Searcher>> members_;
  std::map<Point, size_t> asked_by_;
  double lowest_ = INFINITY;
  size_t stale_ = 0, neighbours_ = 0;  ///< Answers since the best one; neighbours of that point.
  size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_portfolio_search(const Space& space, uint64_t seed, std::shared_ptr<const Prior> prior) {
  return std::make_unique<PortfolioSearch>(space, seed, std::move(prior));
}

}  // namespace kernelift::tuner
