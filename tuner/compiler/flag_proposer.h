// Compiler flags of the compiler tier: optimisation level, unroll and inline thresholds, vectorisers and fast-math
// flags, as one search space over the recipe of the best candidates. Verification decides whether fast math is accurate
// enough: a set of fast-math flags that gave wrong results is not tried again on the same source, also not as part of a
// larger set.
#pragma once
#include <map>
#include <memory>
#include <set>

#include "tuner/bound.h"
#include "tuner/proposer.h"
#include "tuner/search/searcher.h"

namespace kernelift::tuner {

class FlagProposer : public Proposer {
 public:
  /// `keep_precision`: no fast-math flags that approximate or reorder.
  FlagProposer(std::string strategy, uint64_t seed, Bound bound = Bound::Unknown, bool keep_precision = false);
  std::string name() const override { return "flags:" + strategy_; }
  std::string tier() const override { return "compiler"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;

  /// Names of fast-math flags.
  using Pieces = std::set<std::string>;
  /// The space without the recipes that have all flags of one of the sets in `wrong`.
  static Space recipe_space(const std::vector<Pieces>& wrong = {});
  static Recipe recipe(const Space& space, const Point& point);

 private:
  std::string strategy_;
  uint64_t seed_;
  Bound bound_;
  bool keep_precision_;
  /// One searcher per base candidate; recipes that were fast on one base are tried first on the next.
  struct Base {
    int64_t id = 0;
    Space space;
    std::unique_ptr<Searcher> searcher;
    std::vector<Point> first;
    std::map<Hash, Point> asked;
    std::vector<Pieces> wrong;
  };
  void begin(Base& base, const RunTrial& origin);
  /// Removes the recipes that have all these flags from the space, unless one of them was right.
  void leave_out(Base& base, const Pieces& pieces);
  std::map<int64_t, Base> bases_;
};

/// The base of compiler-tier candidates: the best candidate with the default recipe; but the best that a model wrote a
/// part of, if it gains, until it has had a few recipes.
const RunTrial* compiler_base(const History& history);

}  // namespace kernelift::tuner
