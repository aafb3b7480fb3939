// What earlier runs found out about a search space: of the same kernel on another GPU, at other sizes, before an edit.
// Their parameters are matched with the space's by name and their values by what they are, so spaces need not be equal.
// A prior only predicts; whoever uses it must compare its predictions with what is measured, because they may mislead.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tuner/search/regression_forest.h"
#include "tuner/search/searcher.h"

namespace kernelift::tuner {

struct EarlierRun {
  std::string name;                   ///< File or device, for sentences.
  std::vector<Tunable> parameters;    ///< Of the earlier run's space.
  std::vector<Observation> trials{};  ///< Points of these parameters.
};

class Prior {
 public:
  /// A sentence in `notes` for each run that is left out or that matches the space only in part.
  static Prior of(const Space& space, const std::vector<EarlierRun>& runs, std::vector<std::string>& notes);

  /// Runs that say something about the space.
  size_t sources() const { return sources_.size(); }
  size_t trials() const { return trials_; }
  /// Predicted logarithm of the cost, up to a constant of the source, of a point as Space::encode() gives it.
  double predict(size_t source, std::span<const double> point) const { return sources_[source].forest.predict(point); }
  /// Points of the space that the source predicts to be fastest, best first.
  const std::vector<Point>& promising(size_t source) const { return sources_[source].promising; }

 private:
  struct Source {
    RegressionForest forest;
    std::vector<Point> promising{};
  };
  std::vector<Source> sources_;
  size_t trials_ = 0;
};

}  // namespace kernelift::tuner
