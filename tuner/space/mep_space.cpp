// See mep_space.h. Grid scaling: for a site grid of the form `… / D(knobs)` the candidate's axis is
// ceil_div(g * D(original), D(new)), where g is the recorded axis, so it works for every instance without knowing n. It
// covers at least what the site itself would launch, which is checked numerically for every instance and value; a value
// for which it would launch less is dropped.
#include "tuner/space/mep_space.h"

#include <algorithm>
#include <set>

#include "tuner/space/knob_text.h"
#include "tuner/space/launch_model.h"

namespace kernelift {
namespace {

constexpr int kReach = 3;                   ///< Values up to 2^3 times smaller or larger than the original.
constexpr int64_t kLargestBlock = 1024;     ///< Threads of a block on every CUDA and HIP device.
const char* const kGrid[] = {"gx", "gy", "gz"};
const char* const kBlock[] = {"bx", "by", "bz"};
const char* const kBlockParameter[] = {"block_x", "block_y", "block_z"};

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

/// `text` with whole identifiers replaced.
Expression substitute(const Expression& expression, const std::map<std::string, std::string>& by) {
  std::string text = expression.text(), out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' ||
                                 text[end] == '.' || text[end] == ':'))
      ++end;
    // `?:` shares its colon with qualified names; a name never starts or ends with one.
    while (end > at && text[end - 1] == ':') --end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    std::string word = text.substr(at, end - at);
    auto found = by.find(word);
    out += found == by.end() ? word : "(" + found->second + ")";
    at = end;
  }
  return *Expression::parse(out);
}

bool any_of(const std::set<std::string>& names, const std::set<std::string>& wanted) {
  return std::any_of(names.begin(), names.end(), [&](auto& name) { return wanted.contains(name); });
}

}  // namespace

