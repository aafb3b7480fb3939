// `kernelift tune`: searches for a faster version of a MEP's kernel in the three tiers and stores every verdict in a
// run file, from which the search can be continued. A terminal shows one progress line that is updated in place; a log
// gets a line at each improvement and every ten seconds.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "cli/duration.h"
#include "cli/inherited_lines.h"
#include "cli/mep_addresses.h"
#include "cli/mep_folder.h"
#include "cli/pattern_session.h"
#include "cli/progress_line.h"
#include "cli/repositories.h"
#include "cli/search_options.h"
#include "cli/verbs.h"
#include "core/base/file.h"
#include "core/base/signal_scope.h"
#include "core/base/words.h"
#include "core/compiler/frontend.h"
#include "core/compiler/paths.h"
#include "core/model/candidate/tune_declarations.h"
#include "core/model/recorded_facts.h"
#include "extractor/extract/runtime_source.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "reintegrate/apply_request.h"
#include "reintegrate/flags/build_line.h"
#include "reintegrate/patch/constants/shared_knobs.h"
#include "reintegrate/patch/patchable_parts.h"
#include "sandbox/device/confined_cpu/confined_cpu.h"
#include "sandbox/device/cuda/clock_lock.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/judge/diagnosis.h"
#include "tuner/source/hypotheses/findings_file.h"
#include "tuner/source/hypotheses/hypothesis_board.h"
#include "tuner/source/llm/start/start_proposer.h"
#include "tuner/space/kernel_template.h"
#include "tuner/tiers.h"
#include "tuner/tuner.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

constexpr double kDefaultSeconds = 300;
constexpr double kLogEvery = 10;      ///< Seconds between progress lines in a log.
constexpr size_t kLogColumns = 1000;  ///< Width of a progress line in a log: not shortened.

struct Options {
  std::string mep, tiers = "source,params,compiler", time, patience, strategy = "portfolio";
  std::vector<std::string> templates;  ///< Files.
  SearchOptions search;
  std::vector<std::string> try_first, repositories;
  std::vector<std::string> inherit;
  int64_t evaluations = 0;
  uint64_t seed = 1;
  bool no_inherit = false, resume = false, lock_clocks = false, allow_weak_jail = false;
};

std::atomic<bool> interrupted = false;

/// The first signal ends the search and keeps its results; a second one ends the process.
void on_signal(int number) {
  interrupted = true;
  std::signal(number, SIG_DFL);
}

std::string gain(double speedup) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3fx", speedup);
  return text;
}

class ProgressPrinter {
 public:
  explicit ProgressPrinter(const Context& context) : context_(context), live_(context.terminal()) {}
  ~ProgressPrinter() { clear(); }

  void operator()(const tuner::Progress& progress) {
    if (!progress.message.empty()) {
      clear();
      bool detail = progress.message.find("confirming") != std::string::npos ||
                    progress.message.find("left alone: ") != std::string::npos;
      if (context_.verbosity > 0 || !detail) context_.note("  " + progress.message);
    }
    if (live_) {
      context_.progress(progress_line(progress, Context::columns()));
      shown_ = true;
    } else if (progress.improved || progress.seconds - logged_ >= kLogEvery) {
      logged_ = progress.seconds;
      context_.note(progress_line(progress, kLogColumns));
    }
  }

 private:
  void clear() {
    if (shown_) context_.progress("");
    shown_ = false;
  }
  const Context& context_;
  bool live_, shown_ = false;
  double logged_ = 0;
};

/// How a run with that tolerance compares floats.
std::string within(double tolerance) {
  Verdict verdict;
  verdict.tolerance = tolerance;
  return tolerance > 0 ? verdict.tolerance_text() : "within the rounding that the original has";
}

