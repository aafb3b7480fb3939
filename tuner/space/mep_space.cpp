// See mep_space.h. Grid scaling: for a site grid of the form `… / D(knobs)` the candidate's axis is
// ceil_div(g * D(original), D(new)), where g is the recorded axis, so it works for every instance without knowing n. It
// covers at least what the site itself would launch, which is checked numerically for every instance and value; a value
// for which it would launch less is dropped. Numbers of the record stand in these rules only where the source fixes
// them: a block that the application computes at run time stays `bx`, and an axis that is not turned stays as it is.
// But a block that is turned along one axis becomes the one that was verified along all whose size the source does not
// fix: another along y, in another run, would make too many threads of it. So may a grid become too large along y and
// z, which is said where it grows.
#include "tuner/space/mep_space.h"

#include <algorithm>
#include <set>

#include "core/model/launch/limits.h"
#include "core/model/launch/quotient.h"
#include "tuner/space/block_stride.h"
#include "tuner/space/knob_text.h"
#include "tuner/space/launch_model.h"
#include "tuner/space/shared_room.h"
#include "tuner/space/size_guard.h"

namespace kernelift {
namespace {

constexpr int kReach = 3;                        ///< Values up to 2^3 times smaller or larger than the original.
constexpr int64_t kMostBlocks = kLargestGrid.y;  ///< Along y and z …
constexpr int64_t kRoomForGrids = 4;             ///< … and how much larger than recorded they must be able to become.
const char* const kBlockParameter[] = {"block_x", "block_y", "block_z"};
/// What a user could do.
constexpr const char* kRoundUp =
    "; others are tried where each launch rounds its grid up, as (n + B - 1) / B with the block's own B, and n is a "
    "size that the kernel is given and guards its index by";

constexpr const char* kNoTurns =
    "the grid does not follow it, and fewer threads could leave work undone in a run that has more of it, more do some "
    "twice; others are "
    "tried where the kernel's threads take turns, as in for (i = threadIdx.x; i < n; i += blockDim.x)";

std::vector<int64_t> values_around(int64_t original) {
  constexpr int64_t kLargestSize = int64_t(1) << 30;  // Past it a number is no size: a generator's multiplier, a mask.
  if (original > kLargestSize || original < -kLargestSize) return {original};
  std::set<int64_t> values{original};
  bool power_of_two = original > 0 && (original & (original - 1)) == 0;
  for (int step = 1; step <= kReach; ++step) {
    if (original > 0 && original >> step) values.insert(original >> step);
    if (original > 0) values.insert(original << step);
    if (original > 0 && !power_of_two && (original * 3) % 2 == 0) values.insert(original * 3 / 2);
  }
  if (!power_of_two && original > 0)
    for (int64_t power = 1; power <= original << 1; power <<= 1)
      if (power >= original >> 1) values.insert(power);
  if (original == 0) values.insert(1);
  return {values.begin(), values.end()};
}

Tunable make_parameter(std::string name, std::vector<int64_t> values, int64_t original) {
  Tunable parameter{std::move(name), std::move(values)};
  parameter.start = std::find(parameter.values.begin(), parameter.values.end(), original) - parameter.values.begin();
  return parameter;
}

Expression grid_variable(int axis) { return Expression::variable(kGridVariables[axis]); }
Expression block_variable(int axis) { return Expression::variable(kBlockVariables[axis]); }

}  // namespace

/// The parts of create(), in their order: which knobs there are decides what of the launch follows them, that decides
/// whether the block's shape is free, and only then is known how many threads a block may come to have.
class MepSpace::Builder {
 public:
  Builder(const Mep& mep, const Candidate& parent)
      : mep_(mep), parent_(parent), model_(LaunchModel::fit(mep, contradiction_)) {
    made_.parent_ = parent, made_.kernel_name_ = mep.kernel_name;
    if (!mep.instances.empty()) made_.recorded_block_ = mep.instances[0].geometry.block;
    for (auto& instance : mep.instances)
      if (instance.geometry.shared_bytes > 0) made_.with_shared_.push_back(instance.geometry);
    made_.shared_ = shared_bytes_by_knobs(mep);
    for (auto& knob : mep.knobs) {
      auto found = parent.values.find(knob.name);
      original_[knob.name] = found == parent.values.end() ? knob.value : found->second;
      recorded_[knob.name] = knob.value;
    }
  }
  void add_knobs();
  void follow_knobs();
  void add_block_shape();
  void keep_room();
  void limit_threads();
  MepSpace finish();

