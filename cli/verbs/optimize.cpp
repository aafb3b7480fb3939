// kernelift optimize: runs the whole loop, hottest kernel first, until the time is spent or the remaining kernels
// cannot matter. Each step is the verb that a user would type, run as a process of its own: a crash costs one step,
// every printed command can be typed again, and every artefact is where the single verb would have written it.
#include <algorithm>
#include <chrono>
#include <map>

#include "cli/duration.h"
#include "cli/loop_table.h"
#include "cli/measure_options.h"
#include "cli/search_options.h"
#include "cli/verbs.h"
#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/base/json_member.h"
#include "core/base/locks/lock.h"
#include "core/base/process.h"
#include "core/model/capture.h"
#include "core/model/kernel_key.h"
#include "core/model/scan/scan_index.h"
#include "core/model/verdict/verdict.h"
#include "extractor/extract/capture_join.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/apply_request.h"
#include "reintegrate/interruption.h"
#include "reintegrate/patch/patchable_parts.h"
#include "reintegrate/tree/git_tree.h"
#include "sandbox/device/cuda/clock_lock.h"
#include "sandbox/jail/layers.h"
#include "tuner/tiers.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

/// Seconds; a shorter search finds nothing and only delays the report.
constexpr double kShortestTuning = 5;
/// Seconds that a kernel gets at least, if they are left, because the original must be built and measured first.
constexpr double kWorthTuning = 10;
/// Limits on the seconds for which the application is timed before and after a patch.
constexpr double kShortestProof = 20, kLongestProof = 120;
/// Kernels that take less of the run do not decide its duration.
constexpr double kMostOfTheRun = 0.5;

struct Options {
  std::string build, run, check, time = "10m", branch, embed = "auto", limit = "1h", hooks = "run";
  size_t kernels = 8;
  uint64_t skip = 0;
  bool lock_clocks = false, allow_host_changes = false, allow_unproven_host = false, allow_weak_jail = false,
       no_guards = false;
  MeasureOptions measure;
  SearchOptions search;  ///< The model's limits are for all kernels together.
};

struct Step {
  int exit_code = 0;
  Json document;  ///< The verb's JSON; null if it printed none.
  std::string message() const {
    std::string error = text_member(document, "error");
    return !error.empty() ? error : "it exited with " + std::to_string(exit_code);
  }
};

using Clock = std::chrono::steady_clock;

/// Adds the seconds of its lifetime to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(Clock::now() - began_).count(); }

 private:
  double& sum_;
  Clock::time_point began_ = Clock::now();
};

class Loop {
 public:
  Loop(const Context& context, const Options& options, double seconds)
      : context_(context),
        options_(options),
        measure_(options.measure),
        state_(context.state_folder()),
        seconds_(seconds) {}

  Result<Exit> run() {
    KERNELIFT_TRY(prepare());
    KERNELIFT_TRY(scan_and_record());
    for (size_t i = 0; i < rows_.size() && !interrupted_; ++i) {
      work_on(i);
      bool more = i + 1 < options_.kernels && i + 1 < rows_.size() && seconds_left() >= kShortestTuning;
      if (!rows_[i].kept() || interrupted_ || !more) continue;
      if (Status looked = scan_and_record(i + 1); !looked.ok())
        context_.note("kernelift optimize: " + looked.error().message);
    }
    for (auto& row : rows_)
      if (row.outcome.empty()) row.outcome = "skipped", row.why = "interrupted before it was tuned";
    print_table();
    if (interrupted_) return Exit::Interrupted;
    for (auto& row : rows_)
      if (row.kept()) return Exit::Done;
    return Exit::No;
  }