MepSpace MepSpace::create(const Mep& mep, const Candidate& parent) {
  MepSpace result;
  result.parent_ = parent;
  result.kernel_name_ = mep.kernel_name;
  std::vector<Tunable> parameters;
  std::vector<Expression> constraints;
  auto leave = [&](const std::string& name, const std::string& why) { result.left_alone_.push_back(name + ": " + why); };
  std::string contradiction;
  auto model = LaunchModel::fit(mep, contradiction);

  Bindings original;
  for (auto& knob : mep.knobs) {
    auto found = parent.values.find(knob.name);
    original[knob.name] = found == parent.values.end() ? knob.value : found->second;
  }
  // The grid expressions count from the record, which was made with the MEP's own values.
  Bindings recorded;
  for (auto& knob : mep.knobs) recorded[knob.name] = knob.value;

  std::set<std::string> geometry_knobs;
  for (auto& knob : mep.knobs) {
    if (std::any_of(std::begin(kGrid), std::end(kGrid), [&](auto* g) { return knob.name == g; }) ||
        std::any_of(std::begin(kBlock), std::end(kBlock), [&](auto* b) { return knob.name == b; }) || knob.name == "shared") {
      leave(knob.name, "shares its name with the recorded geometry");
      continue;
    }
    if (!knob.in_kernel && !knob.in_geometry) continue;
    if (!find_knob(parent.source, knob.name, original[knob.name])) {
      leave(knob.name, "its value is not spelled exactly once as an integer in the kernel's text");
      continue;
    }
    auto values = values_around(original[knob.name]);
    if (knob.in_geometry) {
      if (!model) {
        leave(knob.name, "how the grid follows it is not known: " + contradiction);
        continue;
      }
      bool known = true;
      for (int axis = 0; axis < 3; ++axis) {
        if (!model->grid(axis) || !model->block(axis)) {
          known = false;
        } else if (model->grid(axis)->variables().contains(knob.name)) {
          auto divisor = model->divisor(axis);
          known = known && divisor && divisor->evaluate(recorded).ok();
        }
      }
      if (!known) {
        leave(knob.name, "how the grid follows it is not clear from the launch site");
        continue;
      }
      geometry_knobs.insert(knob.name);
    }
    parameters.push_back(make_parameter(knob.name, std::move(values), original[knob.name]));
    result.knobs_.push_back(knob.name);
  }

  // Grid and block axes that depend on a knob that is now a parameter.
  std::map<std::string, std::string> fixed;  // Knobs that are not parameters stand for their value.
  for (auto& knob : mep.knobs)
    if (std::none_of(parameters.begin(), parameters.end(), [&](auto& p) { return p.name == knob.name; }))
      fixed[knob.name] = std::to_string(knob.value);
  for (int axis = 0; model && axis < 3; ++axis) {
    if (model->grid(axis) && any_of(model->grid(axis)->variables(), geometry_knobs)) {
      auto divisor = model->divisor(axis);
      Expression grid = *Expression::parse("ceil_div(" + std::string(kGrid[axis]) + " * " +
                                           std::to_string(*divisor->evaluate(recorded)) + ", " +
                                           substitute(*divisor, fixed).text() + ")");
      result.rules_.push_back({true, axis, grid});
      for (auto& parameter : parameters) {
        if (!model->grid(axis)->variables().contains(parameter.name)) continue;
        std::erase_if(parameter.values, [&](int64_t value) {
          if (value == original[parameter.name]) return false;
          Bindings knobs = original;
          knobs[parameter.name] = value;
          for (size_t i = 0; i < mep.instances.size(); ++i) {
            auto& recorded_grid = mep.instances[i].geometry.grid;
            Bindings bound = knobs;
            bound["gx"] = recorded_grid.x, bound["gy"] = recorded_grid.y, bound["gz"] = recorded_grid.z;
            auto wanted = model->grid_at(axis, i, knobs), got = grid.evaluate(bound);
            if (!wanted.ok() || !got.ok() || *got < *wanted) return true;
          }
          return false;
        });
        parameter = make_parameter(parameter.name, parameter.values, original[parameter.name]);
      }
    }
    if (model->block(axis) && any_of(model->block(axis)->variables(), geometry_knobs))
      result.rules_.push_back({false, axis, substitute(*model->block(axis), fixed)});
  }

  // The block size itself, where no knob feeds it and the kernel asks for it at run time.
  bool kernel_asks = mentions(parent.source, "blockDim");
  for (int axis = 0; axis < 3 && kernel_asks && geometry_knobs.empty(); ++axis) {
    if (!model || !model->grid(axis) || !model->block(axis)) {
      if (axis == 0) leave("block size", "the launch site's expressions do not say how the grid follows it");
      break;
    }
    int64_t recorded_block = 0;
    bool uniform = true;
    for (auto& instance : mep.instances) {
      auto& block = instance.geometry.block;
      int64_t here = axis == 0 ? block.x : axis == 1 ? block.y : block.z;
      uniform = uniform && (!recorded_block || recorded_block == here);
      recorded_block = here;
    }
    if (!uniform || recorded_block <= 1) continue;
    std::string spelled = model->block(axis)->text();
    bool simple = spelled.find_first_of(" (") == spelled.npos;
    auto divisor = model->divisor(axis);
    bool divides = divisor && (divisor->text() == spelled ||
                               (divisor->variables().empty() && *divisor->evaluate({}) == recorded_block));
    bool independent = model->grid(axis)->variables().empty() ||
                       (!divisor && !model->grid(axis)->variables().contains(spelled));
    if (!simple || (!divides && !independent)) continue;
    std::string name = kBlockParameter[axis];
    if (divides)
      result.rules_.push_back({true, axis, *Expression::parse("ceil_div(" + std::string(kGrid[axis]) + " * " +
                                                              std::to_string(recorded_block) + ", " + name + ")")});
    result.rules_.push_back({false, axis, *Expression::parse(name)});
    auto held = parent.values.find(name);
    int64_t current = held == parent.values.end() ? recorded_block : held->second;
    auto values = values_around(current);
    std::erase_if(values, [](int64_t value) { return value > kLargestBlock; });
    parameters.push_back(make_parameter(name, values, current));
  }

  // Threads of a block, per distinct recorded block.
  std::set<std::string> seen;
  for (auto& instance : mep.instances) {
    std::string product;
    bool varies = false;
    const uint32_t axes[] = {instance.geometry.block.x, instance.geometry.block.y, instance.geometry.block.z};
    for (int axis = 0; axis < 3; ++axis) {
      std::string factor = std::to_string(axes[axis]);
      for (auto& rule : result.rules_)
        if (!rule.is_grid && rule.axis == axis) factor = rule.expression.text(), varies = true;
      product += (axis ? " * (" : "(") + factor + ")";
    }
    if (!varies || !seen.insert(product).second) continue;
    if (auto limit = Expression::parse(product + " <= " + std::to_string(kLargestBlock)); limit.ok()) constraints.push_back(*limit);
  }
  std::erase_if(parameters, [](auto& parameter) { return parameter.values.size() < 2; });
  std::map<std::string, std::string> constant;  // Parameters that fell away are constants now.
  for (auto& knob : mep.knobs)
    if (std::none_of(parameters.begin(), parameters.end(), [&](auto& p) { return p.name == knob.name; }))
      constant[knob.name] = std::to_string(original[knob.name]);
  for (auto& constraint : constraints) constraint = substitute(constraint, constant);
  for (auto& rule : result.rules_) rule.expression = substitute(rule.expression, constant);
  result.constraints_ = constraints;
  auto space = Space::create(std::move(parameters), constraints);
  KERNELIFT_ASSERT(space.ok(), "constraints speak of parameters only");
  result.space_ = std::move(*space);
  return result;
}

