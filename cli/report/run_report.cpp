// Decides which candidate's figures the page shows: those of the candidate that apply took, else those of the fastest.
#include "cli/report/run_report.h"

#include <algorithm>

#include "cli/inherited_lines.h"
#include "core/base/file.h"
#include "core/base/json_member.h"
#include "core/model/fidelity.h"
#include "core/model/mep.h"
#include "reintegrate/apply_request.h"
#include "reintegrate/patch/text_diff.h"
#include "tuner/inherit/earlier_search.h"
#include "tuner/inherit/pattern_library.h"
#include "tuner/source/hypotheses/hypothesis_board.h"
#include "tuner/source/llm/model_budget.h"
#include "tuner/store/run.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

const Timing* timing_of(const std::string& instance, const Verdict& verdict) {
  for (auto& timing : verdict.timings)
    if (timing.instance == instance) return &timing;
  return nullptr;
}

/// Of several launches of one geometry and similar duration only one is timed; held-out launches are not timed in the
/// search.
std::string why_untimed(const tuner::TunedKernel::Launch& launch, const tuner::TunedKernel& kernel,
                        const Verdict& verdict) {
  if (launch.held_out) return "verified only";
  for (auto& other : kernel.launches)
    if (!other.held_out && other.geometry == launch.geometry && timing_of(other.id, verdict)) return "as " + other.id;
  return "not timed";
}

std::vector<ReportInstance> instances_of(const tuner::TunedKernel& kernel, const tuner::RunTrial* best) {
  std::vector<ReportInstance> rows;
  for (auto& launch : kernel.launches) {
    ReportInstance row{launch.id, launch.geometry.text(), launch.held_out, launch.weight, launch.microseconds, 0, 0,
                       {}};
    if (!best) row.untimed = "–";
    else if (auto* timing = timing_of(launch.id, best->figures()))
      row.baseline_us = timing->baseline_seconds * 1e6, row.best_us = timing->seconds * 1e6;
    else row.untimed = why_untimed(launch, kernel, best->figures());
    rows.push_back(row);
  }
  return rows;
}

/// As the run records it. Runs of format 1 record nothing of it: then from their MEP, if it is still there.
Result<tuner::TunedKernel> tuned_kernel(const tuner::Run& run, const std::optional<tuner::RunTrial>& baseline) {
  KERNELIFT_ASSIGN(std::optional<tuner::TunedKernel> kernel, run.kernel());
  if (kernel) return std::move(*kernel);
  auto mep = Mep::read(run.meta().mep);
  return mep.ok() ? tuner::kernel_of(*mep, baseline ? baseline->candidate.source : "") : tuner::TunedKernel();
}

ReportWinner winner_of(const tuner::RunTrial& trial, bool embedded) {
  const Verdict& figures = trial.figures();
  ReportWinner winner{static_cast<int>(trial.id), trial.candidate.note(), {},
                      figures.speedup(),          figures.speedup_low(),  trial.confirmed.has_value()};
  if (figures.other_sizes) winner.other_sizes = figures.other_sizes->text();
  if (figures.sizes_run) winner.sizes_run = figures.sizes_run->text();
  if (auto* code = figures.untried_code()) winner.not_run = code->text();
  if (figures.field) winner.field = figures.field->text();
  if (!trial.candidate.recipe.is_default()) winner.recipe = trial.candidate.recipe.text();
  if (reintegrate::EmbeddedGain gain = reintegrate::embedded_gain(trial); embedded && gain.low > 0)
    winner.speedup = gain.speedup, winner.low = gain.low;
  return winner;
}

