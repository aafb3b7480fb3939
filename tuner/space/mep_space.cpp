// See mep_space.h and mep_space_builder.h.
#include "tuner/space/mep_space.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/knob/knob_text.h"
#include "core/model/knob/template_arguments.h"
#include "tuner/space/mep_space_builder.h"

namespace kernelift::tuner {

MepSpace MepSpace::create(const Mep& mep, const Candidate& parent, const Bindings& also) {
  Builder builder(mep, parent, also);
  builder.add_knobs();
  builder.follow_knobs();
  builder.add_block_shape();
  builder.limit_shape();
  builder.limit_threads();
  builder.add_conditions();
  builder.leave_unused();
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

Bindings MepSpace::known(const Bindings& values) const {
  Bindings found;
  for (auto& parameter : space_.parameters())
    if (auto value = values.find(parameter.name); value != values.end()) found.insert(*value);
  return found;
}

int64_t MepSpace::most_blocks(const Candidate& candidate, int axis) const {
  const Dim3 most{kMostBlocks, kMostBlocks, kMostBlocks};
  const Bindings bound = with_geometry({most, recorded_block_}, candidate.values);
  auto size =
      candidate.launches.empty() ? Result<int64_t>(kMostBlocks) : candidate.launches[0].grid[axis].evaluate(bound);
  return !size.ok() || *size <= kMostBlocks ? kMostBlocks : kMostBlocks * kMostBlocks / *size;
}

void MepSpace::scale_shared(CandidateLaunch& launch, const Bindings& values,
                            const std::map<std::string, Expression>& by) const {
  if (with_shared_.empty()) return;
  const Expression shared = Expression::variable(kSharedVariable);
  if (shared_) {
    for (auto& parameter : space_.parameters())
      if (launch.shared == shared && shared_->uses(parameter.name)) launch.shared = *shared_;
    if (launch.shared != shared) return;
  }
  // The same amount per thread; it is not reduced for fewer threads.
  bool grows = false;
  for (auto& recorded : with_shared_)
    if (auto made = launch.evaluate(recorded, values); made.ok()) grows |= made->block.count() > recorded.block.count();
  Expression now = shared;
  std::optional<Expression> before;
  for (int axis = 0; axis < 3; ++axis)
    if (auto changed = by.find(kBlockVariables[axis]); changed != by.end())
      now = now * changed->second, before = before ? *before * Expression::variable(kBlockVariables[axis])
                                                   : Expression::variable(kBlockVariables[axis]);
  if (grows && before) launch.shared = launch.shared.substitute({{"shared", ceil_div(now, *before)}});
}

void MepSpace::take_into_template(Candidate& candidate, Step& step) const {
  auto found = std::ranges::find(candidate.steps, Step::Origin::Template, &Step::origin);
  if (found == candidate.steps.end()) return;
  for (auto& [name, value] : found->parameters) {
    auto changed = step.parameters.find(name);
    if (changed == step.parameters.end()) continue;
    value = changed->second;
    step.parameters.erase(changed), step.replaced.erase(name);
  }
  name_threads(*found, candidate, recorded_block_);
}

void name_threads(Step& step, const Candidate& candidate, const Dim3& recorded_block) {
  if (candidate.launches.empty()) return;
  for (int axis = 0; axis < 3; ++axis) {
    const Expression& size = candidate.launches[0].block[axis];
    const std::string name = std::string("block.") + "xyz"[axis];
    auto threads = size.evaluate(with_geometry({{}, recorded_block}, candidate.values));
    if (threads.ok() && *threads != along(recorded_block, axis)) step.parameters[name] = *threads;
    else step.parameters.erase(name);
  }
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
    const std::string was = candidate.source.substr(range->begin, range->end - range->begin);
    candidate.source.replace(range->begin, was.size(), number_like(was, value));
  }
  if (candidate.launches.empty()) candidate.launches.push_back(CandidateLaunch::as_recorded(kernel_name_));
  for (auto& launch : candidate.launches)
    launch.kernel = instance_name(candidate.source, std::move(launch.kernel), step.parameters);
  // Axes that do not change stay as the application computes them. But if the block's shape changes, all of its axes
  // whose size the source does not fix are set.
  auto moves = [&](const AxisRule& rule) {
    for (size_t p = 0; p < point.size(); ++p)
      if (point[p] != space_.parameters()[p].start && rule.expression.uses(space_.parameters()[p].name)) return true;
    return false;
  };
  bool reshaped = std::any_of(rules_.begin(), rules_.end(), [&](auto& rule) { return rule.of_shape && moves(rule); });
  auto changes = [&](const AxisRule& rule) { return moves(rule) || (rule.of_shape && !rule.fixed && reshaped); };
  for (auto& launch : candidate.launches) {
    std::map<std::string, Expression> by;
    for (auto& rule : rules_)
      if (changes(rule)) by[rule.is_grid ? kGridVariables[rule.axis] : kBlockVariables[rule.axis]] = rule.expression;
    // A launch that contains these parameters already (of a parent of this tier) follows their values.
    for (int axis = 0; axis < 3; ++axis) {
      auto follow = [&](Expression& expression) {
        for (auto& parameter : space_.parameters())
          if (expression.uses(parameter.name)) return;
        expression = expression.substitute(by);
      };
      follow(launch.grid[axis]);
      follow(launch.block[axis]);
    }
    scale_shared(launch, candidate.values, by);
  }
  for (int axis : {1, 2})
    if (int64_t most = most_blocks(candidate, axis); most < kMostBlocks)
      step.premises.push_back(Premise::holds(
          Expression::binary(Expression::Op::LessEqual, Expression::variable(std::string("gridDim.") + "xyz"[axis]),
                             Expression::constant(most))));
  take_into_template(candidate, step);
  if (!step.parameters.empty() || !step.premises.empty()) candidate.add_step(std::move(step));
  candidate.tier = "params";
  return candidate;
}

}  // namespace kernelift::tuner
