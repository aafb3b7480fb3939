// One patch that a candidate can become: its source, or its PTX embedded; for all launches, or for some; with new
// values of the application's constants, or with constants of its own. What it is worth is its gain less what a
// maintainer has to accept with it.
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
  /// The candidate with constants of its own; absent: the application's get its values.
  std::optional<Candidate> own_constants = {};
  bool changes_others = false;  ///< Other kernels use constants that it changes.

  const Verdict& figures() const { return shape ? shape->figures : trial.figures(); }
  double speedup() const { return embedded ? embedded_gain(trial).speedup : figures().speedup(); }
  double low() const { return embedded ? embedded_gain(trial).low : figures().speedup_low(); }
  Candidate candidate() const;
  std::optional<Expression> where() const { return shape ? std::optional(shape->where) : std::nullopt; }
  double with_others(double gain) const { return others.empty() ? gain : equivalent_gain(gain, share, others); }
  /// The low end of its gain, other kernels' losses and the patch's own burden taken off: a further step, or constants
  /// of its own, count as 0.5 %, less precision or flags of a whole file, or other kernels' constants, as 3 %, and PTX
  /// as 5 %.
  double worth() const;
  /// "#7 (source: unroll the loop over k (by 4), 1.31x)"
  std::string label() const;
};

/// The patches that a candidate of the run can become and that promise a gain. A candidate that was only screened may
/// have others once it is confirmed.
std::vector<PatchVariant> variants_of(const tuner::RunTrial& trial, const RunOffer& offer);

}  // namespace kernelift::reintegrate
