// A steady-state genetic search: the population is the best kPopulation observations; a child takes each value from one
// of two tournament winners and mutates a little. Asynchronous by nature (any answer may join at any time), which suits
// many candidates in flight. Children that break a constraint are redrawn.
#include <algorithm>

#include "tuner/search/searcher.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kPopulation = 20, kTournament = 3;
constexpr int kChildTries = 48;

class GeneticSearch : public Searcher {
 public:
  using Searcher::Searcher;
  const char* name() const override { return "genetic"; }

 protected:
  std::optional<Point> do_ask() override {
    if (population_.size() < kPopulation / 2) return std::nullopt;
    for (int tries = 0; tries < kChildTries; ++tries) {
      const Point &mother = pick(), &father = pick();
      Point child = mother;
      double rate = 1.0 / static_cast<double>(child.size());
      for (size_t p = 0; p < child.size(); ++p) {
        if (random_() & 1) child[p] = father[p];
        if (std::bernoulli_distribution(rate)(random_)) mutate(child, p);
      }
      if (!visited(child) && space_.valid(child)) return child;
    }
    return std::nullopt;
  }

  void do_tell(const Observation& observation) override {
    if (!observation.ok) return;
    auto place = std::lower_bound(population_.begin(), population_.end(), observation,
                                  [](auto& a, auto& b) { return a.cost < b.cost; });
    population_.insert(place, observation);
    if (population_.size() > kPopulation) population_.pop_back();
  }

 private:
  const Point& pick() {
    size_t winner = population_.size();
    for (size_t entry = 0; entry < kTournament; ++entry)
      winner = std::min<size_t>(winner, random_() % population_.size());
    return population_[winner].point;
  }
  void mutate(Point& point, size_t p) {
    size_t values = space_.parameters()[p].values.size();
    bool step = space_.parameters()[p].ordered && (random_() & 1);
    if (!step) point[p] = random_() % values;
    else if (random_() & 1) point[p] = point[p] + 1u < values ? point[p] + 1 : point[p];
    else point[p] = point[p] ? point[p] - 1 : 0;
  }

  std::vector<Observation> population_;  ///< Best first.
};

}  // namespace

std::unique_ptr<Searcher> make_genetic_search(const Space& space, uint64_t seed) {
  return std::make_unique<GeneticSearch>(space, seed);
}

}  // namespace kernelift::tuner
