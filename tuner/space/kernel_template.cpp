// See kernel_template.h.
#include "tuner/space/kernel_template.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/candidate/tune_declarations.h"
#include "core/model/knob/knob_text.h"
#include "core/model/launch_values.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {
namespace {

/// Line 0: of a size that is no declaration of the text.
Error at(size_t line, const std::string& what) {
  return usage_error((line > 0 ? "line " + std::to_string(line) + ": " : "") + what);
}

const Knob* knob_named(const Mep& mep, const std::string& name) {
  auto found = std::ranges::find(mep.knobs, name, &Knob::name);
  return found == mep.knobs.end() ? nullptr : &*found;
}

/// Puts the value into the definition, which has the value `now`.
void define(std::string& source, const std::string& name, int64_t now, int64_t value) {
  if (auto range = find_knob(source, name, now); range && now != value)
    source.replace(range->begin, range->end - range->begin,
                   number_like(std::string_view(source).substr(range->begin, range->end - range->begin), value));
}

class Fitting {
 public:
  Fitting(const Mep& mep, const Candidate& parent, Candidate written, TuneDeclarations declared)
      : mep_(mep), parent_(parent), candidate_(std::move(written)), declared_(std::move(declared)) {}

  Result<Candidate> run() {
    KERNELIFT_TRY(find_definitions());
    candidate_.source = without_launch_declarations(candidate_.source);
    KERNELIFT_TRY(choose_values());
    KERNELIFT_TRY(set_launch());
    KERNELIFT_TRY(follow_knobs());
    KERNELIFT_TRY(check_launch());
    if (!declared_.parameters.empty()) KERNELIFT_TRY(check_space());
    return std::move(candidate_);
  }

 private:
  Status find_definitions() {
    for (auto& parameter : declared_.parameters) {
      const Knob* knob = knob_named(mep_, parameter.name);
      auto value = defined_value(candidate_.source, parameter.name);
      if (!value && knob && !mentions_word(candidate_.source, parameter.name))
        value = knob->value;  // Only the launch uses it.
      if (!value)
        return at(parameter.line, "'" + parameter.name +
                                      "' is not defined exactly once with an integer value in this text, as by "
                                      "`#define " +
                                      parameter.name + " 32` or `constexpr int " + parameter.name + " = 32;`");
      defined_[parameter.name] = *value;
      const bool launched =
          std::ranges::any_of(declared_.launch, [&](auto& one) { return one.size.uses(parameter.name); });
      if (!knob && !launched && whole_words(blank_comments(candidate_.source), parameter.name).size() < 2)
        return at(parameter.line, "'" + parameter.name + "' is defined and never used");
      if (index_of_argument(parameter.name))
        return at(parameter.line,
                  "'" + parameter.name + "' is a parameter of the kernel, too: call one of them otherwise");
    }
    return done();
  }

  std::optional<size_t> index_of_argument(const std::string& name) const {
    for (size_t p = 0; p < mep_.parameters.size(); ++p)
      if (mep_.parameters[p].name == name) return p;
    return std::nullopt;
  }

  /// What conditions may name besides parameters.
  std::map<std::string, Expression> application_constants() const {
    std::map<std::string, Expression> known;
    for (auto& knob : mep_.knobs) {
      auto held = parent_.values.find(knob.name);
      const int64_t value = defined_value(candidate_.source, knob.name)
                                .value_or(held == parent_.values.end() ? knob.value : held->second);
      if (!declared_.find(knob.name)) known.emplace(knob.name, Expression::constant(value));
    }
    return known;
  }

  Status choose_values() {
    const auto known = application_constants();
    std::vector<Tunable> parameters;
    for (auto& declared : declared_.parameters) {
      Tunable parameter{declared.name, declared.values};
      auto distance = [&](int64_t value) { return std::abs(double(value) - double(defined_[declared.name])); };
      const auto nearest = std::ranges::min_element(declared.values, {}, distance);
      parameter.start = static_cast<size_t>(nearest - declared.values.begin());
      parameters.push_back(std::move(parameter));
    }
    std::vector<Expression> all;
    for (auto& condition : declared_.conditions) {
      const Expression holds = condition.holds.substitute(known);
      for (auto& name : holds.variables())
        if (!declared_.find(name))
          return at(condition.line, "the condition '" + condition.holds.text() + "' names '" + name +
                                        "', which is no declared parameter");
      if (auto alone = Space::create(parameters, {holds}); alone.ok() && alone->count() == 0)
        return at(condition.line, "no values of the parameters meet '" + condition.holds.text() + "'");
      all.push_back(holds);
    }
    KERNELIFT_ASSIGN(Space space, Space::create(parameters, all));
    if (space.count() == 0) return usage_error("no values of the parameters meet all conditions");
    Random random(1);
    for (auto& [name, value] : space.bindings(space.start(random))) {
      candidate_.values[name] = value;
      define(candidate_.source, name, defined_[name], value);
    }
    return done();
  }

