// The parameter tier's space for one source text of a MEP: its knobs (macros and constants that feed kernel or launch)
// and, where the launch site's expressions allow, its block size. Grid follows block by expression: a
// geometry parameter is offered only when the site's expressions reproduce every recorded geometry at the original
// values and say how the grid scales. What is left alone is listed with the reason. Shared-memory and register limits
// are not guessed here: the evaluator's verdict teaches them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/mep.h"
#include "tuner/space/space.h"

namespace kernelift {

class MepSpace {
 public:
  /// `parent` carries the source text, the values it already holds, and the launches that run it.
  static MepSpace create(const Mep& mep, const Candidate& parent);

  const Space& space() const { return space_; }
  /// "TILE: spelled twice in the source", for the log.
  const std::vector<std::string>& left_alone() const { return left_alone_; }
  /// Of the block's size, or a knob that it follows: what is not tried, why, and what could be changed, a line each.
  const std::vector<std::string>& blocks_left_alone() const { return blocks_left_alone_; }
  /// `parent` with the values in place: edited text, `values`, launches. The original point gives the parent itself.
  Candidate materialise(const Point& point) const;
  /// Where the parameters so named have these values and all others are as in `parent`; nullopt where the space has no
  /// such point.
  std::optional<Point> point_at(const Bindings& values) const;
  /// The same space without parameter `index`, which keeps its original value.
  MepSpace without(size_t index) const;

 private:
  class Builder;
  /// One grid or block axis as a function of parameters, over the recorded geometry. Those of the block's shape count
  /// together, but for sizes that the source fixes.
  struct AxisRule {
    bool is_grid = true;
    int axis = 0;
    Expression expression;
    bool of_shape = false, fixed = false;
  };

  /// Dynamic shared memory that serves the candidate's blocks as what was recorded served the recorded ones.
  void give_room(CandidateLaunch& launch, const Bindings& values, const std::map<std::string, Expression>& by) const;
  /// Of the application's, along y or z, that the candidate's grid still has room for.
  int64_t most_blocks(const Candidate& candidate, int axis) const;

  Candidate parent_;
  Dim3 recorded_block_;
  std::string kernel_name_;
  Space space_;
  std::vector<Expression> constraints_;
  std::vector<AxisRule> rules_;
  std::vector<Geometry> with_shared_;  ///< Recorded ones that have dynamic shared memory …
  std::optional<Expression> shared_;   ///< … and what launches compute it by, where that is a matter of parameters.
  std::vector<std::string> knobs_;     ///< Parameters that are spelled in the text; the others are geometry only.
  std::vector<std::string> left_alone_, blocks_left_alone_;
};

}  // namespace kernelift
