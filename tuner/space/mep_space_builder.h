// Creates a MepSpace: see mep_space.h. For a site grid of the form `… / D(knobs)` the candidate's grid along the axis
// is ceil_div(g * D(original), D(new)), where g is the recorded extent, so it holds for every instance without
// knowledge of n. It must cover at least what the site itself would launch, which is checked numerically for every
// instance and value; other values are dropped. These expressions contain recorded numbers only where the source fixes
// them: a block that the application computes at run time stays `bx`, and an axis that does not change stays as it is.
// But if the block's shape changes along one axis, all of its axes whose size the source does not fix get the recorded
// size: another size along y, in another run, could give too many threads. In the same way a grid may become too large
// along y and z; that is a premise of the step.
#pragma once
#include <map>
#include <set>

#include "core/model/candidate/tune_declarations.h"
#include "core/model/launch/limits.h"
#include "tuner/space/launch_model.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {

inline constexpr int64_t kMostBlocks = kLargestGrid.y;  ///< Largest grid along y and z.

/// The steps of create(), in their order: the knobs decide which parts of the launch follow them; that decides whether
/// the block's shape is free; and then it is known how many threads a block can have.
class MepSpace::Builder {
 public:
  Builder(const Mep& mep, const Candidate& parent, const Bindings& also);
  void add_knobs();
  void add_new_constants();
  void follow_knobs();
  void add_block_shape();
  void limit_shape();
  void limit_threads();
  void add_conditions();
  void leave_unused();
  MepSpace finish();

 private:
  void leave(const std::string& name, const std::string& why) { made_.left_alone_.push_back(name + ": " + why); }
  void leave_block(const std::string& name, const std::string& why) {
    made_.blocks_left_alone_.push_back(name + ": " + why);
  }
  /// The values that are offered for a parameter that has this one now.
  std::vector<int64_t> values_of(const std::string& name, int64_t now) const;
  /// The launches that the parent brings compute a size from it.
  bool sizes_own_launch(const std::string& name) const;
  bool is_parameter(const std::string& name) const;
  /// Unless it names what is neither a parameter nor a knob.
  void add_constraint(const Expression& holds);
  /// Reports that only the values in `tried` are tried, if with others the grid was too large along the axis.
  void leave_values(std::string name, const std::vector<int64_t>& tried, bool too_large, int axis);
  /// Drops the parameter's values below `least`.
  void keep_from(Tunable& parameter, int64_t least) const;
  bool scales_grid(const Knob& knob) const;
  /// In the kernel's launch nothing is sized or divided by it. It is a size of the data, or another kernel's.
  bool is_extent(const Knob& knob) const;
  /// Only the launch in the application's text uses the knob; the kernel reads its block's size at run time.
  bool in_launch_only(const Knob& knob) const;
  /// For every recorded instance the grid is at least as large as the one that the site itself would launch.
  bool covers(const Expression& grid, int axis, const Bindings& knobs) const;
  /// The grid stays below its limit along y and z, also for runs that are larger than the recorded ones.
  bool fits_grid(const Expression& grid, int axis, const Bindings& values) const;
  /// False if neither the block's size along the axis nor its relation to the grid is known before the program runs.
  bool add_block_axis(int axis);
  /// Values of the knobs that are not parameters.
  std::map<std::string, Expression> constants(const Bindings& values) const;

  const Mep& mep_;
  const Candidate& parent_;
  const Bindings& also_;
  TuneDeclarations declared_;  ///< Of the parent's text; none if they cannot be read.
  std::string contradiction_;  ///< Why there is no model_.
  std::optional<LaunchModel> model_;
  Bindings original_;  ///< Values of the knobs in `parent`.
  Bindings recorded_;  ///< Values of the knobs in the MEP, to which the grid's expressions refer.
  MepSpace made_;
  std::vector<Tunable> parameters_;
  std::set<std::string> geometry_knobs_;  ///< Parameters that the launch follows.
};

}  // namespace kernelift::tuner
