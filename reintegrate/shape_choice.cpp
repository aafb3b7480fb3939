// See shape_choice.h. The bound is a recorded value of the launches that gain, so that launches between the two kinds,
// of which nothing is known, stay the original.
#include "reintegrate/shape_choice.h"

#include <algorithm>
#include <map>

namespace kernelift::reintegrate {
namespace {

using Op = Expression::Op;

/// What a launch can ask: the kernel's integer arguments, then the grid.
std::map<std::string, int64_t> askable_values(const Mep& mep, const MepInstance& instance) {
  std::map<std::string, int64_t> values;
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (auto value = mep.integer_argument(instance, p); value && !mep.parameters[p].name.empty())
      values[mep.parameters[p].name] = *value;
  for (int axis = 0; axis < 3; ++axis)
    values[std::string("gridDim.") + "xyz"[axis]] = along(instance.geometry.grid, axis);
  return values;
}

struct Bounds {
  int64_t low = 0, high = 0;
  bool any = false;
  void add(int64_t value) {
    low = any ? std::min(low, value) : value, high = any ? std::max(high, value) : value, any = true;
  }
};

}  // namespace

std::optional<ShapeChoice> shape_choice(const Mep& mep, const Verdict& figures) {
  if (!figures.ok() || figures.timings.size() < 2) return std::nullopt;
  std::vector<std::map<std::string, int64_t>> asked;
  for (auto& timing : figures.timings) {
    auto instance = std::ranges::find(mep.instances, timing.instance, &MepInstance::id);
    if (instance == mep.instances.end()) return std::nullopt;
    asked.push_back(askable_values(mep, *instance));
  }
  std::vector<std::string> names;
  for (auto& parameter : mep.parameters)
    if (asked[0].contains(parameter.name)) names.push_back(parameter.name);
  for (const char* axis : {"gridDim.x", "gridDim.y", "gridDim.z"}) names.emplace_back(axis);
  std::optional<ShapeChoice> best;
  for (auto& name : names) {
    Bounds gains, losses;
    for (size_t i = 0; i < asked.size(); ++i) {
      const Timing& timing = figures.timings[i];
      if (!asked[i].contains(name)) continue;
      if (timing.speedup_low > kSmallestGain) gains.add(asked[i].at(name));
      if (timing.speedup_high < 1) losses.add(asked[i].at(name));
    }
    if (!gains.any || !losses.any || (gains.low <= losses.high && gains.high >= losses.low)) continue;
    const bool large = gains.low > losses.high;
    const Expression holds = Expression::binary(large ? Op::GreaterEqual : Op::LessEqual, Expression::variable(name),
                                                Expression::constant(large ? gains.low : gains.high));
    ShapeChoice choice{holds, figures};
    for (size_t i = 0; i < asked.size(); ++i) {
      const bool tuned =
          asked[i].contains(name) && (large ? asked[i].at(name) >= gains.low : asked[i].at(name) <= gains.high);
      Timing& timing = choice.figures.timings[i];
      if (!tuned)
        timing.seconds = timing.baseline_seconds, timing.speedup = timing.speedup_low = timing.speedup_high = 1;
    }
    if (!best || choice.figures.speedup_low() > best->figures.speedup_low()) best = std::move(choice);
  }
  return best;
}

}  // namespace kernelift::reintegrate
