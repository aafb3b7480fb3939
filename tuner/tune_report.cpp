// See tune_report.h.
#include "tuner/tune_report.h"

#include "core/base/words.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

// A sitting with less than this share of its time, or less than these seconds, would only measure the original.
constexpr double kSpentShare = 0.05, kSpentSeconds = 1;

Json trial_json(const std::optional<RunTrial>& trial) {
  if (!trial) return nullptr;
  auto& figures = trial->figures();
  Json json = {{"id", trial->id},
               {"tier", trial->candidate.tier},
               {"proposer", trial->candidate.proposer},
               {"note", trial->candidate.note()},
               {"recipe", trial->candidate.recipe.text()},
               {"confirmed", trial->confirmed.has_value()},
               {"outcome", name(figures.outcome)},
               {"speedup", figures.speedup()},
               {"speedup_low", figures.speedup_low()},
               {"seconds", figures.seconds()},
               {"device", figures.device}};
  if (figures.other_sizes) json["other_sizes"] = to_json(*figures.other_sizes);
  if (figures.sizes_run) json["sizes_run"] = to_json(*figures.sizes_run);
  if (figures.field) json["field"] = to_json(*figures.field);
  return json;
}

/// "2 finalists were refused when they were confirmed (#4: wrong at n = 496: …), 1 was no faster then".
std::string lost_finalists(const History& history) {
  size_t refused = 0, slower = 0;
  std::string first;
  for (auto& trial : history) {
    if (!trial.confirmed) continue;
    if (trial.confirmed->ok()) ++slower;
    else if (++refused == 1) first = "#" + std::to_string(trial.id) + ": " + trial.confirmed->as_told().text();
  }
  std::string text;
  auto add = [&](size_t count, const std::string& what) {
    if (count == 0) return;
    text += text.empty() ? counted(count, "finalist") : " and " + std::to_string(count);
    text += (count == 1 ? " was " : " were ") + what;
  };
  add(refused, "refused when confirmed (" + first + ")");
  add(slower, "no faster when measured again in a fresh process");
  return text;
}

}  // namespace

TuneReport report_on(const History& history, double seconds) {
  auto copy_of = [](const RunTrial* trial) { return trial ? std::optional(*trial) : std::nullopt; };
  TuneReport report;
  report.baseline = copy_of(history.baseline());
  report.best = copy_of(best_of(history, false)), report.best_applicable = copy_of(best_of(history, true));
  report.tried = history.size() - (history.baseline() ? 1 : 0), report.failed = history.failed();
  for (auto& trial : history) {
    ++report.outcomes[name(trial.verdict.outcome)];
    ++report.tiers[trial.candidate.tier];
  }
  report.seconds = seconds;
  if (!report.gained(report.best)) report.lost = lost_finalists(history);
  return report;
}

std::string nothing_added(const std::string& stopped_by, double seconds, int64_t evaluations) {
  char given[48];
  std::snprintf(given, sizeof given, "%.0f s", seconds);
  if (stopped_by == "time")
    return std::string("the ") + given +
           " that the run was given are spent; to search on, give it more: --resume --time 10m";
  if (stopped_by == "evaluations")
    return "the run has tried the " + std::to_string(evaluations) +
           " candidates that it was given; to search on, give it more: --resume --evals 100";
  if (stopped_by == "nothing left to try")
    return "all that these tiers have for this kernel has been tried; further ideas can come from a model (--llm) or "
           "from you (`kernelift evaluate`)";
  return {};
}

Json to_json(const TuneReport& report) {
  return {{"tried", report.tried},
          {"added", report.added},
          {"failed", report.failed},
          {"outcomes", report.outcomes},
          {"tiers", report.tiers},
          {"seconds", report.seconds},
          {"stopped_by", report.stopped_by},
          {"interrupted", report.interrupted},
          {"unconfirmed", report.unconfirmed},
          {"lost", report.lost},
          {"nothing_added", report.nothing_added},
          {"notes", report.notes},
          {"gained", report.gained(report.best)},
          {"gained_applicable", report.gained(report.best_applicable)},
          {"baseline", trial_json(report.baseline)},
          {"best", trial_json(report.best)},
          {"best_applicable", trial_json(report.best_applicable)}};
}

std::string without_gain(size_t tried, const std::string& stopped_by) {
  if (tried == 0) return "nothing tried";
  if (stopped_by == kOriginalFails) return "not judged";
  return stopped_by == "time" || stopped_by == "interrupt" || stopped_by == kNoProgress ? "undecided" : "no gain";
}

TunedKernel kernel_of(const Mep& mep, const std::string& text) {
  TunedKernel kernel{mep.place(text), mep.proof_note, {}, {}};
  for (auto& instance : mep.instances)
    kernel.launches.push_back(
        {instance.id, instance.geometry, instance.held_out, instance.weight, instance.microseconds});
  return kernel;
}

Result<std::optional<TuneReport>> spent_already(const Run& run, const TuneOptions& options) {
  KERNELIFT_ASSIGN(auto trials, run.history());
  History history;
  for (auto& trial : trials) history.add(std::move(trial));
  if (!history.baseline()) return std::optional<TuneReport>();
  TuneReport report = report_on(history, run.meta().seconds_spent);
  if (options.seconds <= 0 ||
      options.seconds - report.seconds >= std::max(kSpentSeconds, kSpentShare * options.seconds))
    return std::optional<TuneReport>();
  report.stopped_by = "time";
  report.nothing_added = nothing_added(report.stopped_by, options.seconds, options.evaluations);
  return std::optional(std::move(report));
}

}  // namespace kernelift::tuner