  Status set_launch() {
    if (declared_.launch.empty()) return done();
    CandidateLaunch launch =
        candidate_.launches.empty() ? CandidateLaunch::as_recorded(mep_.kernel_name) : candidate_.launches[0];
    for (auto& declared : declared_.launch) {
      for (auto& name : declared.size.variables()) KERNELIFT_TRY(bind(declared, name));
      *launch.size_named(declared.name) = declared.size;
    }
    candidate_.launches = {std::move(launch)};
    return done();
  }

  /// A name in a launch is one of its recorded sizes, a parameter, a constant of the text, or an integer argument.
  Status bind(const TuneDeclarations::Size& declared, const std::string& name) {
    if (with_geometry({}, candidate_.values).contains(name)) return done();
    if (auto argument = index_of_argument(name)) {
      for (auto& instance : mep_.instances)
        if (!mep_.integer_argument(instance, *argument))
          return at(declared.line, declared.name + " is computed from '" + name + "', which is no integer argument");
      return done();
    }
    auto value = defined_value(candidate_.source, name);
    if (!value)
      if (auto* knob = knob_named(mep_, name)) value = knob->value;
    if (!value) {
      std::string arguments;
      for (auto& parameter : mep_.parameters)
        if (parameter.is_integer()) arguments += (arguments.empty() ? "" : ", ") + parameter.name;
      return at(declared.line,
                declared.name + " is computed from '" + name +
                    "', which is neither a declared parameter, nor an integer constant of this text, nor "
                    "an integer argument of the kernel" +
                    (arguments.empty() ? "" : " (" + arguments + ")") +
                    ", nor a size of the recorded launch (gx … bz, shared)");
    }
    candidate_.values[name] = *value;
    return done();
  }

  /// Knobs of the application that the text defines otherwise than the parent are values of the candidate, and where
  /// nothing says how it is launched, the launch follows them.
  Status follow_knobs() {
    Candidate before = candidate_;
    Bindings changed;
    for (auto& knob : mep_.knobs) {
      auto held = parent_.values.find(knob.name);
      auto holds = std::as_const(candidate_.values).find(knob.name);
      const int64_t was = held == parent_.values.end() ? knob.value : held->second;
      const int64_t now =
          defined_value(candidate_.source, knob.name).value_or(holds == candidate_.values.end() ? was : holds->second);
      if (now == was) continue;
      candidate_.values[knob.name] = now;
      if (!knob.in_geometry) continue;
      changed[knob.name] = now;
      if (held == parent_.values.end()) before.values.erase(knob.name);
      else before.values[knob.name] = was;
      define(before.source, knob.name, now, was);
    }
    if (changed.empty() || !declared_.launch.empty()) return done();
    const MepSpace space = MepSpace::create(mep_, before, changed);
    auto point = space.point_at(changed);
    if (!point) return usage_error(unknown_launch(space, changed));
    candidate_.launches = space.materialise(*point).launches;
    return done();
  }

  static std::string unknown_launch(const MepSpace& space, const Bindings& changed) {
    std::string why;
    for (auto* reasons : {&space.left_alone(), &space.blocks_left_alone()})
      for (auto& reason : *reasons)
        if (why.empty() && changed.contains(reason.substr(0, reason.find(':')))) why = " (" + reason + ")";
    return "how the application launches the kernel where " + changed.begin()->first + " is " +
           std::to_string(changed.begin()->second) + " is not known" + why + "; declare its launch";
  }

  Status check_launch() const {
    if (declared_.launch.empty()) return done();
    for (auto& instance : mep_.instances) {
      auto made = candidate_.launches[0].evaluate(instance.geometry, with_arguments(mep_, instance, candidate_.values));
      // What is held out stays so: its sizes are in the message.
      if (!made.ok() && instance.held_out) return usage_error("for a launch that is held out it gives no launch");
      if (!made.ok()) return usage_error("for launch " + instance.id + ": " + made.error().message);
    }
    return done();
  }

