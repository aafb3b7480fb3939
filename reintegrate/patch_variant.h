// One patch that a candidate can become: its source, or its PTX embedded; for all launches, or for some. What it is
// worth is its gain less what a maintainer has to accept with it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "reintegrate/apply_request.h"
#include "reintegrate/shape_choice.h"

namespace kernelift::reintegrate {

struct PatchVariant {
  tuner::RunTrial trial;
  bool embedded = false;
  double share = 0;                       ///< The kernel's share of the application's run time; 0: unknown.
  std::vector<OtherKernel> others = {};   ///< Effect on kernels that share a knob; empty: none, or not judged.
  std::optional<ShapeChoice> shape = {};  ///< The launches that run it; absent: all.

  const Verdict& figures() const { return shape ? shape->figures : trial.figures(); }
  double speedup() const { return embedded ? embedded_gain(trial).speedup : figures().speedup(); }
  double low() const { return embedded ? embedded_gain(trial).low : figures().speedup_low(); }
  Candidate candidate() const;
  std::optional<Expression> where() const { return shape ? std::optional(shape->where) : std::nullopt; }
  double with_others(double gain) const { return others.empty() ? gain : equivalent_gain(gain, share, others); }
  /// The low end of its gain, other kernels' losses and the patch's own burden taken off: a further step counts as
  /// 0.5 %, less precision or flags of a whole file as 3 %, and PTX as 5 %.
  double worth() const;
  /// "#7 (source: unroll the loop over k (by 4), 1.31x)"
  std::string label() const;
};

}  // namespace kernelift::reintegrate
