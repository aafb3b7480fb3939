// Iterated local search: first-improvement hill climbing over a shuffled neighbourhood (adjacent values first, then any
// single change), then a kick: a few parameters of the best point redrawn, or now and then a fresh start. On tuning
// spaces, which are rugged but not deceptive, this is a strong baseline that needs no model.
#include <algorithm>
#include <deque>

#include "tuner/search/searcher.h"

namespace kernelift::tuner {
namespace {

constexpr double kRestartShare = 0.2;  ///< Of kicks that start over at a random point.
constexpr int kFirstDraws = 5;         ///< Random points before the first climb starts from the best of them.

class LocalSearch : public Searcher {
 public:
  using Searcher::Searcher;
  const char* name() const override { return "local"; }

 protected:
  std::optional<Point> do_ask() override {
    if (!current_) return std::nullopt;  // Chance draws until something works.
    while (true) {
      while (!queue_.empty()) {
        Point point = queue_.front();
        queue_.pop_front();
        if (!visited(point)) return point;
      }
      if (near_) {
        expand(false);
      } else if (!pending().empty()) {
        return std::nullopt;  // The rest of this neighbourhood is still being measured.
      } else {
        return kick();
      }
    }
  }

  void do_tell(const Observation& observation) override {
    if (!observation.ok) return;
    bool first = !current_ && told().size() >= kFirstDraws;
    if (first) {
      move(*best());
    } else if (current_ && (kicked_ || observation.cost < current_->cost)) {
      kicked_ = false;
      move(observation);
    }
  }

 private:
  void move(const Observation& observation) {
    current_ = observation;
    expand(true);
  }

  void expand(bool near) {
    near_ = near;
    auto around = space_.neighbours(current_->point, near);
    std::shuffle(around.begin(), around.end(), random_);
    queue_.assign(around.begin(), around.end());
  }

  std::optional<Point> kick() {
    kicked_ = true;  // The next answer becomes the place to climb from, better or not.
    if (std::bernoulli_distribution(kRestartShare)(random_)) return std::nullopt;
    for (int tries = 0; tries < 32; ++tries) {
      Point point = best()->point, other = space_.sample(random_);
      size_t changes = 2 + random_() % std::max<size_t>(1, point.size() / 2);
      for (size_t change = 0; change < changes; ++change) {
        size_t p = random_() % point.size();
        point[p] = other[p];
      }
      if (!visited(point) && space_.valid(point)) return point;
    }
    return std::nullopt;
  }

  std::optional<Observation> current_;
  std::deque<Point> queue_;
  bool near_ = false, kicked_ = false;
};

}  // namespace

std::unique_ptr<Searcher> make_local_search(const Space& space, uint64_t seed) {
  return std::make_unique<LocalSearch>(space, seed);
}

}  // namespace kernelift::tuner