  Status check_space() {
    const MepSpace space = MepSpace::create(mep_, candidate_);
    if (space.space().count() == 0)
      return usage_error("no values of the parameters give a block of at most 1024 threads and meet all conditions");
    Random random(1);
    Candidate made = space.materialise(space.space().start(random));
    candidate_.source = std::move(made.source), candidate_.values = std::move(made.values);
    candidate_.launches = std::move(made.launches);
    return done();
  }

  const Mep& mep_;
  const Candidate& parent_;
  Candidate candidate_;
  const TuneDeclarations declared_;
  Bindings defined_;  ///< The declared parameters' values in the text.
};

}  // namespace

bool is_template(const std::string& text) {
  auto declared = TuneDeclarations::parse(text);
  return !declared.ok() || !declared->empty();
}

Result<Candidate> first_setting(const Mep& mep, const Candidate& parent, Candidate written,
                                std::vector<TuneDeclarations::Size> sizes) {
  KERNELIFT_ASSIGN(TuneDeclarations declared, TuneDeclarations::parse(written.source));
  for (auto& size : declared.launch)
    if (std::ranges::find(sizes, size.name, &TuneDeclarations::Size::name) == sizes.end()) sizes.push_back(size);
  declared.launch = std::move(sizes);
  return Fitting(mep, parent, std::move(written), std::move(declared)).run();
}

Result<Candidate> candidate_of_template(const Mep& mep, const std::string& original, const std::string& text,
                                        const std::string& name) {
  Candidate written;
  written.source = text, written.tier = "source", written.proposer = "template";
  KERNELIFT_ASSIGN(Candidate candidate, first_setting(mep, Candidate(), written));
  KERNELIFT_ASSIGN(TuneDeclarations declared, TuneDeclarations::parse(text));
  Step step{.origin = Step::Origin::Template, .rule = name};
  bool unchanged = without_declarations(text, original) == original && !declared.launch.empty();
  for (auto& parameter : declared.parameters) {
    const int64_t value = candidate.values.at(parameter.name);
    step.parameters[parameter.name] = value;
    unchanged &= defined_value(text, parameter.name).value_or(value) == value;
  }
  for (auto& instance : mep.instances) {
    if (!unchanged) break;
    auto made = candidate.launches[0].evaluate(instance.geometry, with_arguments(mep, instance, candidate.values));
    if (made.ok() && *made != instance.geometry && instance.held_out)
      return usage_error(
          "for a launch that is held out the declared launch is another than was recorded for this same text; at its "
          "own values it must give what was recorded");
    if (made.ok() && *made != instance.geometry)
      return usage_error("for launch " + instance.id + ": the declared launch is " + made->text() + ", and " +
                         instance.geometry.text() +
                         " was recorded for this same text; at its own values it must give what was recorded");
  }
  if (!mep.instances.empty()) name_threads(step, candidate, mep.instances[0].geometry.block);
  candidate.add_step(std::move(step));
  return candidate;
}

Result<Candidate> setting_as_given(const Mep& mep, const std::string& original, Candidate written) {
  if (!is_template(written.source)) {
    if (!written.launches.empty()) return written;
    // Where the application's launch is not known with such a knob, it is launched as recorded, and the judge decides.
    auto followed = first_setting(mep, Candidate(), written);
    return followed.ok() ? *std::move(followed) : written;
  }
  KERNELIFT_ASSIGN(TuneDeclarations declared, TuneDeclarations::parse(written.source));
  for (auto& parameter : declared.parameters) {
    auto wanted = written.values.find(parameter.name);
    auto now = defined_value(written.source, parameter.name);
    if (wanted == written.values.end() || !now || *now == wanted->second) continue;
    if (!std::ranges::binary_search(parameter.values, wanted->second))
      return at(parameter.line, parameter.name + " is " + std::to_string(wanted->second) +
                                    " in `values`, which is none of its declared values");
    define(written.source, parameter.name, *now, wanted->second);
  }
  KERNELIFT_ASSIGN(Candidate setting, candidate_of_template(mep, original, written.source, "as given"));
  for (auto& parameter : declared.parameters)
    if (auto wanted = written.values.find(parameter.name);
        wanted != written.values.end() && setting.values.at(parameter.name) != wanted->second)
      return at(parameter.line, "the conditions do not permit the values that are given");
  if (!written.launches.empty()) setting.launches = std::move(written.launches);
  for (auto& [name, value] : written.values) setting.values.emplace(name, value);
  if (!written.steps.empty()) setting.steps = std::move(written.steps);
  setting.recipe = std::move(written.recipe), setting.scratch = std::move(written.scratch);
  setting.tier = std::move(written.tier), setting.proposer = std::move(written.proposer);
  return setting;
}

}  // namespace kernelift::tuner