/// Opens the MEP's latest run to continue it and sets the budgets: those on the command line are for this continuation;
/// without them, what is left of the run's own.
Result<tuner::Run> resume_run(const Options& options, const Context& context, const fs::path& folder, double seconds,
                              tuner::TuneOptions& tuning) {
  fs::path state = context.state_folder();
  std::string name = folder.filename().string();
  fs::path file = tuner::Run::latest_path(state, name);
  if (file.empty())
    return usage_error("there is no run of " + name + " under " + (state / "runs").string() +
                       " to continue; start one without --resume");
  KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::resume(file));
  if (run.meta().tolerance != options.search.tolerance)
    return usage_error(file.string() + " holds verdicts " + within(run.meta().tolerance) + ": go on with " +
                       (run.meta().tolerance > 0 ? "the same --tolerance" : "no --tolerance") +
                       ", or start a new run without --resume");
  KERNELIFT_ASSIGN(auto history, run.history());
  int64_t tried = static_cast<int64_t>(history.size()) - (history.empty() ? 0 : 1);
  if (!options.patience.empty()) {
    KERNELIFT_ASSIGN(tuning.patience, parse_duration(options.patience));
  }
  tuning.seconds = seconds > 0 ? run.meta().seconds_spent + seconds : run.meta().time_budget;
  tuning.evaluations = options.evaluations > 0 ? tried + options.evaluations : run.meta().evaluation_budget;
  if (seconds == 0 && options.evaluations > 0) tuning.seconds = 0;
  tuning.seed = run.meta().seed + static_cast<uint64_t>(tried);
  return run;
}

bool on_cpu(const Context& context) { return record::is_processor(context.device); }

/// The architecture of the GPU on which candidates run, "sm_90": devices name it, and if none does, the build.
std::string architecture_of(const Mep& mep, const std::optional<KernelFacts>& facts, bool on_cpu) {
  if (on_cpu) return "cpu";
  std::istringstream words(facts ? facts->device : mep.captured_on);
  for (std::string word; words >> word;)
    if (word.starts_with("sm_")) return word.substr(0, word.find(','));
  return mep.architecture;
}

Result<tuner::Run> create_run(const Context& context, const fs::path& folder, const Mep& mep,
                              const std::vector<std::string>& tiers, const Options& options,
                              const tuner::TuneOptions& tuning) {
  tuner::RunMeta meta;
  meta.mep = folder.string(), meta.kernel = mep.kernel_name, meta.device = on_cpu(context) ? "cpu" : context.device,
  meta.seed = tuning.seed;
  KERNELIFT_ASSIGN(meta.mep_hash, tuner::hash_mep(folder, mep));
  meta.tolerance = options.search.tolerance;
  meta.tiers = tiers, meta.time_budget = tuning.seconds, meta.evaluation_budget = tuning.evaluations;
  fs::path state = context.state_folder();
  KERNELIFT_TRY(create_state_folder(state));
  return tuner::Run::create(tuner::Run::next_path(state, folder.filename().string()), meta);
}

/// Makes the evaluator respect the end of the time budget.
void limit_time(const tuner::TuneOptions& tuning, double left, sandbox::EvaluatorOptions& evaluation) {
  // A candidate that compiles for too long must not delay the end. The minimum allows for a machine with other load.
  constexpr double kLeastCompileSeconds = 8, kCompileShare = 0.04;
  auto milliseconds = [](double seconds) { return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3)); };
  evaluation.begun = tuning.started, evaluation.deadline = *tuning.started + milliseconds(left);
  evaluation.compile_limit =
      std::min(evaluation.compile_limit, milliseconds(std::max(kLeastCompileSeconds, kCompileShare * left)));
}

/// The steps of a run's winner; none if it has no confirmed gain that can be patched in.
Result<std::optional<tuner::Chain>> chain_of(const std::string& name, const fs::path& state) {
  KERNELIFT_ASSIGN(fs::path file, reintegrate::find_run(name, state));
  KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::open(file));
  KERNELIFT_ASSIGN(auto best, run.best(true));
  if (!best || !best->confirmed || !best->figures().gains()) return std::optional<tuner::Chain>();
  return std::optional(tuner::Chain{run.meta().kernel, best->candidate.steps});
}

tuner::TierOptions tier_options(const Options& options, const Mep& mep, const fs::path& folder,
                                const std::vector<std::string>& tiers) {
  tuner::TierOptions made;
  made.tiers = tiers, made.strategy = options.strategy, made.clang_arguments = clang_argument_sets(mep, folder);
  return made;
}

