// The parameter tier's space for one source text of a MEP: its knobs (macros and constants that kernel or launch use)
// and, if the launch site's expressions allow it, its block size. The grid follows the block by expressions: a geometry
// parameter is offered only if the site's expressions reproduce every recorded geometry at the original values and show
// how the grid scales. Parameters and values that are not tried are listed with the reason. Limits of registers and
// dynamic shared memory are not predicted here; the evaluator's verdicts show them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "tuner/space/space.h"

namespace kernelift::tuner {

class MepSpace {
 public:
  /// `parent` carries the source text, the values it already holds, and the launches that run it. A parameter has the
  /// values that the text declares for it (core/model/tune_declarations.h), else those around its present one; and
  /// that of `also`.
  static MepSpace create(const Mep& mep, const Candidate& parent, const Bindings& also = {});

  const Space& space() const { return space_; }
  const std::vector<Expression>& constraints() const { return constraints_; }
  /// "TILE: spelled twice in the source", for the log.
  const std::vector<std::string>& left_alone() const { return left_alone_; }
  /// The same for the block's size and the knobs that determine it, with the change that would permit tuning it.
  const std::vector<std::string>& blocks_left_alone() const { return blocks_left_alone_; }
  /// `parent` with the point's values in its text, `values`, launches and steps. The original point gives the parent
  /// itself. Values of a template become part of its step.
  Candidate materialise(const Point& point) const;
  /// The point with these values and the parent's values for all other parameters; nullopt if it is not in the space.
  std::optional<Point> point_at(const Bindings& values) const;
  /// Those of the values whose parameters are in the space, of a candidate of another text or kernel.
  Bindings known(const Bindings& values) const;
  /// The same space without parameter `index`, which keeps its original value.
  MepSpace without(size_t index) const;

 private:
  class Builder;
  /// One grid or block axis as an expression of parameters and the recorded geometry.
  struct AxisRule {
    bool is_grid = true;
    int axis = 0;
    Expression expression;
    bool of_shape = false;  ///< Belongs to the block's shape, whose axes change together.
    bool fixed = false;     ///< The source fixes the axis' size, so it need not change with the others.
  };

  /// Sets the dynamic shared memory of the candidate's blocks, in proportion to the recorded one.
  void scale_shared(CandidateLaunch& launch, const Bindings& values, const std::map<std::string, Expression>& by) const;
  /// A template's step takes its parameters from `step`, and the threads of its blocks from the launch.
  void take_into_template(Candidate& candidate, Step& step) const;
  /// Largest number of the application's blocks along y or z for which the candidate's grid stays below its limit.
  int64_t most_blocks(const Candidate& candidate, int axis) const;

  Candidate parent_;
  Dim3 recorded_block_;
  std::string kernel_name_;
  Space space_;
  std::vector<Expression> constraints_;
  std::vector<AxisRule> rules_;
  std::vector<Geometry> with_shared_;  ///< Recorded geometries with dynamic shared memory.
  std::optional<Expression> shared_;   ///< Expression of parameters by which launches compute it; nullopt: none.
  std::vector<std::string> knobs_;     ///< Parameters that are spelled in the text; the others belong to the geometry.
  std::vector<std::string> left_alone_, blocks_left_alone_;
};

/// Puts the threads of the candidate's blocks into the step, "block.x", where they differ from the recorded ones.
void name_threads(Step& step, const Candidate& candidate, const Dim3& recorded_block);

}  // namespace kernelift::tuner