 private:
  /// Runs `kernelift VERB --json …`; its progress appears on this process's stderr.
  Result<Step> step(std::vector<std::string> words, const std::vector<std::string>& command = {}) {
    context_.note("");
    context_.note("==> kernelift " + join_command(words) + (command.empty() ? "" : " -- " + join_command(command)));
    Stopwatch watch(spent_[words[0]]);
    KERNELIFT_ASSIGN(fs::path kernelift, executable());
    std::vector<std::string> argv{kernelift.string()};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--json", "--state", state_.string()});
    if (!command.empty()) argv.push_back("--");
    argv.insert(argv.end(), command.begin(), command.end());
    ProcessOptions process;
    process.share_stderr = true;
    process.output_limit = 256 << 20;
    KERNELIFT_ASSIGN(ProcessOutcome outcome, run_interruptibly(argv, process, reintegrate::Ending::HandedOn));
    Step result{outcome.exit_code, nullptr};
    interrupted_ |=
        outcome.exit_code == static_cast<int>(Exit::Interrupted) || reintegrate::InterruptGuard::interrupted();
    if (auto document = parse_json(outcome.out, words[0]); document.ok()) result.document = *std::move(document);
    if (outcome.signal && !interrupted_) return environment_error("kernelift " + words[0] + " " + outcome.describe());
    return result;
  }

  /// Runs a step that all later steps depend on; an Error if it fails.
  Result<Json> required(std::vector<std::string> words, const std::vector<std::string>& command = {}) {
    std::string verb = words[0];
    KERNELIFT_ASSIGN(Step done_step, step(std::move(words), command));
    if (interrupted_) return interrupted();
    if (done_step.exit_code != 0)  // The step has printed the reason on stderr; only the JSON document repeats it.
      return Error{verb + " failed" + (context_.json ? ": " + done_step.message() : " (see above)"),
                   static_cast<Exit>(done_step.exit_code)};
    return std::move(done_step.document);
  }

  Status prepare() {
    // The patch of a running apply would be built and recorded as the original.
    KERNELIFT_TRY(reintegrate::PatchJournal::check_not_running(state_));
    if (reintegrate::PatchJournal::interrupted(state_)) {
      KERNELIFT_ASSIGN(reintegrate::Restoration leftovers,
                       reintegrate::roll_back_interrupted(state_, [&](auto& line) { context_.note(line); }));
      for (auto& note : restoration_notes(leftovers)) context_.note(note);
    }
    warn_of_changed_files();
    // Known now rather than after all the tuning.
    KERNELIFT_ASSIGN(reintegrate::GitTree repository, reintegrate::GitTree::around(fs::current_path()));
    if (reintegrate::GitHooks hooks = repository.hooks(); !hooks.none())
      context_.note("The repository's hooks (" + hooks.names() + ") " +
                    (options_.hooks == "run"
                         ? "are run on every patch; one that they do not let pass is not kept (--hooks skip: not run)."
                         : "are not run on patches."));
    // The build also logs the compile commands that scan reads; for the CPU device it compiles other programs.
    KERNELIFT_ASSIGN(Step built, step({"build", "--device", context_.device}, {"sh", "-c", options_.build}));
    if (interrupted_) return interrupted();
    if (built.exit_code != 0)
      return Error{"the application's build failed (see above): " + options_.build + "; nothing was changed", Exit::No};
    if (!options_.check.empty()) KERNELIFT_TRY(check());
    return read_figure();
  }

  /// Of the application as it is: a pattern that does not fit is known before anything is tuned.
  Status read_figure() {
    if (measure_.pattern.empty()) return done();
    KERNELIFT_ASSIGN(auto metric, measure_.metric());
    KERNELIFT_ASSIGN(ProcessOutcome ran, run_command("the figure", options_.run));
    if (!ran.ok()) return failed_unpatched("run", ran);
    KERNELIFT_ASSIGN(double figure, metric->read(ran.out + "\n" + ran.err));
    char text[32];
    std::snprintf(text, sizeof text, "%.5g", figure);
    context_.note("The figure is " + std::string(text) + "; " + metric->better_text() + " is better.");
    return done();
  }