/// Profiles the original with hardware counters, if the budget allows: the tiers then first try what its bottleneck
/// suggests.
std::optional<KernelFacts> profile_original(const Mep& mep, const fs::path& folder, const Context& context,
                                            double budget) {
  // What profiling takes, in seconds, and in launches on the recorded instances; the share of the budget it is worth.
  constexpr double kSeconds = 3, kLaunches = 40, kShare = 0.05;
  double takes = kSeconds;
  for (auto& instance : mep.instances) takes += kLaunches * instance.microseconds * 1e-6;
  if (on_cpu(context) || (budget > 0 && takes > kShare * budget)) return std::nullopt;
  sandbox::ReplayOptions replaying;
  replaying.device = context.device, replaying.cold = false, replaying.counters = true;
  auto report = replay(folder, replaying);
  if (report.ok()) (void)keep_fidelity(folder, report->fidelity());  // Optional: without it the MEP has no grade.
  // An error of the replay is not reported here: the evaluator will report it.
  if (!report.ok() || !report->facts) return std::nullopt;
  context.note("  " + sandbox::diagnose(*report->facts).paragraph());
  if (report->cross_check) context.note("  " + report->cross_check->text());
  return report->facts;
}

/// The templates that the user names, each at its first setting.
Result<std::vector<Candidate>> read_templates(const std::vector<std::string>& files, const Mep& mep,
                                              const fs::path& folder) {
  std::vector<Candidate> templates;
  KERNELIFT_ASSIGN(Candidate original, tuner::original_candidate(mep, folder));
  for (auto& file : files) {
    auto text = read_text(file);
    if (!text.ok()) return usage_error("cannot read " + file);
    if (auto declared = TuneDeclarations::parse(*text); declared.ok() && declared->parameters.empty())
      return usage_error(file +
                         " declares no parameters (`// kernelift: tune TILE in {16, 32, 64}`); without any, "
                         "`kernelift evaluate` judges it");
    auto candidate = tuner::candidate_of_template(mep, original.source, *text, fs::path(file).filename().string());
    if (!candidate.ok()) return std::move(candidate).error().in(file);
    templates.push_back(*std::move(candidate));
  }
  return templates;
}

/// The runs that are inherited: those that the user names, else what there is of the kernel.
Result<std::shared_ptr<const std::vector<tuner::EarlierSearch>>> earlier_searches(const Options& options,
                                                                                  const Mep& mep,
                                                                                  const Context& context) {
  std::vector<tuner::EarlierSearch> found;
  std::vector<std::string> notes;
  for (auto& file : options.inherit) {
    KERNELIFT_ASSIGN(auto earlier, tuner::read_earlier(file, mep.kernel_name));
    found.push_back(std::move(earlier));
  }
  if (options.inherit.empty() && !options.no_inherit)
    found = tuner::find_earlier(context.state_folder(), mep.kernel_name, on_cpu(context), notes);
  for (auto& note : notes) context.note("  " + note);
  for (auto& earlier : found)
    context.note("  begins from " + earlier.file.filename().string() + ": " +
                 counted(earlier.trials.size() - std::min<size_t>(1, earlier.trials.size()), "candidate") + " on " +
                 earlier.device);
  return std::make_shared<const std::vector<tuner::EarlierSearch>>(std::move(found));
}

Json to_json(const tuner::FirstClose& close) {
  return {{"evaluations", close.evaluations}, {"seconds", close.seconds}, {"best_speedup", close.best}};
}

/// Writes down what the run inherited, and how soon it and each of the earlier ones came close to its best.
Status keep_inherited(tuner::Run& run, const std::vector<tuner::EarlierSearch>& earlier) {
  if (earlier.empty()) return done();
  KERNELIFT_ASSIGN(auto history, run.history());
  Json runs = Json::array();
  for (auto& one : earlier) {
    Json row = to_json(first_close(one.trials));
    row["run"] = one.file.filename().string(), row["device"] = one.device,
    row["trials"] = one.trials.size() - std::min<size_t>(1, one.trials.size());
    runs.push_back(std::move(row));
  }
  return run.put_state(tuner::kInheritedState,
                       compact({{"runs", runs}, {"within", tuner::kClose}, {"this", to_json(first_close(history))}}));
}