/// Why apply did not take the fastest candidate: apply's own reason if it is recorded, else derived from its rules.
std::string why_not_taken(const tuner::RunTrial& fastest, const tuner::RunTrial& taken, const Json& passed_over) {
  for (auto& one : passed_over) {
    if (one.is_object() && static_cast<int64_t>(number_member(one, "candidate")) == fastest.id)
      return text_member(one, "why");
    // Earlier versions wrote one line of text, "#7 (source: …): …".
    if (one.is_string() && one.get<std::string>().starts_with("#" + std::to_string(fastest.id) + " ("))
      return one.get<std::string>();
  }
  if (!fastest.applicable())
    return fastest.figures().device.starts_with("cuda")
               ? "its gain is in how it is compiled, which only embedded PTX can carry, and that promised less or was "
                 "not enabled"
               : "its gain is in how it is compiled, which no change of the source can express";
  if (!fastest.confirmed) return "it was timed in the search only, not confirmed";
  if (fastest.figures().speedup_low() <= taken.figures().speedup_high())
    return "the difference between the two is within the noise";
  return "another candidate was requested, or this one was found later";
}

/// The report that apply wrote beside the run; or the one beside the originals, if that patch has been undone since.
Result<Json> latest_of_apply(const fs::path& run) {
  KERNELIFT_ASSIGN(Json beside, read_json(fs::path(run).replace_extension(".applied.json")));
  std::string originals = text_member(beside, "originals");
  if (originals.empty()) return beside;
  auto later = read_json(fs::path(originals) / "report.json");
  bool same = later.ok() && text_member(*later, "diff") == text_member(beside, "diff") &&
              text_member(*later, "at") == text_member(beside, "at");
  return same && text_member(*later, "outcome") == "undone" ? *later : beside;
}

/// Nothing if the document has another form, because another version of apply wrote it.
std::optional<ReportApplied> applied_of(const Json& document, const std::string& run_file,
                                        const std::vector<tuner::RunTrial>& history) {
  auto read = reading("what apply wrote", [&] {
    std::string outcome = document.at("outcome");
    ReportApplied applied;
    applied.outcome = outcome == "kept"        ? "kept"
                      : outcome == "too_small" ? "not tried"
                      : outcome == "no_patch"  ? "no patch"
                      : outcome == "undone"    ? "undone"
                                               : "rolled back";
    applied.why = document.at("why"), applied.notes = document.at("notes"), applied.diff = document.at("diff"),
    applied.branch = document.value("branch", "");
    applied.commit = document.value("commit", ""), applied.at = document.value("at", "");
    applied.predicted = number_member(document.at("predicted"), "whole"),
    applied.measured = number_member(document.at("measured"), "speedup");
    auto id = static_cast<int64_t>(number_member(document, "candidate"));
    for (auto& one : document.value("kernels", Json::array()))  // One of several in a patch.
      if (text_member(one, "run") == run_file) id = static_cast<int64_t>(number_member(one, "candidate"));
    for (auto& trial : history)
      if (trial.id == id) applied.tried = winner_of(trial, document.value("embeds_ptx", false));
    return applied;
  });
  return read.ok() ? std::optional(std::move(*read)) : std::nullopt;
}

/// What the candidate has and its parents have not; of one with less than a parent, "without" what that has.
std::string step_over(const tuner::RunTrial& trial, const std::vector<tuner::RunTrial>& history) {
  const std::vector<Step>& own = trial.candidate.steps;
  auto beyond = [](const std::vector<Step>& all, std::vector<Step> known) {
    std::vector<Step> more;
    for (auto& step : all)
      if (auto same = std::ranges::find(known, step); same != known.end()) known.erase(same);
      else more.push_back(step);
    return more;
  };
  std::vector<Step> added = own, lost;
  for (auto& parent : history)
    if (std::ranges::find(trial.parents, parent.id) != trial.parents.end()) {
      if (auto more = beyond(own, parent.candidate.steps); more.size() < added.size()) added = std::move(more);
      if (auto less = beyond(parent.candidate.steps, own); lost.empty() || less.size() < lost.size())
        lost = std::move(less);
    }
  std::string text;
  for (auto& step : added) text += (text.empty() ? "" : "; ") + step.text();
  if (!text.empty()) return text;
  for (auto& step : lost) text += (text.empty() ? "without " : "; ") + step.text();
  return text;
}

}  // namespace

