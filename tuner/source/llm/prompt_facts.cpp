// See prompt_facts.h.
#include "tuner/source/llm/prompt_facts.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"
#include "core/model/element.h"
#include "core/model/launch_values.h"
#include "tuner/rule_outcomes.h"
#include "tuner/source/llm/prompt.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kMostAttempts = 100;  ///< Of models; the latest.

/// Of what is left out first if a prompt becomes too long, the lowest.
namespace worth {
constexpr double kDevice = 100, kLaunch = 95, kArguments = 90, kJudging = 85, kBase = 80, kProfile = 75, kAccess = 72,
                 kModelsAttempt = 70, kFinding = 68, kOriginal = 60, kGain = 65, kFailure = 45, kNoGain = 30;
constexpr double kAge = 0.5;  ///< Less for each later attempt, and for each more relevant finding.
}  // namespace worth

struct Fact {
  std::string place;  ///< The placeholder under which it stands.
  double worth = 0;
  std::string text;  ///< Whole lines.
};

/// The facts of the highest worth that fit, in their own order; a place says how many lines it lacks.
std::map<std::string, std::string> fitting(const std::vector<Fact>& facts, size_t characters) {
  std::vector<const Fact*> ranked;
  for (auto& fact : facts) ranked.push_back(&fact);
  std::ranges::sort(ranked, [](auto* a, auto* b) { return a->worth != b->worth ? a->worth > b->worth : a < b; });
  std::map<const Fact*, bool> taken;
  for (auto* fact : ranked) {
    taken[fact] = fact->text.size() <= characters;
    if (taken[fact]) characters -= fact->text.size();
  }
  std::map<std::string, std::string> text;
  std::map<std::string, size_t> lacking;
  for (auto& fact : facts)
    if (taken[&fact]) text[fact.place] += fact.text;
    else lacking[fact.place] += static_cast<size_t>(std::ranges::count(fact.text, '\n'));
  for (auto& [place, lines] : lacking)
    text[place] += "(" + counted(lines, "line") + " left out: the prompt would be too long)\n";
  return text;
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share + 0.5)) + " %"; }

std::string launch_text(const Geometry& geometry) {
  return geometry.text() +
         (geometry.shared_bytes ? ", " + std::to_string(geometry.shared_bytes) + " bytes shared" : "");
}

/// The recorded value of a parameter that is a number; empty: it is none, or not recorded.
std::string scalar_text(const Mep& mep, const MepInstance& instance, size_t parameter) {
  if (auto value = mep.integer_argument(instance, parameter)) return std::to_string(*value);
  if (parameter >= instance.parameters.size() || mep.parameters[parameter].scalar.empty()) return {};
  const ElementType type = ElementType::parse(mep.parameters[parameter].scalar);
  const auto [offset, bytes] = instance.parameters[parameter];
  if (!type.is_float() || bytes != type.width || offset + bytes > instance.arguments.size()) return {};
  return type.show(&instance.arguments[offset]);
}

/// "16384 float, 65536 bytes"; empty: no memory of its own was recorded. `changed` is set if the kernel changes it.
std::string buffer_text(const MepInstance& instance, size_t parameter, bool& changed) {
  std::string text;
  for (auto& region : instance.regions) {
    if (region.parameter != static_cast<int>(parameter) || !region.reached_from.is_whole_argument()) continue;
    const uint32_t width = std::max(1u, ElementType::parse(region.element).width);
    text += (text.empty() ? "" : " + ") + std::to_string(region.size / width) + " " + region.element + ", " +
            std::to_string(region.size) + " bytes";
    changed |= region.before != region.after;
  }
  return text;
}

class Facts {
 public:
  explicit Facts(const PromptSubject& subject) : subject_(subject) {}

  std::vector<Fact> all() {
    device();
    launches();
    arguments();
    accesses();
    judging();
    base();
    add("profile", worth::kProfile, subject_.profile.empty() ? "not known\n" : subject_.profile + "\n");
    original();
    rules();
    models_attempts();
    findings();
    return std::move(facts_);
  }

 private:
  void add(const char* place, double worth, std::string text) { facts_.push_back({place, worth, std::move(text)}); }