 private:
  void leave(const std::string& name, const std::string& why) { made_.left_alone_.push_back(name + ": " + why); }
  void leave_block(const std::string& name, const std::string& why) {
    made_.blocks_left_alone_.push_back(name + ": " + why);
  }
  /// Some of its values, if there was an objection.
  void leave_values(std::string name, const std::vector<int64_t>& tried, const std::string& objection);
  /// None of its values below `least`.
  void keep_from(Tunable& parameter, int64_t least) const;
  bool scales_grid(const Knob& knob) const;
  /// The launch names it, in the application's text alone: the kernel asks for its block at run time.
  bool only_launches(const Knob& knob) const;
  /// The grid would be as large as the site itself makes it, or larger, on every recorded instance.
  bool covers(const Expression& grid, int axis, const Bindings& knobs) const;
  /// Unless every launch site follows the knob by itself, or rounds its grid up, or its blocks fall into whole ones of
  /// the new size: why one does not.
  std::string objection_of_sites(int axis, int64_t to, const std::string& knob) const;
  /// Threads past the size that the grid covers would work there: why, where the kernel's text says so.
  std::string objection_of_kernel(int axis) const;
  /// Why the axis may not be divided by `to` where it was by `from`; empty: it may.
  std::string objection(int axis, int64_t from, int64_t to, const Expression& grid, const Bindings& values,
                        const std::string& knob = {}) const;
  /// Of a grid that is always the same: as many threads as before, in as few groups of blocks as the parent made of
  /// them.
  bool stays_whole(int axis, int64_t from, int64_t to) const;
  /// Blocks whose number stays may have another size along the axis: whatever the sizes, all is done, and once. `knob`:
  /// their size's name.
  bool may_turn(int axis, const std::string& knob = {}) const;
  /// Along y and z there is a limit, and other runs are larger than the recorded ones.
  bool has_room(const Expression& grid, int axis, const Bindings& values) const;
  /// False where the block's size along the axis is not known before the program runs, nor how the grid follows it.
  bool add_block_axis(int axis);
  /// Knobs that are no parameters, by value.
  std::map<std::string, Expression> constants(const Bindings& values) const;