  Status check() {
    KERNELIFT_ASSIGN(ProcessOutcome checked, run_command("the check", options_.check));
    return checked.ok() ? done() : failed_unpatched("check", checked);
  }

  /// A command of the application as it is.
  Result<ProcessOutcome> run_command(const std::string& what, const std::string& line) {
    context_.note("");
    context_.note("==> " + what + ": " + line);
    ProcessOptions process;
    KERNELIFT_ASSIGN(double limit, parse_duration(options_.limit));
    process.timeout = std::chrono::milliseconds(static_cast<int64_t>(1000 * limit));
    Stopwatch watch(spent_["check"]);
    process.output_limit = 256 << 20;
    KERNELIFT_ASSIGN(ProcessOutcome ran, run_interruptibly({"sh", "-c", line}, process, reintegrate::Ending::Killed));
    if (reintegrate::InterruptGuard::interrupted()) return interrupted();
    return ran;
  }

  static Error failed_unpatched(const std::string& what, const ProcessOutcome& ran) {
    std::string said = reintegrate::last_lines(ran.out + ran.err);
    return answer_is_no("the application's " + what + " fails before any patch: it " + ran.describe() +
                        (ran.timed_out ? " (--limit allows it more time)" : "") +
                        "; fix that first, nothing was changed. Its output" +
                        (said.empty() ? " was empty." : ":\n" + said));
  }

  /// Warns now about uncommitted files, which apply would refuse to patch after all the tuning.
  void warn_of_changed_files() const {
    auto changed = reintegrate::GitTree::changed_files(fs::current_path());
    if (changed.empty()) return;
    constexpr size_t kShown = 5;
    std::string names;
    for (size_t i = 0; i < changed.size() && i < kShown; ++i) names += (i ? ", " : "") + changed[i];
    if (changed.size() > kShown) names += " and " + std::to_string(changed.size() - kShown) + " more";
    context_.note("Uncommitted changes in " + names +
                  ": a kernel in such a file is tuned, but not patched until you commit the file.");
  }

  static Error interrupted() { return {"interrupted", Exit::Interrupted}; }

  /// Scans and records the application as it is now. This is repeated after a kept patch, because lines have moved, a
  /// block size that other kernels share may have changed, and the remaining kernels have other shares of a shorter
  /// run. Rows before `finished` stay as they are.
  Status scan_and_record(size_t finished = 0) {
    KERNELIFT_ASSIGN(Json index, required({"scan"}));
    std::vector<std::string> record{"record", "--device", context_.device};
    if (options_.skip > 0) record.insert(record.end(), {"--skip", std::to_string(options_.skip)});
    KERNELIFT_ASSIGN(Json hot_list, required(std::move(record), {"sh", "-c", options_.run}));
    KERNELIFT_ASSIGN(Capture capture, Capture::open(state_ / "capture"));
    rows_.resize(finished);
    KERNELIFT_ASSIGN(scanned_, ScanIndex::read(state_ / "scan.json"));
    KERNELIFT_ASSIGN(auto shares, shares_by_measure(capture));
    for (auto& [key, share] : shares) {
      LoopRow row;
      row.kernel = key, row.share = share;
      for (auto& instance : capture.instances())
        if (double seconds = instance.microseconds * 1e-6; instance.kernel == key && seconds > 0)
          row.launch_seconds = row.launch_seconds > 0 ? std::min(row.launch_seconds, seconds) : seconds;
      auto add = [&] {
        auto before = rows_.begin() + static_cast<ptrdiff_t>(finished);
        if (std::none_of(rows_.begin(), before,
                         [&](auto& old) { return old.kernel == row.kernel && old.id == row.id; }))
          rows_.push_back(row);
      };
      auto namesakes = recorded_namesakes(key, scanned_, capture);
      if (namesakes.empty()) add();
      for (auto* one : namesakes)
        row.id = one->id, row.file = fs::path(one->definition.file).lexically_proximate(scanned_.root).string(), add();
    }
    return done();
  }