  /// Those that a model may see: the others are kept for verification.
  std::vector<const MepInstance*> shown() const {
    std::vector<const MepInstance*> instances;
    for (auto& instance : subject_.mep.instances)
      if (!instance.held_out) instances.push_back(&instance);
    return instances;
  }

  void device() {
    const RunTrial* original = subject_.history.baseline();
    std::string text = original && !original->verdict.device.empty() ? original->verdict.device : "not known";
    if (!subject_.mep.architecture.empty()) text += "; the application compiles for " + subject_.mep.architecture;
    if (!subject_.limits.empty()) text += "\nIt has " + subject_.limits;
    add("device", worth::kDevice, text + "\n");
  }

  void launches() {
    struct Alike {
      double weight = 0, microseconds = 0;  ///< Of the first.
    };
    std::map<std::string, Alike> launches;
    for (auto* instance : shown()) {
      Alike& alike = launches[launch_text(instance->geometry)];
      if (alike.weight == 0) alike.microseconds = instance->microseconds;
      alike.weight += instance->weight;
    }
    for (auto& [text, alike] : launches) {
      char time[32] = "";
      if (alike.microseconds > 0) std::snprintf(time, sizeof time, ", %.4g us", alike.microseconds);
      add("launches", worth::kLaunch, "- " + text + time + ", " + percent(alike.weight) + " of the kernel's time\n");
    }
    add("own_launch", worth::kDevice, launch_of(subject_.base.candidate, subject_.mep));
  }

  void arguments() {
    const auto& parameters = subject_.mep.parameters;
    for (size_t p = 0; p < parameters.size(); ++p) {
      const bool buffer = !parameters[p].pointee.empty();
      bool changed = false;
      std::vector<std::string> known;
      for (auto* instance : shown()) {
        std::string text = buffer ? buffer_text(*instance, p, changed) : scalar_text(subject_.mep, *instance, p);
        if (!text.empty() && std::ranges::find(known, text) == known.end()) known.push_back(text);
      }
      std::string line = "- " + parameters[p].type + " " + parameters[p].name;
      for (size_t i = 0; i < known.size(); ++i) line += (i > 0 ? " or " : buffer ? ": " : " = ") + known[i];
      if (buffer && !known.empty()) line += changed ? "; the kernel changes it" : "; not changed";
      if (p < subject_.inputs.size() && !subject_.inputs[p].empty())
        line += std::string("; ") + (changed ? "before: " : "holds ") + subject_.inputs[p];
      add("parameters", worth::kArguments, line + "\n");
    }
  }

  void accesses() {
    const auto& lines = subject_.accesses;
    for (size_t i = 0; i < lines.size(); ++i)
      add("accesses", worth::kAccess - worth::kAge * static_cast<double>(i), "- " + lines[i] + "\n");
    if (lines.empty()) add("accesses", worth::kNoGain, "not known\n");
  }

  void judging() {
    std::string text = "integers and all other bytes exactly; floats ";
    char given[64];
    if (const double relative = subject_.tolerance > 0 ? subject_.tolerance : subject_.mep.tolerance.relative;
        relative > 0) {
      std::snprintf(given, sizeof given, "to a relative difference of %g", relative);
      text += given;
    } else {
      text +=
          "within what rounding can do in the original itself, which is measured (mostly a few units in the last "
          "place)";
    }
    add("judging", worth::kJudging, text + "\n");
  }

  void base() {
    const Verdict& verdict = subject_.base.verdict;
    std::string text = told_on_one_line(verdict) + "\n";
    auto line = [&](const char* what, const auto& value) {
      char spelled[160];
      if (value) std::snprintf(spelled, sizeof spelled, "%s: %.6g\n", what, static_cast<double>(*value));
      if (value) text += spelled;
    };
    const KernelResources& resources = verdict.resources;
    line("registers per thread", resources.registers);
    line("bytes of local memory per thread", resources.local_bytes);
    line("bytes of spilled registers stored and loaded", verdict.image.spill_bytes);
    line("bytes of shared memory per block", resources.shared_bytes);
    line("threads per block", resources.threads);
    line("occupancy", resources.occupancy);
    line("bytes of machine code", verdict.image.code_bytes);
    line("units in the last place that results are from the reference, at most", verdict.largest_ulps);
    if (verdict.by_clang) line("speedup with clang as the only compiler", std::optional(verdict.by_clang->speedup));
    for (auto& [name, value] : subject_.base.candidate.values) text += name + " = " + std::to_string(value) + "\n";
    add("facts", worth::kBase, text);
  }

