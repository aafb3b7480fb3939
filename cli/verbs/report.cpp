// kernelift report RUN -o FILE.html: gathers a run, its MEP and what apply said into one page.
#include <algorithm>

#include "cli/report/report_page.h"
#include "cli/verbs.h"
#include "core/base/file.h"
#include "core/model/kernel_key.h"
#include "core/model/mep.h"
#include "reintegrate/patch/text_diff.h"
#include "tuner/store/run.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

struct Options {
  std::string run, output;
};

const Timing* timing_of(const std::string& instance, const Verdict& verdict) {
  for (auto& timing : verdict.timings)
    if (timing.instance == instance) return &timing;
  return nullptr;
}

/// Launches of one geometry that take about as long are timed by one of them; held-out ones only where a gain is confirmed.
std::string why_untimed(const MepInstance& instance, const Mep& mep, const Verdict& verdict) {
  if (instance.held_out) return "verified only";
  for (auto& other : mep.instances)
    if (!other.held_out && other.geometry == instance.geometry && timing_of(other.id, verdict)) return "as " + other.id;
  return "not timed";
}

std::vector<ReportInstance> instances_of(const Mep& mep, const std::optional<RunTrial>& best) {
  std::vector<ReportInstance> rows;
  for (auto& instance : mep.instances) {
    ReportInstance row{instance.id, instance.geometry.text(), instance.held_out, instance.weight, instance.microseconds, 0, 0, {}};
    if (!best) row.untimed = "–";
    else if (auto* timing = timing_of(instance.id, best->figures())) row.baseline_us = timing->baseline_seconds * 1e6, row.best_us = timing->seconds * 1e6;
    else row.untimed = why_untimed(instance, mep, best->figures());
    rows.push_back(row);
  }
  return rows;
}

/// Where the kernel stands in the application. The lines before it are what it uses.
std::string place_of(const Mep& mep, const std::string& text) {
  // A page that is passed on names no folder of whoever made it.
  auto within = [&](const std::string& file) { return fs::path(file).is_absolute() ? fs::path(file).lexically_proximate(mep.app_root).string() : file; };
  std::string name = base_name(mep.kernel_key);
  if (size_t scope = name.rfind("::"); scope != name.npos) name = name.substr(scope + 2);
  size_t at = 0, since_global = 3;  // Return type, attributes and name may stand on lines of their own.
  for (auto& line : split_lines(text)) {
    since_global = line.text.find("__global__") == line.text.npos ? since_global + 1 : 0;
    if (since_global < 3 && line.text.find(name + "(") != line.text.npos && at < mep.origins.size() && !mep.origins[at].file.empty())
      return within(mep.origins[at].file) + ":" + std::to_string(mep.origins[at].line);
    ++at;
  }
  return within(mep.unit);
}

/// What apply wrote beside the run; nothing if it was not run, or by another version.
std::optional<ReportApplied> applied_of(const fs::path& file) {
  auto document = read_json(file);
  if (!document.ok()) return std::nullopt;
  auto read = reading(file.string(), [&] {
    auto number = [](const Json& from, const char* key) { return from.is_object() && from.at(key).is_number() ? from.at(key).get<double>() : 0.0; };
    const Json& measured = document->at("measured");
    std::string outcome = document->at("outcome");
    ReportApplied applied{outcome == "kept" ? "kept" : outcome == "too_small" ? "not tried" : "rolled back", document->at("why"),
                          static_cast<int>(number(*document, "candidate")), number(document->at("predicted"), "whole"), number(measured, "speedup"),
                          document->at("notes"), document->at("diff")};
    return applied;
  });
  return read.ok() ? std::optional(std::move(*read)) : std::nullopt;
}

Result<ReportData> gather(const fs::path& file) {
  KERNELIFT_ASSIGN(Run run, Run::open(file));
  KERNELIFT_ASSIGN(std::vector<RunTrial> history, run.history());
  KERNELIFT_ASSIGN(std::optional<RunTrial> best, run.best());
  KERNELIFT_ASSIGN(std::optional<RunTrial> baseline, run.baseline());
  ReportData data;
  data.kernel = run.meta().kernel;
  data.run = file.filename().string();
  data.seconds = run.meta().seconds_spent;
  data.device = baseline ? baseline->verdict.device : run.meta().device;
  for (auto& trial : history) {
    const Verdict& verdict = trial.figures();
    data.candidates.push_back({int(trial.id), trial.candidate.tier, trial.candidate.proposer, trial.candidate.note, name(verdict.outcome),
                               verdict.text(), verdict.speedup(), verdict.speedup_low()});
  }
  if (best && best->figures().speedup_low() > kSmallestGain) {
    data.best_speedup = best->figures().speedup(), data.best_low = best->figures().speedup_low(), data.confirmed = best->confirmed.has_value();
    data.best_note = best->candidate.note;
    if (!best->candidate.recipe.is_default()) data.best_recipe = best->candidate.recipe.text();
    if (baseline) data.diff = unified_diff("kernel.cu", baseline->candidate.source, best->candidate.source);
  }
  KERNELIFT_ASSIGN(std::string stopped_by, run.get_state(kStoppedBy));
  data.without_gain = without_gain(history.size() - std::min<size_t>(history.size(), baseline ? 1 : 0), stopped_by);
  // The run is whole without its MEP: a page without the launches beats no page.
  if (auto mep = Mep::read(run.meta().mep); mep.ok()) {
    data.instances = instances_of(*mep, best);
    data.proof = mep->proof_note;
    data.place = place_of(*mep, baseline ? baseline->candidate.source : "");
  }
  data.applied = applied_of(fs::path(file).replace_extension(".applied.json"));
  return data;
}

Result<Exit> report(const Context& context, const Options& options) {
  fs::path run = options.run, state = context.state_folder();
  if (run.empty()) run = Run::last_written(state);
  if (run.empty()) return usage_error("there is no run under " + (state / "runs").string() + "; make one with: kernelift tune MEP");
  KERNELIFT_ASSIGN(ReportData data, gather(run));
  KERNELIFT_TRY(write_atomically(options.output, report_page(data)));
  context.say("Report in " + fs::absolute(options.output).string());
  context.emit({{"report", fs::absolute(options.output).string()}, {"candidates", data.candidates.size()}, {"best_speedup", data.best_speedup}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "Run file (default: the one written last)");
  app.add_option("-o,--output", options->output, "HTML file to write")->required();
  return [options](const Context& context) { return report(context, *options); };
}

}  // namespace

const Verb kReport = {"report", "Write one self-contained HTML page about a run", "kernelift report .kernelift/runs/smooth-1.klrun -o smooth.html", setup};

}  // namespace kernelift::cli
