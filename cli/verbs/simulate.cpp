// `kernelift simulate`: runs search strategies on recorded trials, so that they can be compared without a GPU.
#include <cstdio>
#include <set>
#include <sstream>

#include "cli/verbs.h"
#include "core/base/file.h"
#include "tuner/search/simulation.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string trials, strategy = "all";
  std::vector<std::string> inherit;
  std::string start;
  size_t evaluations = 100, seeds = 10, batch = 1, inherit_evaluations = 0;
};

/// The strategy that made the runs of --inherit-evals: the one that `tune` uses by default.
constexpr const char* kUsualStrategy = "portfolio";
constexpr double kMilestones[] = {0.1, 0.25, 0.5, 1};  ///< Fractions of the budget shown in the printed curve.

Json to_json(const tuner::SimulationCurve& curve) {
  Json points = Json::array();
  for (size_t e = 1; e <= curve.evaluations; ++e)
    points.push_back({{"evaluations", e},
                      {"mean", curve.mean(e)},
                      {"median", curve.quantile(e, 0.5)},
                      {"low", curve.quantile(e, 0.1)},
                      {"high", curve.quantile(e, 0.9)}});
  return {{"strategy", curve.strategy},
          {"inherits", tuner::inherits(curve.strategy)},
          {"seeds", curve.seeds},
          {"curve", points},
          {"milliseconds_per_evaluation", curve.searcher_seconds * 1e3 / double(curve.seeds * curve.evaluations)}};
}

/// Numbers of evaluations at which the curve is printed, each once: in a small budget two fractions may coincide.
std::vector<size_t> columns(size_t budget) {
  std::set<size_t> columns;
  for (double share : kMilestones) columns.insert(std::max<size_t>(1, size_t(share * double(budget))));
  return {columns.begin(), columns.end()};
}

/// What the files of --inherit say about the space; null without them.
Result<std::shared_ptr<const tuner::Prior>> read_prior(const Options& options, const tuner::Trials& trials,
                                                       std::vector<std::string>& notes) {
  std::shared_ptr<const tuner::Prior> none;
  if (options.inherit.empty()) return none;
  std::vector<tuner::EarlierRun> runs;
  for (auto& file : options.inherit) {
    KERNELIFT_ASSIGN(tuner::Trials earlier, tuner::read_trials(file));
    if (!earlier.kernel.empty() && !trials.kernel.empty() && earlier.kernel != trials.kernel)
      notes.push_back(file + " holds trials of another kernel, " + earlier.kernel);
    KERNELIFT_ASSIGN(tuner::EarlierRun run,
                     tuner::earlier_run(earlier, file, kUsualStrategy, options.inherit_evaluations));
    runs.push_back(std::move(run));
  }
  return std::make_shared<const tuner::Prior>(tuner::Prior::of(trials.space, runs, notes));
}

/// The proposals of --start: a file's, the same for all seeds, or drawn for each of them.
Result<std::function<tuner::StartingPoints(uint64_t)>> read_start(const Options& options, const tuner::Trials& trials,
                                                                  std::vector<std::string>& notes) {
  std::function<tuner::StartingPoints(uint64_t)> made;
  if (options.start.empty()) return made;
  if (!std::filesystem::exists(options.start)) {
    KERNELIFT_TRY(proposed_by(options.start, trials, 1));
    made = [&trials, kind = options.start](uint64_t seed) { return *proposed_by(kind, trials, seed); };
    return made;
  }
  KERNELIFT_ASSIGN(std::string text, read_text(options.start));
  auto read = tuner::StartingPoints::read(trials.space, text);
  if (!read.ok()) return usage_error(options.start + ": " + read.error().message);
  for (auto& why : read->rejected) notes.push_back(options.start + ", " + why);
  made = [read = *std::move(read)](uint64_t) { return read; };
  return made;
}

