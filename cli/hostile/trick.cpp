// Lines of a candidate's file:
//   //! kind WORD               what the trick belongs to; the table is by kind
//   //! kernel NAME             the kernel in tests/hostile/kernels whose place it takes
//   //! devices cpu|cuda|both
//   //! must OUTCOME…           the verdicts that are right; no-gain: ok is, too, but no confirmed gain
//   //! outside OUTCOME…        the verdicts that show that it got what it was after
//   //! note TEXT               how its author describes it; escapes as in C
//   //! launch KERNEL; GX, GY, GZ; BX, BY, BZ; SHARED
//   //! scratch BYTES [zeroed]
//   //! recipe JSON             as in a run (docs/formats.md)
#include "cli/hostile/trick.h"

#include <sstream>

#include "core/base/words.h"

namespace kernelift::cli {
namespace {

constexpr const char* kNoGain = "no-gain";

/// The JSON string that the text between quotes would be, so that a note can hold any character.
Result<std::string> unescaped(const std::string& text, const std::string& where) {
  KERNELIFT_ASSIGN(Json json, parse_json("\"" + text + "\"", where));
  if (!json.is_string()) return environment_error(where + ": not a text");
  return json.get<std::string>();
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(without_outer_blanks(part));
  return parts;
}

Result<CandidateLaunch> launch_from(const std::string& text, const std::string& where) {
  auto parts = split(text, ';');
  if (parts.size() != 4) return environment_error(where + ": a launch is KERNEL; GRID; BLOCK; SHARED");
  CandidateLaunch launch = CandidateLaunch::as_recorded(parts[0]);
  for (auto [axes, text_of] : {std::pair{launch.grid, &parts[1]}, std::pair{launch.block, &parts[2]}}) {
    auto words = split(*text_of, ',');
    if (words.size() > 3) return environment_error(where + ": '" + *text_of + "' has more than three axes");
    for (size_t axis = 0; axis < words.size(); ++axis) {
      KERNELIFT_ASSIGN(axes[axis], Expression::parse(words[axis]));
    }
  }
  KERNELIFT_ASSIGN(launch.shared, Expression::parse(parts[3]));
  return launch;
}

}  // namespace

Result<Trick> Trick::of(const SuiteFile& file, bool honest) {
  const std::string where = file.path.string();
  KERNELIFT_TRY(
      file.knows_only({"kind", "kernel", "devices", "must", "outside", "note", "launch", "scratch", "recipe", "gap"}));
  Trick trick;
  trick.name = file.name, trick.summary = file.summary, trick.honest = honest;
  trick.kind = honest ? "honest" : file.value("kind"), trick.kernel = file.value("kernel");
  if (trick.kind.empty() || trick.kernel.empty()) return environment_error(where + ": it names no kind or no kernel");
  const std::string devices = file.value("devices");
  if (devices != "cpu" && devices != "cuda" && devices != "both")
    return environment_error(where + ": devices is cpu, cuda or both");
  trick.gap = file.value("gap");
  trick.on_cpu = devices != "cuda", trick.on_cuda = devices != "cpu";
  for (auto& word : words_of(file.value("must"))) {
    if (word == kNoGain) {
      trick.may_be_ok = true;
      continue;
    }
    auto outcome = outcome_from_name(word);
    if (!outcome.ok()) return std::move(outcome).error().in(where);
    trick.must.insert(*outcome);
  }
  for (auto& word : words_of(file.value("outside"))) {
    auto outcome = outcome_from_name(word);
    if (!outcome.ok()) return std::move(outcome).error().in(where);
    trick.shows.insert(*outcome);
  }
  if (honest) trick.must = {Outcome::Ok};
  else if (trick.must.contains(Outcome::Ok))
    return environment_error(where + ": a trick may be 'no-gain', never plainly 'ok'");
  if (trick.must.empty() && !trick.may_be_ok) return environment_error(where + ": it does not say what it must get");
  Candidate& made = trick.candidate;
  made.source = file.text, made.tier = "source", made.proposer = "hand";
  KERNELIFT_ASSIGN(std::string note, unescaped(file.value("note"), where));
  made.steps = {Step::described(note.empty() ? file.name : note)};
  for (auto& line : file.values("launch")) {
    KERNELIFT_ASSIGN(auto launch, launch_from(line, where));
    made.launches.push_back(std::move(launch));
  }
  for (auto& line : file.values("scratch")) {
    constexpr std::string_view kZeroed = " zeroed";
    const bool zeroed = line.ends_with(kZeroed);
    KERNELIFT_ASSIGN(auto bytes, Expression::parse(zeroed ? line.substr(0, line.size() - kZeroed.size()) : line));
    made.scratch.push_back({std::move(bytes), zeroed});
  }
  if (std::string recipe = file.value("recipe"); !recipe.empty()) {
    KERNELIFT_ASSIGN(Json json, parse_json(recipe, where));
    KERNELIFT_ASSIGN(made.recipe, recipe_from_json(json, where));
    made.tier = "compiler";
  }
  return trick;
}

std::string Trick::must_text() const {
  std::string text;
  for (Outcome outcome : must) text += (text.empty() ? "" : ", ") + std::string(kernelift::name(outcome));
  return text + (may_be_ok ? (text.empty() ? "" : ", ") + std::string("ok without a gain") : "");
}

Candidate filled_in(const Candidate& candidate, const std::map<std::string, std::string>& places) {
  Candidate filled = candidate;
  filled.source = fill_in(candidate.source, places);
  for (auto& step : filled.steps) step.summary = fill_in(step.summary, places);
  filled.recipe.passes = fill_in(filled.recipe.passes, places);
  for (auto& option : filled.recipe.options) option = fill_in(option, places);
  return filled;
}

}  // namespace kernelift::cli