  /// Of what is measured. Where kernels take a small part of the run, a profile says whether that is start-up or work
  /// of the host between them.
  Result<std::vector<reintegrate::KernelShare>> shares_by_measure(const Capture& capture) {
    using namespace reintegrate;
    if (!measure_.pattern.empty()) return kernel_shares(capture, ShareOf::Kernels);
    auto of_run = kernel_shares(capture);
    double kernels = 0;
    for (auto& [key, share] : of_run) kernels += share;
    const bool perhaps = measure_.measure == "auto" && kernels < kMostOfTheRun;
    if (!perhaps && !measure_.span()) {
      measure_.measure = "run";
      return of_run;
    }
    KERNELIFT_ASSIGN([[maybe_unused]] Json hot_list,
                     required({"record", "--profile-only", "--device", context_.device}, {"sh", "-c", options_.run}));
    KERNELIFT_ASSIGN(Capture profile, Capture::open(state_ / "profile"));
    const double span = profile.info().span_seconds, run = profile.info().run_seconds;
    if (!measure_.span() && span >= kMostOfTheRun * run) {
      measure_.measure = "run";
      return of_run;
    }
    char text[160];
    std::snprintf(text, sizeof text, "From the first kernel to the last it is %.3f s of a run of %.3f s: %s", span, run,
                  measure_.span() ? "that is measured." : "that is measured, and not the whole run (--measure run).");
    context_.note(text);
    measure_.measure = "span";
    return kernel_shares(profile, ShareOf::Span);
  }

  /// If several files define a kernel of this name: those definitions that were recorded.
  static std::vector<const ScannedKernel*> recorded_namesakes(const std::string& key, const ScanIndex& scanned,
                                                              const Capture& capture) {
    auto namesakes = scanned.namesakes(key);
    std::vector<const ScannedKernel*> found;
    if (namesakes.size() < 2) return found;
    extractor::CaptureJoin join(scanned, capture);
    for (auto* kernel : namesakes)
      if (std::any_of(capture.instances().begin(), capture.instances().end(), [&](auto& instance) {
            return join.joins(instance, *kernel) == extractor::CaptureJoin::Answer::Yes;
          }))
        found.push_back(kernel);
    if (found.size() < 2) found.clear();  // If only one ran, `extract` finds it by the name alone.
    return found;
  }

  double seconds_left() const {
    auto tuned = spent_.find("tune");
    return seconds_ - (tuned == spent_.end() ? 0 : tuned->second);
  }

  /// Seconds for this kernel: its part of the remaining time, in proportion to its share of the remaining kernels; all
  /// of it if the rest would be too short for the next kernel.
  double time_slice(size_t at) const {
    double sum = 0, left = seconds_left();
    for (size_t i = at; i < rows_.size() && i < options_.kernels; ++i)
      if (rows_[i].share >= kSmallestShare) sum += rows_[i].share;
    double mine = std::max(sum > 0 ? left * rows_[at].share / sum : 0, kWorthTuning);
    return left - mine < kWorthTuning ? left : mine;
  }

  /// The shortest name that identifies this kernel on the command line.
  std::string shortest_name(const LoopRow& wanted) const {
    if (!wanted.id.empty()) return wanted.id;
    const std::string& key = wanted.kernel;
    std::string name = qualified_name(key);
    bool one = std::ranges::all_of(scanned_.find(name), [&](auto* kernel) { return kernel->key == key; }) &&
               std::count_if(rows_.begin(), rows_.end(), [&](auto& row) { return key_matches(row.kernel, name); }) == 1;
    return one ? name : key;
  }