  void original() {
    const RunTrial* original = subject_.history.baseline();
    if (!original || original->candidate.source == subject_.base.candidate.source)
      return add("original", worth::kOriginal, "The source below is the original itself.\n");
    add("original", worth::kOriginal,
        "The original, for comparison (your edits do not apply to it):\n" + as_data(original->candidate.source));
  }

  void rules() {
    std::vector<const RunTrial*> trials;
    for (auto& trial : subject_.history) trials.push_back(&trial);
    const auto outcomes = rule_outcomes(trials);
    for (auto& outcome : outcomes)
      add("rules",
          outcome.gained()  ? worth::kGain
          : outcome.refused ? worth::kFailure
                            : worth::kNoGain,
          "- " + outcome.text() + "\n");
    auto is_tried = [&](const RuleOffer& offer) {
      return std::ranges::find(outcomes, offer.rule, &RuleOutcome::rule) != outcomes.end();
    };
    for (auto& offer : subject_.offers)
      if (!is_tried(offer)) add("rules", worth::kNoGain, "- not tried yet: " + offer.text() + "\n");
    if (outcomes.empty() && subject_.offers.empty()) add("rules", worth::kNoGain, "nothing yet\n");
  }

  void models_attempts() {
    std::vector<std::string> lines;
    for (auto trial = subject_.history.end(); trial != subject_.history.begin() && lines.size() < kMostAttempts;)
      if ((--trial)->candidate.proposer.starts_with("llm/"))
        lines.push_back("- " + trial->candidate.note() + ": " + told_on_one_line(trial->verdict) + "\n");
    std::ranges::reverse(lines);
    for (auto& answer : subject_.unusable) lines.push_back("- " + answer + "\n");
    for (size_t i = 0; i < lines.size(); ++i)
      add("attempts", worth::kModelsAttempt - worth::kAge * static_cast<double>(lines.size() - 1 - i), lines[i]);
    if (lines.empty()) add("attempts", worth::kNoGain, "none\n");
  }

  void findings() {
    const auto& lines = subject_.findings;
    for (size_t i = 0; i < lines.size(); ++i)
      add("findings", worth::kFinding - worth::kAge * static_cast<double>(i), "- " + lines[i] + "\n");
    if (lines.empty()) add("findings", worth::kNoGain, "none\n");
  }

  const PromptSubject& subject_;
  std::vector<Fact> facts_;
};

}  // namespace

std::string launch_of(const Candidate& candidate, const Mep& mep) {
  if (candidate.launches.empty()) return "as recorded\n";
  std::string text;
  auto axes = [](const Expression(&sizes)[3]) {
    return "(" + sizes[0].text() + ", " + sizes[1].text() + ", " + sizes[2].text() + ")";
  };
  for (auto& launch : candidate.launches) {
    text += "- " + launch.kernel + ": grid " + axes(launch.grid) + ", block " + axes(launch.block) + ", shared " +
            launch.shared.text() + "\n";
    std::set<std::string> alike;
    for (auto& instance : mep.instances) {
      auto made = launch.evaluate(instance.geometry, with_arguments(mep, instance, candidate.values));
      if (instance.held_out || !made.ok() || !alike.insert(launch_text(instance.geometry)).second) continue;
      text += "  where " + launch_text(instance.geometry) + " was recorded: " + launch_text(*made) + "\n";
    }
  }
  return text;
}

std::map<std::string, std::string> prompt_facts(const PromptSubject& subject, size_t characters) {
  auto values = fitting(Facts(subject).all(), characters);
  values["kernel"] = subject.mep.kernel_name;
  std::string parent = subject.base.candidate.note();
  std::ranges::replace(parent, '`', '\'');
  values["parent"] = "`" + parent + "`";  // Within a line.
  values["source"] = as_data(subject.base.candidate.source);
  for (auto* quoted : {"rules", "attempts", "findings", "parameters", "accesses", "facts"})
    values[quoted] = as_data(values[quoted]);
  return values;
}

}  // namespace kernelift::tuner
