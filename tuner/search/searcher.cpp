// What every searcher shares, the table of strategies, and random search, which is nothing but the shared part.
#include "tuner/search/searcher.h"

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

constexpr int kFreshDraws = 64;    ///< Uniform draws before the space is walked for a point that is left.
constexpr size_t kOthers = 2;      ///< Answers to own points by which the first proposed one is measured.
constexpr int kStaleAnswers = 16;  ///< Visited points a strategy may offer in a row before chance takes over.
constexpr uint64_t kLongestWalk = 1 << 20;

class RandomSearch : public Searcher {
 public:
  using Searcher::Searcher;
  const char* name() const override { return "random"; }

 protected:
  std::optional<Point> do_ask() override { return std::nullopt; }
};

struct Entry {
  const char* name;
  std::unique_ptr<Searcher> (*make)(const Space&, uint64_t);
  std::unique_ptr<Searcher> (*make_heir)(const Space&, uint64_t, std::shared_ptr<const Prior>) = nullptr;
};
constexpr Entry kEntries[] = {{"random", make_random_search},
                              {"local", make_local_search},
                              {"genetic", make_genetic_search},
                              {"bayesian", nullptr, make_bayesian_search},
                              {"portfolio", nullptr, make_portfolio_search}};

const Entry* entry_called(const std::string& name) {
  for (auto& entry : kEntries)
    if (name == entry.name) return &entry;
  return nullptr;
}

}  // namespace

std::vector<Point> Searcher::ask(size_t count) {
  std::vector<Point> points;
  if (space_.count() == 0) return points;
  while (points.size() < count) {
    std::optional<Point> point = proposed();
    for (int tries = 0; tries < kStaleAnswers && !point; ++tries) {
      point = do_ask();
      if (!point || (!recall(*point) && !visited(*point))) break;
      point.reset();
    }
    while (!point) {
      point = fresh();
      if (!point || !recall(*point)) break;
      point.reset();
    }
    if (!point) break;
    visited_.insert(*point);
    pending_.insert(*point);
    points.push_back(std::move(*point));
  }
  return points;
}

void Searcher::begin_with(const std::vector<Point>& points, std::shared_ptr<const Prior> prior) {
  for (auto& point : points)
    if (space_.valid(point)) proposed_.push_back(point);
  if (!proposed_.empty()) not_inherited_ = std::move(prior);
}

std::optional<Point> Searcher::proposed() {
  if (proposed_.empty() && !not_inherited_) return std::nullopt;
  if (!tried_.empty()) {
    std::vector<double> others;
    double best = INFINITY;
    auto count = [&](const Observation& observation) {
      const double cost = observation.ok ? observation.cost : INFINITY;
      if (tried_.contains(observation.point)) best = std::min(best, cost);
      else others.push_back(cost);
    };
    std::ranges::for_each(told_, count);
    for (auto& [point, observation] : withheld_) count(observation);
    const bool answered = std::ranges::none_of(tried_, [&](auto& point) { return pending_.contains(point); });
    if (!answered || others.size() < kOthers) return std::nullopt;
    std::ranges::sort(others);
    if (best >= others[others.size() / 2]) {
      proposed_.clear(), not_inherited_.reset();
      return std::nullopt;
    }
    proven_ = true;
    for (auto& [point, observation] : std::exchange(withheld_, {})) learn(observation);
  }
  while (!proposed_.empty()) {
    Point point = std::move(proposed_.front());
    proposed_.pop_front();
    const bool known = visited(point);
    tried_.insert(point);
    if (!known) return point;
  }
  if (not_inherited_ && !tried_.empty()) inherit(std::exchange(not_inherited_, nullptr));
  return std::nullopt;
}

void Searcher::tell(const Observation& observation) {
  pending_.erase(observation.point);
  const bool undecided = !proven_ && (!proposed_.empty() || not_inherited_);
  if (!undecided || !tried_.contains(observation.point)) return learn(observation);
  visited_.erase(observation.point);
  withheld_[observation.point] = observation;
}

bool Searcher::recall(const Point& point) {
  auto known = withheld_.find(point);
  if (known == withheld_.end()) return false;
  const Observation observation = known->second;
  withheld_.erase(known);
  learn(observation);
  return true;
}

void Searcher::learn(const Observation& observation) {
  visited_.insert(observation.point);
  told_.push_back(observation);
  if (observation.ok && (!best() || observation.cost < told_[best_].cost)) best_ = told_.size() - 1;
  do_tell(observation);
}

std::optional<Point> Searcher::fresh() {
  for (int draw = 0; draw < kFreshDraws; ++draw) {
    Point point = space_.sample(random_);
    if (!visited(point)) return point;
  }
  if (!space_.indexed()) return std::nullopt;
  uint64_t count = static_cast<uint64_t>(space_.count());
  uint64_t rank = std::uniform_int_distribution<uint64_t>(0, count - 1)(random_);
  for (uint64_t step = 0; step < std::min(count, kLongestWalk); ++step)
    if (Point point = space_.at((rank + step) % count); !visited(point)) return point;
  return std::nullopt;
}

std::unique_ptr<Searcher> make_random_search(const Space& space, uint64_t seed) {
  return std::make_unique<RandomSearch>(space, seed);
}

const std::vector<std::string>& searcher_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (auto& entry : kEntries) all.push_back(entry.name);
    return all;
  }();
  return names;
}

Status check_strategy(const std::string& name) {
  if (entry_called(name)) return done();
  std::string known;
  for (auto& entry : kEntries) known += (known.empty() ? "" : ", ") + std::string(entry.name);
  return usage_error("'" + name + "' is no search strategy; there are " + known);
}

bool inherits(const std::string& name) {
  auto* entry = entry_called(name);
  return entry && entry->make_heir;
}

Result<std::unique_ptr<Searcher>> make_searcher(const std::string& name, const Space& space, uint64_t seed,
                                                std::shared_ptr<const Prior> prior) {
  KERNELIFT_TRY(check_strategy(name));
  auto* entry = entry_called(name);
  return entry->make_heir ? entry->make_heir(space, seed, std::move(prior)) : entry->make(space, seed);
}

}  // namespace kernelift::tuner