/// Says that nothing was found, and how to continue if the search did not finish.
std::string nothing_found(size_t tried, const std::string& stopped_by) {
  std::string none = tuner::without_gain(tried, stopped_by);
  if (stopped_by == tuner::kAllFailAlike) return "no candidate is right";
  if (none == "no gain") return "no gain beyond the noise";
  if (none != "undecided") return none;
  return std::string("no gain beyond the noise so far: ") +
         (stopped_by == "time"               ? "the time ran out"
          : stopped_by == tuner::kNoProgress ? "it made no progress (--patience)"
                                             : "it was interrupted") +
         " before the search finished; continue with the same command and --resume";
}

bool asks_for(const std::vector<std::string>& tiers, const char* tier) {
  return std::ranges::find(tiers, tier) != tiers.end();
}

void print_report(const tuner::TuneReport& report, const tuner::Run& run, const Context& context) {
  auto line = [&](const char* what, const std::optional<tuner::RunTrial>& trial, size_t tried) {
    if (!report.gained(trial)) return context.say(what + nothing_found(tried, report.stopped_by));
    auto& figures = trial->figures();
    context.say(std::string(what) + gain(figures.speedup()) + " (at least " + gain(figures.speedup_low()) + ")" +
                (trial->confirmed ? "" : ", not confirmed") + "  #" + std::to_string(trial->id) + " " +
                trial->candidate.tier + ": " + trial->candidate.note());
    for (auto& line : figures.beyond_recorded()) context.say("  " + line);
  };
  std::string failures;
  for (auto& [outcome, count] : report.outcomes)
    if (outcome != "ok") failures += (failures.empty() ? " (" : ", ") + std::to_string(count) + " " + outcome;
  std::string now =
      report.added < report.tried && report.added > 0 ? ", " + std::to_string(report.added) + " of them now" : "";
  context.say("Tried " + counted(report.tried, "candidate") + now +
              (failures.empty() ? "" : ", " + std::to_string(report.failed) + " failed" + failures + ")") + ", in " +
              duration_words(report.seconds) + "; stopped by: " + report.stopped_by +
              (report.baseline ? "; on " + report.baseline->verdict.device : ""));
  auto compiled = report.tiers.find("compiler");
  size_t by_compiler = compiled == report.tiers.end() ? 0 : compiled->second;
  line("Best as source and parameters: ", report.best_applicable, report.tried - by_compiler);
  if (asks_for(run.meta().tiers, "compiler") && !(report.best && report.best->applicable()))
    line("Best with the compiler tier:   ", report.best, by_compiler);
  if (!report.unconfirmed.empty()) context.say("Note: " + report.unconfirmed);
  if (!report.lost.empty()) context.say("Note: " + report.lost + ".");
  if (!report.nothing_added.empty()) context.say("Nothing was added: " + report.nothing_added);
  for (auto& note : report.notes) context.say("Note: " + note + ".");
  context.say("Run: " + run.file().string());
}

/// What came of models' hypotheses: idea, prediction, outcome, and what a gain has cost.
void print_findings(const std::vector<tuner::Finding>& findings, const Context& context) {
  constexpr size_t kMost = 20;
  for (size_t at = 0; at < std::min(kMost, findings.size()); ++at) {
    const std::string cost = findings[at].cost_per_gain();
    std::string text = findings[at].text() + " (" + (cost.empty() ? findings[at].cost_text() : cost) + ")";
    text[0] = 'H';
    context.say(text);
  }
  if (findings.size() > kMost)
    context.say(counted(findings.size() - kMost, "further finding") + " in the report (kernelift report)");
}

/// The other kernels that use the best candidate's changed knobs; empty if there are none, or no scan.
std::string others_text(const tuner::TuneReport& report, const Mep& mep, const Context& context) {
  if (!report.gained(report.best_applicable)) return {};
  auto scan = ScanIndex::read(context.state_folder() / "scan.json");
  reintegrate::SharedKnobs shared =
      scan.ok() ? reintegrate::shared_knobs(mep, *scan, report.best_applicable->candidate.values)
                : reintegrate::SharedKnobs();
  return shared.empty() ? ""
                        : text_of(shared) +
                              ": `kernelift apply` gives the kernel constants of its own, or judges the effect on them "
                              "before it builds anything";
}