Result<Exit> run(const Options& options, const Context& context) {
  KERNELIFT_ASSIGN(tuner::Trials trials, tuner::read_trials(options.trials));
  std::vector<std::string> notes;
  KERNELIFT_ASSIGN(auto prior, read_prior(options, trials, notes));
  KERNELIFT_ASSIGN(auto start, read_start(options, trials, notes));
  std::vector<std::string> strategies;
  std::stringstream words(options.strategy);
  for (std::string word; std::getline(words, word, ',');) strategies.push_back(word);
  if (options.strategy == "all") strategies = tuner::searcher_names();
  char line[240];
  std::snprintf(line, sizeof line, "%zu configurations (%zu of them failures), optimum %.6g%s%s", trials.results.size(),
                trials.failures, trials.optimum, trials.device.empty() ? "" : ", ", trials.device.c_str());
  context.say(line);
  for (auto& note : notes) context.say("Note: " + note + ".");
  if (prior)
    context.say("Inherited: " + counted(prior->trials(), "trial") + " of " + counted(prior->sources(), "earlier run") +
                ", by the strategies that can: bayesian and portfolio.");
  if (start) context.say("Begins with proposed configurations: " + options.start + ".");
  context.say("Fraction of the optimum reached, mean and [10 %, 90 %] over " + std::to_string(options.seeds) +
              " seeds:");
  std::string head = "  strategy  ";
  for (size_t e : columns(options.evaluations)) {
    std::snprintf(line, sizeof line, "  %6zu evaluation%s  ", e, e == 1 ? " " : "s");
    head += line;
  }
  context.say(head);
  Json curves = Json::array();
  for (auto& strategy : strategies) {
    KERNELIFT_ASSIGN(tuner::SimulationCurve curve,
                     simulate(trials, strategy, options.evaluations, options.seeds, options.batch, {prior, start}));
    std::snprintf(line, sizeof line, "  %-10s", strategy.c_str());
    std::string row = line;
    for (size_t e : columns(options.evaluations)) {
      std::snprintf(line, sizeof line, "  %.3f [%.3f, %.3f]", curve.mean(e), curve.quantile(e, 0.1),
                    curve.quantile(e, 0.9));
      row += line;
    }
    context.say(row);
    curves.push_back(to_json(curve));
  }
  context.emit({{"trials", options.trials},
                {"configurations", trials.results.size()},
                {"failures", trials.failures},
                {"optimum", trials.optimum},
                {"start", options.start},
                {"inherited",
                 {{"runs", prior ? prior->sources() : 0}, {"trials", prior ? prior->trials() : 0}, {"notes", notes}}},
                {"strategies", curves}});
  return Exit::Done;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--trials", options->trials, "Kernel Tuner cachefile or T4 results, plain or .gz")->required();
  app.add_option("--strategy", options->strategy,
                 "random, local, genetic, bayesian, portfolio, several of them separated by commas, or all");
  app.add_option("--evals", options->evaluations, "Evaluations per seed")->check(CLI::PositiveNumber);
  app.add_option("--seeds", options->seeds, "Number of seeds")->check(CLI::PositiveNumber);
  app.add_option("--batch", options->batch, "Number of points requested at a time")->check(CLI::PositiveNumber);
  auto* inherit =
      app.add_option("--inherit", options->inherit,
                     "Trials of earlier runs (of the same kernel on other GPUs, at other sizes) from which to begin")
          ->check(CLI::ExistingFile);
  app.add_option("--start", options->start,
                 "Configurations to begin with, as a model proposes them: a file with its answer (docs/models.md), or "
                 "right, random or misleading ones, drawn for each seed")
      ->excludes(inherit);
  app.add_option("--inherit-evals", options->inherit_evaluations,
                 "Of each file of --inherit, only what a run with so many evaluations would have tried (default: all)")
      ->check(CLI::PositiveNumber);
  return [options](const Context& context) { return run(*options, context); };
}

}  // namespace

extern const Verb kSimulate = {
    "simulate", "Compare search strategies on recorded trials, without a GPU",
    "kernelift simulate --trials a100.json.gz --inherit a4000.json.gz --strategy portfolio --evals 100 --seeds 10",
    setup};

}  // namespace kernelift::cli
