// The default strategy: local, Bayesian and genetic search under one bandit (chance has its say in each of them). All
// of them learn from every answer; the bandit only decides whose idea is tried next, so no strategy needs to be picked
// by the user.
#include "tuner/search/auc_bandit.h"
#include "tuner/search/searcher.h"

#include <map>

namespace kernelift::tuner {
namespace {

class PortfolioSearch : public Searcher {
 public:
  PortfolioSearch(const Space& space, uint64_t seed) : Searcher(space, seed), bandit_(3) {
    members_.push_back(make_local_search(space, seed * 4 + 1));
    members_.push_back(make_bayesian_search(space, seed * 4 + 2));
    members_.push_back(make_genetic_search(space, seed * 4 + 3));
  }
  const char* name() const override { return "portfolio"; }

 protected:
  std::optional<Point> do_ask() override {
    for (size_t arm : bandit_.ranking()) {
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
    if (observation.ok) lowest_ = std::min(lowest_, observation.cost);
    for (auto& member : members_) member->tell(observation);
  }

 private:
  AucBandit bandit_;
  std::vector<std::unique_ptr<Searcher>> members_;
  std::map<Point, size_t> asked_by_;
  double lowest_ = INFINITY;
};

}  // namespace

std::unique_ptr<Searcher> make_portfolio_search(const Space& space, uint64_t seed) {
  return std::make_unique<PortfolioSearch>(space, seed);
}

}  // namespace kernelift::tuner