MepSpace MepSpace::without(size_t index) const {
  MepSpace result = *this;
  auto parameters = space_.parameters();
  auto& frozen = parameters[index];
  frozen.values = {frozen.values[frozen.start]}, frozen.start = 0;
  result.space_ = *Space::create(parameters, constraints_);
  return result;
}

Candidate MepSpace::materialise(const Point& point) const {
  Candidate candidate = parent_;
  bool original = true;
  for (size_t p = 0; p < point.size(); ++p) original = original && point[p] == space_.parameters()[p].start;
  if (original) return candidate;
  std::string note;
  for (size_t p = 0; p < point.size(); ++p) {
    auto& parameter = space_.parameters()[p];
    int64_t value = parameter.values[point[p]], before = parameter.values[parameter.start];
    candidate.values[parameter.name] = value;
    if (value == before) continue;
    note += (note.empty() ? "" : ", ") + parameter.name + " " + std::to_string(before) + " -> " + std::to_string(value);
    if (std::find(knobs_.begin(), knobs_.end(), parameter.name) == knobs_.end()) continue;
    auto range = find_knob(candidate.source, parameter.name, before);
    KERNELIFT_ASSERT(range, "create() found the knob in this text");
    candidate.source.replace(range->begin, range->end - range->begin, std::to_string(value));
  }
  if (candidate.launches.empty()) candidate.launches.push_back(CandidateLaunch::as_recorded(kernel_name_));
  for (auto& launch : candidate.launches) {
    std::map<std::string, std::string> by;
    for (auto& rule : rules_) by[rule.is_grid ? kGrid[rule.axis] : kBlock[rule.axis]] = rule.expression.text();
    // A launch that already speaks of these parameters (a parent of this tier) follows by its values alone.
    for (int axis = 0; axis < 3; ++axis) {
      auto follow = [&](Expression& expression) {
        for (auto& name : expression.variables())
          if (std::any_of(space_.parameters().begin(), space_.parameters().end(), [&](auto& p) { return p.name == name; })) return;
        expression = substitute(expression, by);
      };
      follow(launch.grid[axis]);
      follow(launch.block[axis]);
    }
  }
  candidate.note = parent_.tier == "baseline" || parent_.note.empty() ? note : parent_.note + "; " + note;
  candidate.tier = "params";
  return candidate;
}

}  // namespace kernelift