  void work_on(size_t at) {
    LoopRow& row = rows_[at];
    auto end = [&](const char* outcome, std::string why) {
      row.outcome = interrupted_ ? "interrupted" : outcome, row.why = std::move(why);
    };
    if (row.share < kSmallestShare) return end("skipped", "too small a share to matter");
    if (at >= options_.kernels) return end("skipped", "beyond the requested number of kernels (--kernels)");
    if (seconds_left() < kShortestTuning) return end("skipped", "the time is spent");
    if (std::string why = too_long_to_tune(row, time_slice(at)); !why.empty()) return end("skipped", why);
    auto failed = [&](const Result<Step>& step) {
      return !step.ok() || step->exit_code != 0 || !step->document.is_object();
    };
    auto why = [](const Result<Step>& step) { return step.ok() ? step->message() : step.error().message; };

    auto extracted = step({"extract", shortest_name(row)});
    if (failed(extracted))
      return end(extracted.ok() && extracted->exit_code == 4 ? "refused" : "skipped", "extract: " + why(extracted));
    std::string mep = extracted->document.value("mep", "");
    auto lifted = Mep::read(mep);
    if (!lifted.ok()) return end("skipped", lifted.error().message);
    reintegrate::PatchableParts parts = reintegrate::patchable_parts(*lifted);
    if (parts.none()) return end("refused", "not tuned: " + parts.why());
    // One cache mode suffices to verify the MEP; both would take twice the time.
    auto replayed = step({"replay", mep, "--device", context_.device, "--warm"});
    if (failed(replayed))
      return end("skipped", "the MEP does not reproduce the application's results: " +
                                (replayed.ok() && replayed->document.is_object()
                                     ? replayed->document.value("failure", why(replayed))
                                     : why(replayed)));

    std::vector<std::string> tune{"tune",          mep,      "--device",
                                  context_.device, "--time", std::to_string(static_cast<int>(time_slice(at)))};
    // If only the launches are in the application and nothing is embedded, a patch can change only the launches.
    auto embedding = reintegrate::embedding_on(context_.device, options_.embed);
    const bool launches_only = !parts.text && (!embedding.ok() || *embedding == reintegrate::Embedding::Never);
    if (launches_only) {
      context_.note("Only its launches are tuned: " + parts.why());
      tune.insert(tune.end(), {"--tiers", "params"});
    }
    if (options_.allow_weak_jail) tune.push_back("--allow-weak-jail");
    for (auto& word : options_.search.words()) tune.push_back(word);
    const auto model = launches_only ? std::vector<std::string>() : options_.search.model_words(model_spent_);
    tune.insert(tune.end(), model.begin(), model.end());
    if (model.empty() && !options_.search.llm.empty())
      context_.note(launches_only ? "The model is not asked: it changes the kernel's text, and only launches are tuned."
                                  : "The model is not asked: its limits (--llm-calls, --llm-tokens, --llm-seconds) are "
                                    "reached.");
    auto tuned = step(tune);
    if (tuned.ok() && tuned->document.is_object()) {
      row.run = tuned->document.value("run", "");
      add_model_spent(tuned->document);
    }
    if (interrupted_)
      return end("interrupted", "its run can be resumed: " + join_command({"kernelift", "tune", mep, "--resume"}));
    // Even if no finalist was confirmed, apply may confirm a candidate that ranked lower.
    bool unproven = tuned.ok() && tuned->exit_code == static_cast<int>(Exit::No) && !row.run.empty();
    if (failed(tuned) && !unproven) return end("skipped", "tune: " + why(tuned));

    std::vector<std::string> apply{"apply",        row.run,        "--device",   context_.device, "--build",
                                   options_.build, "--run",        options_.run, "--embed",       options_.embed,
                                   "--limit",      options_.limit, "--hooks",    options_.hooks};
    if (options_.allow_weak_jail) apply.push_back("--allow-weak-jail");
    if (!options_.check.empty()) apply.insert(apply.end(), {"--check", options_.check});
    for (auto& word : measure_.words()) apply.push_back(word);
    if (options_.no_guards) apply.emplace_back("--no-guards");
    if (options_.allow_host_changes) apply.emplace_back("--allow-host-changes");
    if (options_.allow_unproven_host) apply.emplace_back("--allow-unproven-host");
    // Proving a patch in the application may take about as long as finding it.
    apply.insert(apply.end(), {"--time", std::to_string(static_cast<int>(std::clamp(time_slice(at) + kShortestProof,
                                                                                    kShortestProof, kLongestProof)))});
    auto applied = step(apply);
    if (!applied.ok()) return end("skipped", applied.error().message);
    read_applied(applied->document, applied->exit_code, interrupted_, row);
    if (tuned->document.is_object() && tuned->document.value("stopped_by", "") == "time")
      mark_undecided(row, tuned->document.value("tried", size_t{0}), tuned->document.value("seconds", 0.0),
                     join_command({"kernelift", "tune", mep, "--resume", "--time", "10m"}));
  }

