// The compiler tier, first half: optimisation level, unroll and inline thresholds, vectorisers and the pieces of fast
// math, as one search space over the recipe of the best candidates. Whether fast math is tolerable is verification's word.
#pragma once
#include <map>
#include <memory>

#include "tuner/bound.h"
#include "tuner/proposer.h"
#include "tuner/search/searcher.h"

namespace kernelift {

class FlagProposer : public Proposer {
 public:
  FlagProposer(std::string strategy, uint64_t seed, Bound bound = Bound::Unknown);
  std::string name() const override { return "flags:" + strategy_; }
  std::string tier() const override { return "compiler"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;

  static Space recipe_space();
  static Recipe recipe(const Space& space, const Point& point);

 private:
  std::string strategy_;
  uint64_t seed_;
  Bound bound_;
  Space space_;
  /// A searcher per base candidate; recipes that did well on one base are tried first on the next.
  struct Base {
    int64_t id = 0;
    std::unique_ptr<Searcher> searcher;
    std::vector<Point> first;
    std::map<Hash, Point> asked;
  };
  std::map<int64_t, Base> bases_;
};

/// What a compiler-tier candidate of `history` is made from: the best candidate whose recipe is the default.
const RunTrial* compiler_base(const History& history);

}  // namespace kernelift