Result<ReportData> gather_report(const fs::path& file) {
  KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::open(file));
  KERNELIFT_ASSIGN(std::vector<tuner::RunTrial> history, run.history());
  KERNELIFT_ASSIGN(std::optional<tuner::RunTrial> baseline, run.baseline());
  const tuner::RunTrial* best = best_of(history, false);
  ReportData data;
  data.kernel = run.meta().kernel;
  data.run = file.filename().string();
  data.seconds = run.meta().seconds_spent;
  data.device = baseline ? baseline->verdict.device : run.meta().device;
  for (auto& trial : history) {
    const Verdict& verdict = trial.figures();
    const bool unshown = verdict.sizes_run && verdict.sizes_run->wrong && !verdict.sizes_run->wrong->shown;
    data.candidates.push_back({int(trial.id),
                               trial.candidate.tier,
                               trial.candidate.proposer,
                               trial.candidate.note(),
                               name(verdict.outcome),
                               verdict.text() + (unshown ? " (" + verdict.sizes_run->text() + ")" : ""),
                               verdict.speedup(),
                               verdict.speedup_low(),
                               {trial.parents.begin(), trial.parents.end()},
                               step_over(trial, history)});
  }
  KERNELIFT_ASSIGN(auto states, run.states());
  if (const auto use = tuner::ModelUse::read({states}); use.calls > 0) data.models = use.brief();
  for (auto& finding : tuner::findings_of(states, history)) {
    const std::string cost = finding.cost_per_gain();
    data.hypotheses.push_back({static_cast<int>(finding.hypothesis.number), static_cast<int>(finding.trial),
                               finding.hypothesis.change, finding.hypothesis.prediction(), finding.measured,
                               name(finding.conclusion), finding.why, cost.empty() ? finding.cost_text() : cost});
  }
  if (best && best->figures().gains()) data.fastest = winner_of(*best, false);
  const tuner::RunTrial* shown = best;
  if (auto document = latest_of_apply(file); document.ok()) {
    data.applied = applied_of(*document, data.run, history);
    for (auto& trial : history)
      if (data.applied && data.applied->tried && trial.id == data.applied->tried->number) shown = &trial;
    if (shown != best && data.fastest)
      data.not_taken = why_not_taken(*best, *shown, document->value("passed_over", Json::array()));
  }
  if (baseline && data.shown())
    data.diff = reintegrate::unified_diff("kernel.cu", baseline->candidate.source, shown->candidate.source);
  KERNELIFT_ASSIGN(std::string stopped_by, run.get_state(tuner::kStoppedBy));
  data.without_gain =
      tuner::without_gain(history.size() - std::min<size_t>(history.size(), baseline ? 1 : 0), stopped_by);
  KERNELIFT_ASSIGN(tuner::TunedKernel kernel, tuned_kernel(run, baseline));
  data.instances = instances_of(kernel, shown);
  data.place = kernel.place, data.proof = kernel.proof, data.not_tried = kernel.not_tried;
  KERNELIFT_ASSIGN(std::string inherited, run.get_state(tuner::kInheritedState));
  data.inherited = inherited_lines(Json::parse(inherited, nullptr, false));
  KERNELIFT_ASSIGN(std::string patterns, run.get_state(tuner::kPatternState));
  std::ranges::move(pattern_lines(Json::parse(patterns, nullptr, false), data.inherited.empty()),
                    std::back_inserter(data.inherited));
  // Fidelity belongs to the MEP: there may have been another replay since the run.
  if (auto replays = read_fidelity(run.meta().mep); replays.ok())
    for (auto& replay : *replays) data.fidelity.push_back(replay.text());
  return data;
}

}  // namespace kernelift::cli