/// Candidates are timed with warm caches; where the application's heaviest launch finds them cold, a sentence says so.
std::string caches_text(const Mep& mep) {
  const auto heaviest = std::ranges::max_element(mep.instances, {}, &MepInstance::weight);
  if (heaviest == mep.instances.end() || heaviest->in_vivo.cache != "cold") return "";
  return "all was timed with warm caches, and in the application the heaviest launch finds them cold" +
         (heaviest->in_vivo.why.empty() ? "" : " (" + heaviest->in_vivo.why + ")") +
         ": its gain may be another there, which `kernelift apply` measures";
}

/// Why flags of the application's compiler for the kernel's file are not tried: no patch could write them. Empty: they
/// may have a place.
std::string no_place_for_flags(const Mep& mep, const Context& context) {
  if (extractor::origin_of_program(mep.app_root)) return "the application compiles it while it runs";
  const fs::path state = context.state_folder();
  auto scan = ScanIndex::read(state / "scan.json");
  return reintegrate::why_no_place_for_flags(
      mep, scan.ok() && !scan->database.empty() ? fs::path(scan->database) : state / "compile_commands.json");
}

/// Prints the report of a search, or of a resumed run whose budget was spent already; returns the exit code.
Exit conclude(const tuner::TuneReport& report, const tuner::Run& run, const Mep& mep, const Context& context) {
  print_report(report, run, context);
  auto kernel = run.kernel();
  std::vector<std::string> not_tried;
  if (kernel.ok() && *kernel) not_tried = (*kernel)->not_tried;
  if (std::string why = no_place_for_flags(mep, context); !why.empty() && asks_for(run.meta().tiers, "compiler"))
    not_tried.push_back("flags of the compiler for the kernel's file, because " + why);
  for (auto& what : not_tried) context.say("Not tried: " + what + ".");
  std::vector<tuner::Finding> findings;
  auto states = run.states();
  auto trials = run.history();
  if (states.ok() && trials.ok()) findings = tuner::findings_of(*states, *trials);
  print_findings(findings, context);
  if (std::string caches = caches_text(mep); !caches.empty()) context.say("Note: " + caches + ".");
  std::string others = others_text(report, mep, context);
  if (!others.empty()) context.say("Note: " + others + ".");
  Json document = to_json(report);
  document["also_changes"] = others, document["not_tried"] = not_tried;
  document["run"] = run.file().string();
  document["hypotheses"] = Json::array();
  for (auto& finding : findings) document["hypotheses"].push_back(to_json(finding));
  if (auto spent = run.get_state(tuner::kModelUseKey); spent.ok() && !spent->empty())
    document["model"] = Json::parse(*spent, nullptr, false);
  if (auto start = run.get_state(tuner::kStartState); start.ok() && !start->empty())
    document["model_start"] = Json::parse(*start, nullptr, false);
  if (auto inherited = run.get_state(tuner::kInheritedState); inherited.ok() && !inherited->empty()) {
    document["inherited"] = Json::parse(*inherited, nullptr, false);
    for (auto& line : inherited_lines(document["inherited"])) context.say(line);
  }
  if (auto patterns = run.get_state(tuner::kPatternState); patterns.ok() && !patterns->empty()) {
    document["patterns"] = Json::parse(*patterns, nullptr, false);
    for (auto& line : pattern_lines(document["patterns"], !document.contains("inherited"))) context.say(line);
  }
  context.emit(document);
  return report.gained(report.best) ? Exit::Done : Exit::No;
}