  const Mep& mep_;
  const Candidate& parent_;
  std::string contradiction_;  ///< Why there is no model.
  std::optional<LaunchModel> model_;
  Bindings original_, recorded_;  ///< Knobs as in `parent`; as in the MEP, from which the grid expressions count.
  MepSpace made_;
  std::vector<Tunable> parameters_;
  std::set<std::string> geometry_knobs_;  ///< Parameters that the launch follows.
};

bool MepSpace::Builder::only_launches(const Knob& knob) const {
  return !knob.in_kernel && !knob.value_range.file.empty() &&
         !mentions(parent_.source, knob.name.substr(knob.name.rfind(':') + 1));
}

bool MepSpace::Builder::scales_grid(const Knob& knob) const {
  for (int axis = 0; axis < 3; ++axis) {
    if (!model_->grid(axis) || !model_->block(axis)) return false;
    if (!model_->grid(axis)->uses(knob.name)) continue;
    auto divisor = model_->divisor(axis);
    if (!divisor || !divisor->evaluate(recorded_).ok()) return false;
  }
  return true;
}

void MepSpace::Builder::keep_from(Tunable& parameter, int64_t least) const {
  std::erase_if(parameter.values, [&](int64_t value) { return value < least; });
  parameter = make_parameter(parameter.name, parameter.values, original_.at(parameter.name));
}

void MepSpace::Builder::add_knobs() {
  auto is_axis = [](auto& names, const std::string& name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  for (auto& knob : mep_.knobs) {
    if (is_axis(kGridVariables, knob.name) || is_axis(kBlockVariables, knob.name) || knob.name == kSharedVariable) {
      leave(knob.name, "shares its name with the recorded geometry");
    } else if (!knob.in_kernel && !knob.in_geometry) {
      continue;
    } else if (!only_launches(knob) && !find_knob(parent_.source, knob.name, original_[knob.name])) {
      leave(knob.name, "its value is not spelled exactly once as an integer in the kernel's text");
    } else if (knob.in_geometry && !model_) {
      leave_block(knob.name, "how the grid follows it is not known: " + contradiction_);
    } else if (knob.in_geometry && !scales_grid(knob)) {
      leave_block(knob.name,
                  "how the grid follows it is not clear from the launch; a grid of the form (n + B - 1) / B is");
    } else {
      if (knob.in_geometry) geometry_knobs_.insert(knob.name);
      parameters_.push_back(make_parameter(knob.name, values_around(original_[knob.name]), original_[knob.name]));
      if (knob.grows_only) {
        keep_from(parameters_.back(), knob.value);
        leave(knob.name + " below " + std::to_string(knob.value),
              "an array of that extent may be filled further by data that was not recorded");
      }
      if (knob.divides_only) {
        std::erase_if(parameters_.back().values, [&](int64_t value) { return value <= 0 || knob.value % value != 0; });
        parameters_.back() = make_parameter(knob.name, parameters_.back().values, original_[knob.name]);
        leave(knob.name + " other than divisors of " + std::to_string(knob.value),
              "the kernel deals out whole chunks of it and does not ask of each element whether there is one, so sizes "
              "may have to be multiples of it");
      }
      if (!only_launches(knob)) made_.knobs_.push_back(knob.name);
    }
  }
}

std::map<std::string, Expression> MepSpace::Builder::constants(const Bindings& values) const {
  std::map<std::string, Expression> fixed;
  for (auto& knob : mep_.knobs)
    if (std::none_of(parameters_.begin(), parameters_.end(), [&](auto& p) { return p.name == knob.name; }))
      fixed[knob.name] = Expression::constant(values.at(knob.name));
  return fixed;
}

bool MepSpace::Builder::covers(const Expression& grid, int axis, const Bindings& knobs) const {
  for (size_t i = 0; i < mep_.instances.size(); ++i) {
    auto wanted = model_->grid_at(axis, i, knobs),
         got = grid.evaluate(with_geometry(mep_.instances[i].geometry, knobs));
    if (!wanted.ok() || !got.ok() || *got < *wanted) return false;
  }
  return true;
}

void MepSpace::Builder::follow_knobs() {
  auto fixed = constants(recorded_);
  for (int axis = 0; model_ && axis < 3; ++axis) {
    if (model_->grid(axis) && model_->grid(axis)->uses_any(geometry_knobs_)) {
      auto divisor = model_->divisor(axis);
      Expression grid = ceil_div(grid_variable(axis) * Expression::constant(*divisor->evaluate(recorded_)),
                                 divisor->substitute(fixed));
      made_.rules_.push_back({true, axis, grid});
      for (auto& parameter : parameters_) {
        if (!model_->grid(axis)->uses(parameter.name)) continue;
        std::string objected;
        std::erase_if(parameter.values, [&](int64_t value) {
          Bindings knobs = original_;
          knobs[parameter.name] = value;
          if (value == original_[parameter.name]) return false;
          auto from = divisor->evaluate(original_), to = divisor->evaluate(knobs);
          if (!covers(grid, axis, knobs) || !from.ok() || !to.ok() || *to <= 0) return true;
          std::string why = objection(axis, *from, *to, grid, knobs, parameter.name);
          if (objected.empty()) objected = why;
          return !why.empty();
        });
        leave_values(parameter.name, parameter.values, objected);
        parameter = make_parameter(parameter.name, parameter.values, original_[parameter.name]);
      }
    }
    for (auto& parameter : parameters_) {
      if (!model_->block(axis) || !model_->block(axis)->uses(parameter.name)) continue;
      if ((model_->grid(axis) && model_->grid(axis)->uses(parameter.name)) || may_turn(axis, parameter.name)) continue;
      parameter = make_parameter(parameter.name, {original_[parameter.name]}, original_[parameter.name]);
      leave_block(parameter.name, kNoTurns);
    }
    if (model_->block(axis) && model_->block(axis)->uses_any(geometry_knobs_))
      made_.rules_.push_back({false, axis, model_->block(axis)->substitute(fixed)});
  }
}

void MepSpace::Builder::leave_values(std::string name, const std::vector<int64_t>& tried,
                                     const std::string& objection) {
  if (objection.empty()) return;
  for (size_t i = 0; tried.size() > 1 && i < tried.size(); ++i)
    name += (i == 0 ? " other than " : ", ") + std::to_string(tried[i]);
  leave_block(name, objection);
}

void MepSpace::Builder::add_block_shape() {
  // Only where no knob feeds the block and the kernel asks for its size at run time.
  if (!geometry_knobs_.empty()) return;
  if (!mentions(parent_.source, "blockDim")) {
    bool threads = std::any_of(mep_.instances.begin(), mep_.instances.end(),
                               [](auto& instance) { return instance.geometry.block.count() > 1; });
    if (threads && made_.blocks_left_alone_.empty())
      leave_block("block size",
                  "the kernel does not ask for it (blockDim), so that its text may count on the one it has; a macro or "
                  "constant that "
                  "kernel and launch both use would be tuned");
    return;
  }
  const size_t told = made_.blocks_left_alone_.size();
  for (int axis = 0; axis < 3; ++axis) {
    bool readable = model_ && model_->grid(axis) && model_->block(axis);
    if (axis == 0 && !readable)
      return leave_block("block size",
                         (model_ ? "the launch does not say how the grid along x follows it" : contradiction_) +
                             "; a launch whose grid and block are expressions of sizes and constants is understood");
    if (readable ? add_block_axis(axis) : model_->block(axis) && model_->block(axis)->evaluate(recorded_).ok())
      continue;
    made_.blocks_left_alone_.resize(told);
    leave_block("block size", std::string("how many threads it has along ") + "xyz"[axis] +
                                  " is not known before the program runs; a constant would be");
    std::erase_if(made_.rules_, [](auto& rule) { return rule.of_shape; });
    std::erase_if(parameters_, [](auto& parameter) {
      return std::find(std::begin(kBlockParameter), std::end(kBlockParameter), parameter.name) !=
             std::end(kBlockParameter);
    });
    return;
  }
}

std::string MepSpace::Builder::objection_of_sites(int axis, int64_t to, const std::string& knob) const {
  for (auto* site : mep_.all_launches()) {
    auto &grid = site->grid[axis], &block = site->block[axis];
    if (grid && grid->uses(knob)) continue;
    auto size = block ? block->evaluate(recorded_) : Result<int64_t>(usage_error("not known"));
    if (size.ok() && *size % to == 0) continue;
    if (std::string why = why_not_rounded_up(mep_, *site, axis); !why.empty()) return why;
  }
  return {};
}

std::string MepSpace::Builder::objection_of_kernel(int axis) const {
  for (auto* site : mep_.all_launches()) {
    auto& grid = site->grid[axis];
    std::set<std::string> sizes;
    bool told = false;
    for (size_t p = 0; grid && p < mep_.parameters.size() && p < site->argument_text.size(); ++p)
      for (auto& variable : grid->variables())
        told |=
            !recorded_.contains(variable) && mentions(site->argument_text[p], variable.substr(0, variable.find('.')));
    for (size_t p : covered_parameters(mep_, *site, axis))
      if (p < mep_.parameters.size()) sizes.insert(mep_.parameters[p].name);
    if ((told && sizes.empty()) || lacks_guard(parent_.source, sizes, axis))
      return "the kernel does not compare its index with the size that the grid covers (" + grid->text() + ")";
  }
  return {};
}

/// What the kernel's text calls the block's size.
static std::set<std::string> size_names(int axis, const std::string& knob) {
  std::set<std::string> sizes{std::string("blockDim.") + "xyz"[axis]};
  if (!knob.empty()) sizes.insert(knob.substr(knob.rfind(':') + 1));
  return sizes;
}

std::string MepSpace::Builder::objection(int axis, int64_t from, int64_t to, const Expression& grid,
                                         const Bindings& values, const std::string& knob) const {
  std::string why = objection_of_sites(axis, to, knob);
  if (why.empty() && !model_->may_divide_by(axis, from, to))
    why = "the launch does not round its grid up (" + model_->grid(axis)->text() + ")";
  if (why.empty() && from % to != 0) why = objection_of_kernel(axis);
  if (why.empty() && !covered_sizes(mep_, axis) && !stays_whole(axis, from, to))
    return "there are always as many blocks, and threads behind them would do what is another launch's to do";
  if (why.empty() && from % to != 0 &&
      has_unasked_chunks(parent_.source, size_names(axis, knob), std::string("threadIdx.") + "xyz"[axis]))
    return "its threads go through memory a block's size at a time, and none asks for its element there, so sizes may "
           "have to be multiples of it";
  if (why.empty() && to < from &&
      !elements_follow_block(parent_.source, size_names(axis, knob), std::string("threadIdx.") + "xyz"[axis]))
    return "elements of some array are a thread's by its number alone, and fewer threads would leave some of them "
           "alone";
  if (!why.empty()) return why + kRoundUp;
  return has_room(grid, axis, values)
             ? ""
             : "the grid could need more than " + std::to_string(kMostBlocks) + " blocks along " + "xyz"[axis];
}

bool MepSpace::Builder::stays_whole(int axis, int64_t from, int64_t to) const {
  return std::all_of(mep_.instances.begin(), mep_.instances.end(), [&](auto& instance) {
    const int64_t blocks = along(instance.geometry.grid, axis);
    auto launched = parent_.launches.empty() ? Result<Geometry>(instance.geometry)
                                             : parent_.launches[0].evaluate(instance.geometry, original_);
    const int64_t groups = launched.ok() ? std::max<int64_t>(along(launched->grid, axis), 1) : blocks;
    return blocks * from % to == 0 && (groups >= blocks || (blocks * from / to) % (blocks / groups) == 0);
  });
}

bool MepSpace::Builder::may_turn(int axis, const std::string& knob) const {
  return takes_turns(parent_.source, size_names(axis, knob), std::string("threadIdx.") + "xyz"[axis]);
}

bool MepSpace::Builder::has_room(const Expression& grid, int axis, const Bindings& values) const {
  return axis == 0 || std::all_of(mep_.instances.begin(), mep_.instances.end(), [&](auto& instance) {
           auto size = grid.evaluate(with_geometry(instance.geometry, values));
           return size.ok() && (*size <= along(instance.geometry.grid, axis) || *size * kRoomForGrids <= kMostBlocks);
         });
}

bool MepSpace::Builder::add_block_axis(int axis) {
  bool constant = model_->block(axis)->evaluate(recorded_).ok();
  int64_t recorded_block = 0;
  for (auto& instance : mep_.instances) {
    int64_t here = along(instance.geometry.block, axis);
    if (recorded_block && recorded_block != here) return constant;
    recorded_block = here;
  }
  if (recorded_block <= 1 && constant) return true;
  const Expression& spelled = *model_->block(axis);
  bool simple = spelled.operands().empty();
  auto divisor = model_->divisor(axis);
  bool divides =
      divisor && (*divisor == spelled || (divisor->variables().empty() && *divisor->evaluate({}) == recorded_block));
  bool independent = model_->grid(axis)->variables().empty() ||
                     (!divisor && !(spelled.as_variable() && model_->grid(axis)->uses(*spelled.as_variable())));
  const std::string size = std::string("block size along ") + "xyz"[axis];
  if (!simple || (!divides && !independent)) {
    leave_block(
        size, "the grid (" + model_->grid(axis)->text() + ") is not divided by it (" + spelled.text() + ")" + kRoundUp);
    return constant;
  }
  if (!divides && !may_turn(axis)) {
    leave_block(size, kNoTurns);
    return constant;
  }
  std::string name = kBlockParameter[axis];
  // The block by its name: what the application computes may be another one when the patch is in, and another launch of
  // the kernel may have another number.
  Expression grid = ceil_div(grid_variable(axis) * block_variable(axis), Expression::variable(name));
  if (divides) made_.rules_.push_back({true, axis, grid, true, constant});
  made_.rules_.push_back({false, axis, Expression::variable(name), true, constant});
  auto held = parent_.values.find(name);
  int64_t current = held == parent_.values.end() ? recorded_block : held->second;
  auto values = values_around(current);
  std::string objected;
  std::erase_if(values, [&](int64_t value) {
    if (value == current) return false;
    if (recorded_block <= 1 || value > kMostThreadsPerBlock) return true;
    std::string why = divides ? objection(axis, recorded_block, value, grid, {{name, value}}) : "";
    if (objected.empty()) objected = why;
    return !why.empty();
  });
  leave_values(size, values, objected);
  parameters_.push_back(make_parameter(name, values, current));
  return true;
}

/// Axes grow one after the other, each beside the largest that those before it may become and a block may hold.
void MepSpace::Builder::keep_room() {
  Bindings values = original_;
  for (auto& parameter : parameters_) values[parameter.name] = parameter.values[parameter.start];
  auto block_of = [&](const MepInstance& instance, const Bindings& tried) {
    const Bindings bound = with_geometry(instance.geometry, tried);
    Dim3 block = instance.geometry.block;
    for (auto& rule : made_.rules_) {
      auto size = rule.is_grid ? Result<int64_t>(usage_error("a grid")) : rule.expression.evaluate(bound);
      if (size.ok() && *size > 0) along(block, rule.axis) = static_cast<uint32_t>(std::min(*size, kMostBlocks));
    }
    return block;
  };
  auto is_held = [&](const Bindings& tried) {
    return std::all_of(mep_.instances.begin(), mep_.instances.end(),
                       [&](auto& instance) { return block_of(instance, tried).count() <= kMostThreadsPerBlock; });
  };
  auto array_without = [&](const Bindings& tried) -> std::string {
    Bindings knobs;
    for (auto& [knob, number] : tried) knobs[knob.substr(knob.rfind(':') + 1)] = number;
    for (auto& instance : mep_.instances)
      if (std::string array = shared_without_room(parent_.source, knobs, block_of(instance, tried)); !array.empty())
        return array;
    return {};
  };
  std::vector<const Tunable*> before;
  for (auto& parameter : parameters_) {
    const bool shapes = std::any_of(made_.rules_.begin(), made_.rules_.end(),
                                    [&](auto& rule) { return !rule.is_grid && rule.expression.uses(parameter.name); });
    if (!shapes) continue;
    std::string small;
    std::erase_if(parameter.values, [&](int64_t value) {
      if (value <= values[parameter.name]) return false;
      Bindings tried = values;
      tried[parameter.name] = value;
      for (auto* other : before)
        for (auto wide = other->values.rbegin(); wide != other->values.rend(); ++wide)
          if (tried[other->name] = *wide; is_held(tried)) break;
      if (!is_held(tried)) return true;  // Beside none of the others' sizes.
      std::string array = array_without(tried);
      if (small.empty()) small = array;
      return !array.empty();
    });
    if (!small.empty())
      leave_values(parameter.name, parameter.values,
                   "its threads share " + small +
                       ", which has no room for what more of them would put there; an extent that follows the block's "
                       "size would have");
    parameter = make_parameter(parameter.name, parameter.values, values[parameter.name]);
    before.push_back(&parameter);
  }
}

void MepSpace::Builder::limit_threads() {
  // One limit per distinct recorded block.
  for (auto& instance : mep_.instances) {
    Expression sizes[3];
    bool varies = false;
    for (int axis = 0; axis < 3; ++axis) {
      sizes[axis] = Expression::constant(along(instance.geometry.block, axis));
      for (auto& rule : made_.rules_)
        if (!rule.is_grid && rule.axis == axis) sizes[axis] = rule.expression, varies = true;
    }
    auto limit = Expression::binary(Expression::Op::LessEqual, sizes[0] * sizes[1] * sizes[2],
                                    Expression::constant(kMostThreadsPerBlock));
    auto& all = made_.constraints_;
    if (varies && std::find(all.begin(), all.end(), limit) == all.end()) all.push_back(limit);
  }
}

MepSpace MepSpace::Builder::finish() {
  std::map<std::string, Expression> fixed;
  for (auto& parameter : parameters_)
    if (parameter.values.size() < 2) fixed[parameter.name] = Expression::constant(parameter.values[0]);
  std::erase_if(parameters_, [](auto& parameter) { return parameter.values.size() < 2; });
  fixed.merge(constants(original_));  // Those that fell away too.
  for (auto& constraint : made_.constraints_) constraint = constraint.substitute(fixed);
  for (auto& rule : made_.rules_) rule.expression = rule.expression.substitute(fixed);
  if (made_.shared_) made_.shared_ = made_.shared_->substitute(fixed);
  auto space = Space::create(std::move(parameters_), made_.constraints_);
  KERNELIFT_ASSERT(space.ok(), "constraints speak of parameters only");
  made_.space_ = std::move(*space);
  return std::move(made_);
}

MepSpace MepSpace::create(const Mep& mep, const Candidate& parent) {
  Builder builder(mep, parent);
  builder.add_knobs();
  builder.follow_knobs();
  builder.add_block_shape();
  builder.keep_room();
  builder.limit_threads();
  return builder.finish();
}

MepSpace MepSpace::without(size_t index) const {
  MepSpace result = *this;
  auto parameters = space_.parameters();
  auto& frozen = parameters[index];
  frozen.values = {frozen.values[frozen.start]}, frozen.start = 0;
  result.space_ = *Space::create(parameters, constraints_);
  return result;
}

std::optional<Point> MepSpace::point_at(const Bindings& values) const {
  Point point;
  size_t named = 0;
  for (auto& parameter : space_.parameters()) {
    auto wanted = values.find(parameter.name);
    named += wanted != values.end();
    auto at = wanted == values.end() ? parameter.values.begin() + static_cast<ptrdiff_t>(parameter.start)
                                     : std::find(parameter.values.begin(), parameter.values.end(), wanted->second);
    if (at == parameter.values.end()) return std::nullopt;
    point.push_back(static_cast<uint16_t>(at - parameter.values.begin()));
  }
  if (named < values.size() || !space_.valid(point)) return std::nullopt;
  return point;
}

int64_t MepSpace::most_blocks(const Candidate& candidate, int axis) const {
  const Dim3 most{kMostBlocks, kMostBlocks, kMostBlocks};
  const Bindings bound = with_geometry({most, recorded_block_}, candidate.values);
  auto size =
      candidate.launches.empty() ? Result<int64_t>(kMostBlocks) : candidate.launches[0].grid[axis].evaluate(bound);
  return !size.ok() || *size <= kMostBlocks ? kMostBlocks : kMostBlocks * kMostBlocks / *size;
}

void MepSpace::give_room(CandidateLaunch& launch, const Bindings& values,
                         const std::map<std::string, Expression>& by) const {
  if (with_shared_.empty()) return;
  const Expression shared = Expression::variable(kSharedVariable);
  if (shared_) {
    for (auto& parameter : space_.parameters())
      if (launch.shared == shared && shared_->uses(parameter.name)) launch.shared = *shared_;
    if (launch.shared != shared) return;
  }
  // As much for each thread: fewer of them leave some unused.
  bool grows = false;
  for (auto& recorded : with_shared_)
    if (auto made = launch.evaluate(recorded, values); made.ok()) grows |= made->block.count() > recorded.block.count();
  Expression now = shared;
  std::optional<Expression> before;
  for (int axis = 0; axis < 3; ++axis)
    if (auto turned = by.find(kBlockVariables[axis]); turned != by.end())
      now = now * turned->second, before = before ? *before * block_variable(axis) : block_variable(axis);
  if (grows && before) launch.shared = launch.shared.substitute({{kSharedVariable, ceil_div(now, *before)}});
}

Candidate MepSpace::materialise(const Point& point) const {
  Candidate candidate = parent_;
  bool original = true;
  for (size_t p = 0; p < point.size(); ++p) original = original && point[p] == space_.parameters()[p].start;
  if (original) return candidate;
  Step step{.origin = Step::Origin::Knob};
  for (size_t p = 0; p < point.size(); ++p) {
    auto& parameter = space_.parameters()[p];
    int64_t value = parameter.values[point[p]], before = parameter.values[parameter.start];
    candidate.values[parameter.name] = value;
    if (value == before) continue;
    step.parameters[parameter.name] = value, step.replaced[parameter.name] = before;
    if (std::find(knobs_.begin(), knobs_.end(), parameter.name) == knobs_.end()) continue;
    auto range = find_knob(candidate.source, parameter.name, before);
    KERNELIFT_ASSERT(range, "create() found the knob in this text");
    candidate.source.replace(range->begin, range->end - range->begin, std::to_string(value));
  }
  if (candidate.launches.empty()) candidate.launches.push_back(CandidateLaunch::as_recorded(kernel_name_));
  // Axes that nothing turned stay what the application makes of them, whatever was recorded; but of a block's shape all
  // that it may make something else of.
  auto moves = [&](const AxisRule& rule) {
    for (size_t p = 0; p < point.size(); ++p)
      if (point[p] != space_.parameters()[p].start && rule.expression.uses(space_.parameters()[p].name)) return true;
    return false;
  };
  bool reshaped = std::any_of(rules_.begin(), rules_.end(), [&](auto& rule) { return rule.of_shape && moves(rule); });
  auto turned = [&](const AxisRule& rule) { return moves(rule) || (rule.of_shape && !rule.fixed && reshaped); };
  for (auto& launch : candidate.launches) {
    std::map<std::string, Expression> by;
    for (auto& rule : rules_)
      if (turned(rule)) by[rule.is_grid ? kGridVariables[rule.axis] : kBlockVariables[rule.axis]] = rule.expression;
    // A launch that already speaks of these parameters (a parent of this tier) follows by its values alone.
    for (int axis = 0; axis < 3; ++axis) {
      auto follow = [&](Expression& expression) {
        for (auto& parameter : space_.parameters())
          if (expression.uses(parameter.name)) return;
        expression = expression.substitute(by);
      };
      follow(launch.grid[axis]);
      follow(launch.block[axis]);
    }
    give_room(launch, candidate.values, by);
  }
  for (int axis : {1, 2})
    if (int64_t most = most_blocks(candidate, axis); most < kMostBlocks)
      step.premises.push_back(
          {"the application never has more than " + std::to_string(most) + " blocks along " + "xyz"[axis]});
  candidate.add_step(std::move(step));
  candidate.tier = "params";
  return candidate;
}

}  // namespace kernelift
