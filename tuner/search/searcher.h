// The interface of all searchers: ask for points, tell what they cost. Searchers see numbers only (no GPU, time or
// disk), so each can be run against recorded trials. The base class keeps what has been asked, so that no searcher
// repeats a point, and what has been told; strategies fill in the do_ functions.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace kernelift::tuner {

class Prior;

struct Observation {
  Point point;
  bool ok = false;
  double cost = 0;  ///< Lower is better, > 0; meaningless unless ok.
};

class Searcher {
 public:
  Searcher(const Space& space, uint64_t seed) : space_(space), random_(seed) {}
  virtual ~Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  /// Up to `count` points never asked or told before; fewer only when the space is spent.
  std::vector<Point> ask(size_t count);
  /// Results in any order, also of points that were never asked (a resumed run, another searcher's).
  void tell(const Observation& observation);
  /// Points that somebody proposes, best first, with what follows from them as a prior. They are asked in turn with the
  /// strategy's own, as long as the best of them is faster than half of those, and the prior is inherited once all of
  /// them were. The strategy learns of none before the first has proved faster, unless it asks for that point itself:
  /// proposals that mislead cost a point or two, and nothing else.
  void begin_with(const std::vector<Point>& points, std::shared_ptr<const Prior> prior);
  /// From now on this is what others found; strategies that inherits() does not name make nothing of it.
  virtual void inherit(std::shared_ptr<const Prior> prior) {}

  virtual const char* name() const = 0;
  const Space& space() const { return space_; }
  const std::vector<Observation>& told() const { return told_; }
  /// The best successful observation, or nullptr.
  const Observation* best() const { return best_ < told_.size() ? &told_[best_] : nullptr; }

 protected:
  /// The strategy's next point, or nullopt to leave the choice to chance. May return a visited point: it is dropped.
  virtual std::optional<Point> do_ask() = 0;
  virtual void do_tell(const Observation& observation) {}

  bool visited(const Point& point) const { return visited_.contains(point); }
  /// A uniformly drawn point not visited yet; nullopt if none is left (or, for a space that is not indexed, none
  /// found).
  std::optional<Point> fresh();
  const std::set<Point>& pending() const { return pending_; }

  const Space& space_;  ///< EXPECTS: outlives the searcher.
  Random random_;

 private:
  /// The next proposed point if it is time for it; or drops the proposals, or inherits what follows from them.
  std::optional<Point> proposed();
  void learn(const Observation& observation);
  /// Lets the strategy learn of a point that was withheld from it; false: there is no such.
  bool recall(const Point& point);

  std::deque<Point> proposed_;                  ///< Not asked yet.
  std::set<Point> tried_;                       ///< Proposed and asked, or known before.
  std::shared_ptr<const Prior> not_inherited_;  ///< Until the proposals have proved right; or null.
  bool proven_ = false;                         ///< The first of them was faster than the strategy's own points.
  std::map<Point, Observation> withheld_;       ///< Of proposals, until that is known, or for good.
  std::set<Point> visited_, pending_;
  std::vector<Observation> told_;
  size_t best_ = SIZE_MAX;
};

/// A usage error that lists the strategies, unless `name` is one of them.
Status check_strategy(const std::string& name);
/// random | local | genetic | bayesian | portfolio. `prior` is what earlier runs found (may be null); only strategies
/// that inherits() names make use of it.
Result<std::unique_ptr<Searcher>> make_searcher(const std::string& name, const Space& space, uint64_t seed,
                                                std::shared_ptr<const Prior> prior = nullptr);
const std::vector<std::string>& searcher_names();
bool inherits(const std::string& name);

// Each strategy's constructor; its essay is in NAME_search.cpp.
std::unique_ptr<Searcher> make_random_search(const Space&, uint64_t seed);
std::unique_ptr<Searcher> make_local_search(const Space&, uint64_t seed);
std::unique_ptr<Searcher> make_genetic_search(const Space&, uint64_t seed);
std::unique_ptr<Searcher> make_bayesian_search(const Space&, uint64_t seed, std::shared_ptr<const Prior> = nullptr);
std::unique_ptr<Searcher> make_portfolio_search(const Space&, uint64_t seed, std::shared_ptr<const Prior> = nullptr);

}  // namespace kernelift::tuner