Result<Exit> run_verb(const Options& options, const Context& context) {
  const auto started = tuner::TuneClock::Time::clock::now();
  KERNELIFT_ASSIGN(fs::path folder, find_mep(options.mep, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  if (!mep.linked.empty()) context.note("warning: " + mep.linked_text());
  KERNELIFT_ASSIGN(auto repositories, repository_tops(options.repositories));
  if (std::string why = reintegrate::patchable_parts(mep, repositories).why(); !why.empty())
    context.note("warning: `kernelift apply` cannot change this kernel's source: " + why);
  restart_if_addresses_taken(mep, context);
  KERNELIFT_ASSIGN(auto tiers, tuner::parse_tiers(options.tiers));
  tuner::TierOptions tier = tier_options(options, mep, folder, tiers);
  KERNELIFT_TRY(options.search.check());
  KERNELIFT_ASSIGN(auto llm, options.search.model());
  for (auto& spec : llm ? llm->specs : std::vector<tuner::ModelSpec>())
    if (spec.provider == tuner::ModelSpec::Provider::Exchange)
      context.note("  answers are waited for in " + spec.target +
                   ": each NNNN.prompt.md there wants an NNNN.answer.md");
  tier.without_rules = options.search.without_rules, tier.keep_precision = options.search.keep_precision;
  for (auto& name : options.try_first) {
    KERNELIFT_ASSIGN(auto chain, chain_of(name, context.state_folder()));
    if (chain) tier.chains.push_back(std::move(*chain));
  }
  KERNELIFT_ASSIGN(tier.templates, read_templates(options.templates, mep, folder));
  sandbox::EvaluatorOptions evaluation;
  evaluation.device = context.device;
  evaluation.tell = [&](const std::string& text) { context.note("  " + text); };
  evaluation.allow_weak_jail = options.allow_weak_jail;
  if (options.search.tolerance > 0) evaluation.tolerance = Tolerance{options.search.tolerance, 0};
  double seconds = 0;
  if (!options.time.empty()) {
    KERNELIFT_ASSIGN(seconds, parse_duration(options.time));
  }
  tuner::TuneOptions tuning;
  tuning.started = started, tuning.seed = options.seed, tuning.evaluations = options.evaluations;
  if (!options.patience.empty()) {
    KERNELIFT_ASSIGN(tuning.patience, parse_duration(options.patience));
  }
  tuning.seconds = seconds > 0 ? seconds : options.evaluations > 0 ? 0 : kDefaultSeconds;
  std::optional<tuner::Run> resumed;
  if (options.resume) {
    KERNELIFT_ASSIGN(resumed, resume_run(options, context, folder, seconds, tuning));
    KERNELIFT_ASSIGN(auto spent, spent_already(*resumed, tuning));
    if (spent && llm) spent->notes.emplace_back("the model was not asked: the run's budget was spent before");
    if (spent) return conclude(*spent, *resumed, mep, context);
  }
  if (tuning.seconds > 0)
    limit_time(tuning, tuning.seconds - (resumed ? resumed->meta().seconds_spent : 0), evaluation);
  KERNELIFT_ASSIGN(auto clocks, sandbox::lock_clocks(options.lock_clocks, context.device));
  // Comes before the evaluator's workers and threads exist, because it forks runners of its own.
  tier.facts = profile_original(mep, folder, context, tuning.seconds);
  PatternSession patterns(context, options.search.patterns, mep);
  KERNELIFT_ASSIGN(auto evaluator, make_evaluator(mep, folder, evaluation));
  if (std::string only = evaluator->only_as_built(); !only.empty()) {
    context.note("  " + only);
    std::erase(tier.tiers, "compiler");
    if (tier.tiers.empty()) return answer_is_no("the compiler tier searches compiler recipes for clang, but " + only);
  }
  // Read before this run has a file of its own. A run that goes on has its own history.
  if (!options.resume) {
    KERNELIFT_ASSIGN(tier.earlier, earlier_searches(options, mep, context));
  }
  // Created only now, so that a kernel that cannot be tuned leaves no run behind.
  if (!resumed) {
    KERNELIFT_ASSIGN(resumed, create_run(context, folder, mep, tiers, options, tuning));
  }
  tuner::Run& run = *resumed;
  if (auto known = evaluator->kernel_facts()) tier.facts = known;
  auto inherited =
      patterns.inherit(*evaluator, architecture_of(mep, tier.facts, on_cpu(context)),
                       tier.facts ? tuner::bound_by(*tier.facts) : tuner::Bound::Unknown, tuning.evaluations);
  if (!options.resume) tier.patterns = std::move(inherited);
  tier.seed = tuning.seed;
  tier.on_cpu = on_cpu(context);
  tier.unit_flags = no_place_for_flags(mep, context).empty();
  tuning.recipes_apply = !tier.on_cpu;
  KERNELIFT_ASSIGN(Candidate original, tuner::original_candidate(mep, folder));
  if (llm) {
    if (tier.facts) {
      const sandbox::Diagnosis diagnosis = sandbox::diagnose(*tier.facts);
      llm->profile = diagnosis.paragraph() + "\n" + sandbox::facts_table(*tier.facts);
      if (!diagnosis.roofs.empty()) llm->roof = diagnosis.roofs[0].name, llm->roof_share = diagnosis.roofs[0].share;
    }
    llm->device_limits = evaluator->device_limits(), llm->inputs = input_values(mep, folder);
    if (auto model = evaluator->kernel_model(); model.ok()) llm->accesses = access_lines(mep, *model);
    llm->transcripts = run.transcript_folder(), llm->run = run.file().filename().string();
    llm->findings = tuner::findings_path(context.state_folder() / "findings", mep.kernel_name);
    llm->seed = run.meta().seed;
    KERNELIFT_ASSIGN(llm->state.known, run.states());
    llm->state.keep = [&run](const std::string& key, const std::string& value) { (void)run.put_state(key, value); };
    if (asks_for(tiers, "source")) llm->offers = tuner::rules_that_apply(mep, original, tier).offers;
    tier.llm = std::move(llm);
  }
  auto proposers = make_proposers(mep, original.source, tier);
  if (!proposers.ok()) {
    // An option was wrong: a run that tried nothing would be the latest one.
    std::error_code ignored;
    if (!options.resume) fs::remove(run.file(), ignored);
    return std::move(proposers).error();
  }
  interrupted = false;
  Result<tuner::TuneReport> report = [&] {
    struct sigaction ends{};
    ends.sa_handler = on_signal;
    const SignalScope scope(ends);
    ProgressPrinter printer(context);
    tuning.interrupted = &interrupted;
    tuning.progress = [&](const tuner::Progress& progress) { printer(progress); };
    return tune(mep, folder, *evaluator, run, *std::move(proposers), tuning);
  }();
  if (!report.ok()) return std::move(report).error();
  if (tier.earlier) KERNELIFT_TRY(keep_inherited(run, *tier.earlier));
  KERNELIFT_TRY(patterns.keep(run));
  Exit answer = conclude(*report, run, mep, context);
  if (report->interrupted) {
    context.note("Interrupted; everything measured is stored. Continue with: " + std::string(context.arguments[0]) +
                 " tune " + options.mep + " --resume");
    return Exit::Interrupted;
  }
  return answer;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MEP", options->mep, "Folder made by `kernelift extract`, or its kernel's name")->required();
  app.add_option("--tiers", options->tiers,
                 "Tiers to search, separated by commas: source, params, compiler (default: all)");
  app.add_option(
      "--template", options->templates,
      "Kernels written by hand with declared parameters, `// kernelift: tune TILE in {16, 32, 64}`, which are "
      "searched (docs/templates.md)");
  app.add_option("--time", options->time, "Time budget: 90, 10m, 1h30m (default: 5m unless --evals is given)");
  app.add_option("--patience", options->patience,
                 "End the search when no better candidate came for so long: 30, 2m (default: it takes all its time)");
  app.add_option("--evals", options->evaluations, "Budget as a number of candidates")->check(CLI::PositiveNumber);
  app.add_option("--try-first", options->try_first,
                 "Runs of other kernels whose winners' rewrites and parameters are tried first, where they apply");
  app.add_option("--strategy", options->strategy,
                 "Search strategy for parameters: random, local, genetic, bayesian, portfolio")
      ->capture_default_str();
  app.add_option("--seed", options->seed, "Seed of all random choices")->capture_default_str();
  add_repositories(app, options->repositories);
  add_search(app, options->search);
  add_lock_clocks(app, options->lock_clocks);
  add_allow_weak_jail(app, options->allow_weak_jail);
  auto* inherit = app.add_option("--inherit", options->inherit,
                                 "Earlier runs of this kernel (.klrun) from which to begin, e.g. of another GPU "
                                 "(default: the latest ones in the state folder)");
  app.add_flag("--no-inherit", options->no_inherit, "Begin from nothing, although there are earlier runs")
      ->excludes(inherit);
  app.add_flag("--resume", options->resume, "Continue the MEP's latest run");
  return [options](const Context& context) { return run_verb(*options, context); };
}

}  // namespace

extern const Verb kTune = {"tune", "Search for a faster version of a kernel: source, parameters, compiler",
                           "kernelift tune smooth --time 10m    # or the folder that extract printed\n"
                           "  kernelift tune smooth --template mine.cu    # a kernel of yours; its declared parameters",
                           setup};

}  // namespace kernelift::cli
