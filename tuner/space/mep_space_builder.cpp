// See mep_space_builder.h.
#include "tuner/space/mep_space_builder.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/kernel_key.h"
#include "core/model/knob/knob_text.h"
#include "core/model/launch_values.h"

namespace kernelift::tuner {
namespace {

constexpr int kReach = 3;            ///< Values are at most 2^3 times smaller or larger than the original.
constexpr int64_t kGridReserve = 4;  ///< Factor by which other runs may have larger grids than the recorded ones.
const char* const kBlockParameter[] = {"block_x", "block_y", "block_z"};
std::vector<int64_t> values_around(int64_t original) {
  constexpr int64_t kLargestSize = int64_t(1)
                                   << 30;  // Larger numbers are not sizes but multipliers of generators, masks …
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

MepSpace::Builder::Builder(const Mep& mep, const Candidate& parent, const Bindings& also)
    : mep_(mep), parent_(parent), also_(also), model_(LaunchModel::fit(mep, contradiction_)) {
  if (auto declared = TuneDeclarations::parse(parent.source); declared.ok()) declared_ = *std::move(declared);
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

std::vector<int64_t> MepSpace::Builder::values_of(const std::string& name, int64_t now) const {
  auto* declared = declared_.find(name);
  std::vector<int64_t> values = declared ? declared->values : values_around(now);
  values.push_back(now);
  if (auto wanted = also_.find(name); wanted != also_.end()) values.push_back(wanted->second);
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

bool MepSpace::Builder::sizes_own_launch(const std::string& name) const {
  auto uses = [&](const Expression& size) { return size.uses(name); };
  return std::ranges::any_of(parent_.launches, [&](auto& launch) {
    return std::ranges::any_of(launch.grid, uses) || std::ranges::any_of(launch.block, uses) || uses(launch.shared);
  });
}

bool MepSpace::Builder::is_parameter(const std::string& name) const {
  return std::ranges::find(parameters_, name, &Tunable::name) != parameters_.end();
}

bool MepSpace::Builder::in_launch_only(const Knob& knob) const {
  return !knob.in_kernel && !mentions_word(parent_.source, unqualified_name(knob.name));
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

bool MepSpace::Builder::is_extent(const Knob& knob) const {
  bool sizes = std::ranges::any_of(mep_.all_launches(),
                                   [&](auto* site) { return site->shared && site->shared->uses(knob.name); });
  for (int axis = 0; axis < 3; ++axis) {
    const auto &grid = model_->grid(axis), &block = model_->block(axis);
    auto divisor = model_->divisor(axis);
    sizes |=
        !grid || !block || block->uses(knob.name) || (grid->uses(knob.name) && (!divisor || divisor->uses(knob.name)));
  }
  return !sizes;
}

/// Rewritten texts and launches may no longer use a size of the application's: whatever its value, the candidate is the
/// same.
void MepSpace::Builder::leave_unused() {
  if (parent_.launches.empty()) return;  // They are the application's.
  const std::string text = blank_comments(parent_.source);
  for (auto& parameter : parameters_) {
    const std::string& name = parameter.name;
    const bool spelled = std::ranges::find(made_.knobs_, name) != made_.knobs_.end();
    std::set<std::string> sizes{name};  // The block's sizes that follow it.
    bool follows = made_.shared_ && made_.shared_->uses(name);
    bool grid_stays = false;  // It is computed otherwise than from the application's.
    for (auto& rule : made_.rules_) {
      if (!rule.expression.uses(name)) continue;
      follows = true;
      if (!rule.is_grid) sizes.insert(kBlockVariables[rule.axis]);
      else
        grid_stays |= std::ranges::any_of(parent_.launches, [&](auto& launch) {
          return !launch.grid[rule.axis].uses_any({kGridVariables[rule.axis], name});
        });
    }
    const bool in_text = spelled && whole_words(text, unqualified_name(name)).size() > 1,
               in_launch =
                   follows && !grid_stays &&
                   (sizes.size() == 1 || std::ranges::any_of(parent_.launches, [&](auto& launch) {
                      return std::ranges::any_of(launch.block, [&](auto& size) { return size.uses_any(sizes); });
                    }));
    if (in_text || in_launch || (declared_.find(name) && sizes_own_launch(name))) continue;
    parameter = make_parameter(name, {parameter.values[parameter.start]}, parameter.values[parameter.start]);
  }
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
    if (is_axis(kGridVariables, knob.name) || is_axis(kBlockVariables, knob.name) || knob.name == "shared") {
      leave(knob.name, "shares its name with the recorded geometry");
    } else if (!knob.in_kernel && !knob.in_geometry) {
      continue;
    } else if (!in_launch_only(knob) && !find_knob(parent_.source, knob.name, original_[knob.name])) {
      leave(knob.name, "its value is not spelled exactly once as an integer in the kernel's text");
    } else if (declared_.find(knob.name) && sizes_own_launch(knob.name)) {
      parameters_.push_back(
          make_parameter(knob.name, values_of(knob.name, original_[knob.name]), original_[knob.name]));
      if (!in_launch_only(knob)) made_.knobs_.push_back(knob.name);
    } else if (knob.in_geometry && !model_) {
      leave_block(knob.name, "how the grid follows it is not known: " + contradiction_);
    } else if (knob.in_geometry && is_extent(knob)) {
      leave(knob.name, "launches compute from it how many blocks there are, and not how large these are");
    } else if (knob.in_geometry && !scales_grid(knob)) {
      leave_block(knob.name,
                  "how the grid follows it is not clear from the launch; a grid of the form (n + B - 1) / B is");
    } else {
      if (knob.in_geometry) geometry_knobs_.insert(knob.name);
      parameters_.push_back(
          make_parameter(knob.name, values_of(knob.name, original_[knob.name]), original_[knob.name]));
      if (knob.grows_only) {
        keep_from(parameters_.back(), knob.value);
        leave(knob.name + " below " + std::to_string(knob.value),
              "an array of that extent may be filled further by data that was not recorded");
      }
      if (!in_launch_only(knob)) made_.knobs_.push_back(knob.name);
    }
  }
  add_new_constants();
}

/// Constants that an edit brought into the text; where it declares some, only those. What the application's launch
/// computes does not depend on them.
void MepSpace::Builder::add_new_constants() {
  auto is_any_of = [](auto& names, const std::string& name) {
    return std::ranges::find(names, name) != std::end(names);
  };
  Bindings constants = parent_.values;
  for (auto& parameter : declared_.parameters)
    if (auto value = defined_value(parent_.source, parameter.name)) constants.emplace(parameter.name, *value);
  for (auto& [name, value] : constants) {
    if (is_any_of(kGridVariables, name) || is_any_of(kBlockVariables, name) || is_any_of(kBlockParameter, name) ||
        name == kSharedVariable || (!declared_.parameters.empty() && !declared_.find(name)) ||
        std::ranges::find(mep_.knobs, name, &Knob::name) != mep_.knobs.end() || !find_knob(parent_.source, name, value))
      continue;
    original_[name] = value;
    parameters_.push_back(make_parameter(name, values_of(name, value), value));
    made_.knobs_.push_back(name);
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
    auto& recorded_grid = mep_.instances[i].geometry.grid;
    Bindings bound = knobs;
    bound["gx"] = recorded_grid.x, bound["gy"] = recorded_grid.y, bound["gz"] = recorded_grid.z;
    auto wanted = model_->grid_at(axis, i, knobs), got = grid.evaluate(bound);
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
        bool too_large = false;
        std::erase_if(parameter.values, [&](int64_t value) {
          Bindings knobs = original_;
          knobs[parameter.name] = value;
          if (value == original_[parameter.name]) return false;
          auto to = divisor->evaluate(knobs);
          if (!covers(grid, axis, knobs) || !to.ok() || *to <= 0) return true;
          const bool fits = fits_grid(grid, axis, knobs);
          too_large |= !fits;
          return !fits;
        });
        leave_values(parameter.name, parameter.values, too_large, axis);
        parameter = make_parameter(parameter.name, parameter.values, original_[parameter.name]);
      }
    }
    if (model_->block(axis) && model_->block(axis)->uses_any(geometry_knobs_))
      made_.rules_.push_back({false, axis, model_->block(axis)->substitute(fixed)});
  }
}

void MepSpace::Builder::leave_values(std::string name, const std::vector<int64_t>& tried, bool too_large, int axis) {
  if (!too_large) return;
  for (size_t i = 0; tried.size() > 1 && i < tried.size(); ++i)
    name += (i == 0 ? " other than " : ", ") + std::to_string(tried[i]);
  leave_block(name, "the grid could need more than " + std::to_string(kMostBlocks) + " blocks along " + "xyz"[axis]);
}

void MepSpace::Builder::add_block_shape() {
  // Only if no knob determines the block and the kernel reads its size at run time.
  if (!geometry_knobs_.empty()) return;
  if (!mentions_word(parent_.source, "blockDim")) {
    bool threads = std::any_of(mep_.instances.begin(), mep_.instances.end(),
                               [](auto& instance) { return instance.geometry.block.count() > 1; });
    if (threads && made_.blocks_left_alone_.empty())
      leave_block(
          "block size",
          "the kernel does not read it (blockDim), so its text may depend on the present size; a macro or constant "
          "that kernel and launch both use would be tuned");
    return;
  }
  const size_t told = made_.blocks_left_alone_.size();
  for (int axis = 0; axis < 3; ++axis) {
    bool readable = model_ && model_->grid(axis) && model_->block(axis);
    if (axis == 0 && !readable)
      return leave_block(
          "block size",
          (model_ ? "the launch does not say how the grid along x follows it" : contradiction_) +
              "; a launch is understood that spells grid and block as expressions of sizes and constants");
    if (readable ? add_block_axis(axis) : model_->block(axis) && model_->block(axis)->evaluate(recorded_).ok())
      continue;
    made_.blocks_left_alone_.resize(told);
    const bool several = std::ranges::any_of(mep_.instances, [&](auto& instance) {
      return along(instance.geometry.block, axis) != along(mep_.instances[0].geometry.block, axis);
    });
    leave_block("block size", several ? std::string("the recorded launches have several along ") + "xyz"[axis]
                                      : std::string("how many threads it has along ") + "xyz"[axis] +
                                            " is not known before the program runs; a constant would be");
    std::erase_if(made_.rules_, [](auto& rule) { return rule.of_shape; });
    std::erase_if(parameters_, [](auto& parameter) {
      return std::find(std::begin(kBlockParameter), std::end(kBlockParameter), parameter.name) !=
             std::end(kBlockParameter);
    });
    return;
  }
}

bool MepSpace::Builder::fits_grid(const Expression& grid, int axis, const Bindings& values) const {
  return axis == 0 || std::all_of(mep_.instances.begin(), mep_.instances.end(), [&](auto& instance) {
           auto &blocks = instance.geometry.grid, &threads = instance.geometry.block;
           Bindings bound = values;
           bound["gx"] = blocks.x, bound["gy"] = blocks.y, bound["gz"] = blocks.z;
           bound["bx"] = threads.x, bound["by"] = threads.y, bound["bz"] = threads.z;
           auto size = grid.evaluate(bound);
           return size.ok() && (*size <= along(blocks, axis) || *size * kGridReserve <= kMostBlocks);
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
    leave_block(size, "the grid (" + model_->grid(axis)->text() + ") is not divided by it (" + spelled.text() + ")");
    return constant;
  }
  std::string name = kBlockParameter[axis];
  // The recorded block stays a variable: the patched application may compute another one, and another launch of the
  // kernel may have another one.
  Expression grid = ceil_div(grid_variable(axis) * block_variable(axis), Expression::variable(name));
  if (divides) made_.rules_.push_back({true, axis, grid, true, constant});
  made_.rules_.push_back({false, axis, Expression::variable(name), true, constant});
  auto held = parent_.values.find(name);
  int64_t current = held == parent_.values.end() ? recorded_block : held->second;
  auto values = values_around(current);
  bool too_large = false;
  std::erase_if(values, [&](int64_t value) {
    if (value == current) return false;
    if (recorded_block <= 1 || value > kMostThreadsPerBlock) return true;
    const bool fits = !divides || fits_grid(grid, axis, {{name, value}});
    too_large |= !fits;
    return !fits;
  });
  leave_values(size, values, too_large, axis);
  parameters_.push_back(make_parameter(name, values, current));
  return true;
}

/// Drops sizes that no block can have: every axis is tried with the largest sizes of the axes before it that a block
/// can hold.
void MepSpace::Builder::limit_shape() {
  Bindings values = original_;
  for (auto& parameter : parameters_) values[parameter.name] = parameter.values[parameter.start];
  auto block_of = [&](const MepInstance& instance, const Bindings& tried) {
    Bindings bound = tried;
    Dim3 block = instance.geometry.block;
    bound["bx"] = block.x, bound["by"] = block.y, bound["bz"] = block.z;
    for (auto& rule : made_.rules_) {
      auto size = rule.is_grid ? Result<int64_t>(usage_error("a grid")) : rule.expression.evaluate(bound);
      if (size.ok() && *size > 0) along(block, rule.axis) = static_cast<uint32_t>(std::min(*size, kMostBlocks));
    }
    return block;
  };
  auto fits_block = [&](const Bindings& tried) {
    return std::all_of(mep_.instances.begin(), mep_.instances.end(),
                       [&](auto& instance) { return block_of(instance, tried).count() <= kMostThreadsPerBlock; });
  };
  std::vector<const Tunable*> before;
  for (auto& parameter : parameters_) {
    const bool shapes = std::any_of(made_.rules_.begin(), made_.rules_.end(),
                                    [&](auto& rule) { return !rule.is_grid && rule.expression.uses(parameter.name); });
    if (!shapes) continue;
    std::erase_if(parameter.values, [&](int64_t value) {
      if (value <= values[parameter.name]) return false;
      Bindings tried = values;
      tried[parameter.name] = value;
      for (auto* other : before)
        for (auto wide = other->values.rbegin(); wide != other->values.rend(); ++wide)
          if (tried[other->name] = *wide; fits_block(tried)) break;
      return !fits_block(tried);  // Too large with every size of the other axes.
    });
    parameter = make_parameter(parameter.name, parameter.values, values[parameter.name]);
    before.push_back(&parameter);
  }
}

void MepSpace::Builder::limit_threads() {
  // One limit per distinct recorded block.
  for (auto& instance : mep_.instances) {
    std::map<std::string, Expression> known, followed;
    for (auto& [name, value] : with_geometry(instance.geometry, with_arguments(mep_, instance, parent_.values)))
      if (!is_parameter(name)) known.emplace(name, Expression::constant(value));
    for (auto& rule : made_.rules_)
      if (!rule.is_grid) followed.emplace(kBlockVariables[rule.axis], rule.expression);
    CandidateLaunch launch =
        parent_.launches.empty() ? CandidateLaunch::as_recorded(mep_.kernel_name) : parent_.launches[0];
    for (auto& size : launch.block) size = size.substitute(followed).substitute(known);
    auto limit = Expression::binary(Expression::Op::LessEqual, launch.block[0] * launch.block[1] * launch.block[2],
                                    Expression::constant(kMostThreadsPerBlock));
    add_constraint(limit);
  }
}

void MepSpace::Builder::add_conditions() {
  for (auto& condition : declared_.conditions) add_constraint(condition.holds);
}

void MepSpace::Builder::add_constraint(const Expression& holds) {
  const auto names = holds.variables();
  const bool known =
      std::ranges::all_of(names, [&](auto& name) { return is_parameter(name) || original_.contains(name); });
  auto& all = made_.constraints_;
  if (!names.empty() && known && std::ranges::find(all, holds) == all.end()) all.push_back(holds);
}

MepSpace MepSpace::Builder::finish() {
  std::map<std::string, Expression> fixed;
  for (auto& parameter : parameters_)
    if (parameter.values.size() < 2) fixed[parameter.name] = Expression::constant(parameter.values[0]);
  std::erase_if(parameters_, [](auto& parameter) { return parameter.values.size() < 2; });
  fixed.merge(constants(original_));  // Also parameters that were dropped.
  for (auto& constraint : made_.constraints_) constraint = constraint.substitute(fixed);
  for (auto& rule : made_.rules_) rule.expression = rule.expression.substitute(fixed);
  if (made_.shared_) made_.shared_ = made_.shared_->substitute(fixed);
  auto space = Space::create(std::move(parameters_), made_.constraints_);
  KERNELIFT_ASSERT(space.ok(), "constraints contain parameters only");
  made_.space_ = std::move(*space);
  return std::move(made_);
}

}  // namespace kernelift::tuner
