// The compiler tier, first half: optimisation level, unroll and inline thresholds, vectorisers and the pieces of fast
// math, as one search space over the recipe of the best candidates. Whether fast math is tolerable is verification's
// word: pieces that it found wrong together are not tried together again on the same source, whatever else is.
#pragma once
#include <map>
#include <memory>
#include <set>

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

  /// Pieces of fast math, by name.
  using Pieces = std::set<std::string>;
  /// Without the recipes that have all pieces of one of `wrong`.
  static Space recipe_space(const std::vector<Pieces>& wrong = {});
  static Recipe recipe(const Space& space, const Point& point);

 private:
  std::string strategy_;
  uint64_t seed_;
  Bound bound_;
  /// A searcher per base candidate; recipes that did well on one base are tried first on the next.
  struct Base {
    int64_t id = 0;
    Space space;
    std::unique_ptr<Searcher> searcher;
    std::vector<Point> first;
    std::map<Hash, Point> asked;
    std::vector<Pieces> wrong;
  };
  void begin(Base& base, const RunTrial& origin);
  /// Of recipes that verification refused: leaves out what has all their pieces, unless some such was right.
  void leave_out(Base& base, const Pieces& pieces);
  std::map<int64_t, Base> bases_;
};

/// What a compiler-tier candidate of `history` is made from: the best candidate whose recipe is the default.
const RunTrial* compiler_base(const History& history);

}  // namespace kernelift