  /// Each kernel's run counts what the model cost in it.
  void add_model_spent(const Json& tuned) {
    auto model = tuned.find("model");
    if (model == tuned.end() || !model->is_object()) return;
    for (auto* what : {"calls", "tokens", "seconds"})
      model_spent_[what] = static_cast<int64_t>(number_member(model_spent_, what) + number_member(*model, what));
  }

  void print_table() const {
    Json kernels = Json::array();
    for (auto& row : rows_) kernels.push_back(to_json(row));
    // The time spent per step, in the order of the steps.
    std::string where;
    double sum = 0;
    for (auto* verb : {"build", "check", "scan", "record", "extract", "replay", "tune", "apply"})
      if (auto spent = spent_.find(verb); spent != spent_.end()) {
        where += (where.empty() ? "" : ", ") + std::string(verb) + " " + duration_words(spent->second);
        sum += spent->second;
      }
    std::string measure;
    if (!measure_.pattern.empty())
      measure = "\nShares are of the time of all kernels; a patch is measured by '" + measure_.pattern + "'.";
    else if (measure_.span())
      measure = "\nShares are of the time from the first kernel to the last, by which a patch is measured, too.";
    context_.say_lines(table_text(rows_, context_.device == "cpu") + measure + "\nTime: " + duration_words(sum) + " (" +
                       where + ")" + model_text());
    context_.emit({{"kernels", kernels},
                   {"measure", measure_.pattern.empty() ? measure_.measure : "metric"},
                   {"whole", whole_gain(rows_)},
                   {"interrupted", interrupted_},
                   {"model", model_spent_},
                   {"seconds", spent_}});
  }

  std::string model_text() const {
    if (options_.search.llm.empty()) return {};
    auto used = [&](const char* what) { return std::to_string(whole_member<int64_t>(model_spent_, what).value_or(0)); };
    return "\nModel: " + used("calls") + " of " + std::to_string(options_.search.llm_calls) + " requests, " +
           used("tokens") + " of " + std::to_string(options_.search.llm_tokens) + " tokens, " + used("seconds") +
           " s of " + options_.search.llm_seconds + "; why it was not asked more often is said by each tune above";
  }

  const Context& context_;
  const Options& options_;
  MeasureOptions measure_;  ///< Once the application was recorded it is no longer "auto".
  fs::path state_;
  ScanIndex scanned_;  ///< Of the last scan.
  double seconds_;
  std::map<std::string, double> spent_;  ///< Seconds spent, by verb.
  std::vector<LoopRow> rows_;
  Json model_spent_ = Json::object();  ///< "calls", "tokens", "seconds" of all kernels.
  bool interrupted_ = false;
};

/// The device for all steps of the loop, which must agree: the application is built, recorded and timed on one device.
Result<std::string> loop_device(const std::string& requested) {
  if (requested.starts_with("hip"))
    return refused("optimize does not support AMD GPUs; run it for HIP applications with --device cpu");
  if (requested == "auto") return std::string(record::has_nvidia_driver() ? "cuda" : "cpu");
  return requested;
}

/// Two `optimize` processes would build the same files and record into the same folder.
Result<Lock> lock_optimize(const fs::path& state) {
  KERNELIFT_TRY(create_state_folder(state));
  return Lock::take(state / "optimize.lock", "another `kernelift optimize` is running in this folder");
}

Result<Exit> optimize(const Context& context, const Options& options) {
  // Options that the last step would refuse are refused before the first step.
  if (options.build.empty() || options.run.empty()) return usage_error("--build and --run need a command each");
  KERNELIFT_ASSIGN(double seconds, parse_duration(options.time));
  if (seconds < kShortestTuning)
    return usage_error("--time " + options.time + " is too short to find anything: give at least " +
                       duration_words(kShortestTuning));
  KERNELIFT_TRY(options.search.check());  // The model's secrets are known from here on.
  Context on_device = context;
  KERNELIFT_ASSIGN(on_device.device, loop_device(context.device));
  KERNELIFT_TRY(reintegrate::embedding_on(on_device.device, options.embed));
  KERNELIFT_ASSIGN([[maybe_unused]] double limit, parse_duration(options.limit));
  KERNELIFT_ASSIGN([[maybe_unused]] auto metric, options.measure.metric());
  if (!options.allow_weak_jail) KERNELIFT_TRY(sandbox::require_jail());
  KERNELIFT_ASSIGN(Lock lock, lock_optimize(context.state_folder()));
  // The clocks are locked for all steps, because the application is timed before and after a patch too.
  KERNELIFT_ASSIGN(auto clocks, sandbox::lock_clocks(options.lock_clocks, on_device.device));
  // An interruption ends the running step, which saves its state; this process goes on to print the table.
  reintegrate::InterruptGuard guard;
  return Loop(on_device, options, seconds).run();
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--build", options->build, "The application's build command, run in this folder")->required();
  app.add_option("--run", options->run, "The command whose run time is to be reduced")->required();
  add_measure(app, options->measure, true);
  app.add_option("--check", options->check,
                 "A command whose exit code is 0 if the application's results are right (default: the --run command)");
  app.add_option("--time", options->time, "Tuning time for all kernels together: 90, 10m, 2h")->capture_default_str();
  app.add_option("--kernels", options->kernels, "Maximum number of kernels to tune, hottest first")
      ->capture_default_str();
  app.add_option("--skip", options->skip, "Ignore the first N launches of each kernel, if they are not representative")
      ->capture_default_str();
  app.add_option("--embed", options->embed, "Embed tuned PTX in patches: never, auto or only (see apply --help)")
      ->capture_default_str();
  app.add_flag("--no-guards", options->no_guards,
               "Patch a candidate that is right only at some sizes without having its launch ask for them");
  app.add_flag("--allow-host-changes", options->allow_host_changes,
               "Let patches change functions that are compiled for the host too (see apply --help)");
  app.add_flag("--allow-unproven-host", options->allow_unproven_host,
               "Patch units whose host half clang cannot compile (see apply --help)");
  app.add_option("--limit", options->limit,
                 "Longest time for one check, run or build of the application (see apply --help)")
      ->capture_default_str();
  app.add_option("--hooks", options->hooks, "git's hooks at the commit of a patch: run or skip (see apply --help)")
      ->capture_default_str()
      ->check(CLI::IsMember({"run", "skip"}));
  add_lock_clocks(app, options->lock_clocks);
  add_allow_weak_jail(app, options->allow_weak_jail);
  add_search(app, options->search);
  return [options](const Context& context) { return optimize(context, *options); };
}

}  // namespace

const Verb kOptimize = {"optimize", "Run the whole loop: build, record, tune and patch, hottest kernel first",
                        "kernelift optimize --build 'make -j2' --run './app input' --check './app --check' --time 10m",
                        setup};

}  // namespace kernelift::cli
