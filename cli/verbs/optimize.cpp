// kernelift optimize: runs the whole loop, the kernel of which most can be won first, until the time is spent or the
// remaining kernels cannot matter; gains that do not show one by one are applied together. Each step is the verb that a
// user would type, run as a process of its own: a crash costs one step, every printed command can be typed again, and
// every artefact is where the single verb would have written it.
#include <algorithm>

#include "cli/duration.h"
#include "cli/loop/loop_options.h"
#include "cli/loop/loop_order.h"
#include "cli/loop/loop_report.h"
#include "cli/loop/loop_rows.h"
#include "cli/loop/loop_steps.h"
#include "cli/loop/loop_table.h"
#include "cli/repositories.h"
#include "cli/verbs.h"
#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/base/json_member.h"
#include "core/base/locks/lock.h"
#include "core/base/process.h"
#include "core/base/shown/secrets.h"
#include "core/model/capture.h"
#include "core/model/kernel_facts.h"
#include "core/model/scan/scan_index.h"
#include "core/model/verdict/verdict.h"
#include "extractor/extract/runtime_source.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "extractor/source/compile_database.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/apply_request.h"
#include "reintegrate/interruption.h"
#include "reintegrate/patch/patchable_parts.h"
#include "reintegrate/tree/git_tree.h"
#include "sandbox/device/cuda/clock_lock.h"
#include "sandbox/jail/layers.h"
#include "sandbox/judge/diagnosis.h"
#include "tuner/tiers.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

/// Seconds; a shorter search finds nothing and only delays the report.
constexpr double kShortestTuning = 5;
/// A kernel gives its time up when this part of it brought nothing new; the least that is, in seconds.
constexpr double kPatience = 0.4, kLeastPatience = 8;
/// Kernels that take less of the run do not decide its duration.
constexpr double kMostOfTheRun = 0.5;
constexpr const char* kGiveBuild = "give the application's build command (--build CMD)";

class Loop {
 public:
  Loop(const Context& context, const LoopOptions& options, double seconds)
      : context_(context),
        options_(options),
        measure_(options.measure),
        state_(context.state_folder()),
        steps_(context, state_),
        seconds_(seconds) {}

  Result<Exit> run() {
    KERNELIFT_TRY(prepare());
    KERNELIFT_TRY(scan_and_record());
    for (size_t i = 0; i < rows_.size() && !is_interrupted(); ++i) {
      choose(i);
      work_on(i);
      bool more = i + 1 < rows_.size() && beyond_limits(rows_, i + 1, options_.limits).empty() &&
                  seconds_left() >= kShortestTuning;
      if (!rows_[i].kept() || is_interrupted()) continue;
      ++patches_;
      if (!more) continue;
      if (Status looked = scan_and_record(i + 1); !looked.ok())
        context_.note("kernelift optimize: " + looked.error().message);
    }
    go_on_where_time_is_left();
    apply_hidden_gains();
    for (auto& row : rows_)
      if (row.outcome.empty()) row.outcome = "skipped", row.why = "interrupted before it was tuned";
    print_table();
    if (is_interrupted()) return Exit::Interrupted;
    for (auto& row : rows_)
      if (row.kept()) return Exit::Done;
    return Exit::No;
  }

 private:
  Status prepare() {
    // The patch of a running apply would be built and recorded as the original.
    KERNELIFT_TRY(reintegrate::PatchJournal::check_not_running(state_));
    if (reintegrate::PatchJournal::interrupted(state_)) {
      KERNELIFT_ASSIGN(reintegrate::Restoration leftovers,
                       reintegrate::roll_back_interrupted(state_, [&](auto& line) { context_.note(line); }));
      for (auto& note : restoration_notes(leftovers)) context_.note(note);
    }
    // Known now rather than after all the tuning.
    KERNELIFT_ASSIGN(repositories_, repository_tops(options_.repositories));
    KERNELIFT_TRY(note_state_of_repositories(context_, repositories_, options_.hooks == "run"));
    KERNELIFT_TRY(build());
    if (!options_.check.empty()) KERNELIFT_TRY(check());
    return read_figure();
  }

  Status build() {
    if (options_.build.empty()) {
      context_.note(
          "Nothing is built (no --build): kernels that the application compiles while it runs can be tuned, and no "
          "others.");
      return done();
    }
    // The build also logs the compile commands that scan reads; for the CPU device it compiles other programs.
    KERNELIFT_ASSIGN(Step built, step({"build", "--device", context_.device}, {"sh", "-c", options_.build}));
    if (is_interrupted()) return LoopSteps::interrupted();
    if (built.exit_code != 0)
      return Error{"the application's build failed (see above): " + options_.build + "; nothing was changed", Exit::No};
    return done();
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
    KERNELIFT_ASSIGN(double limit, parse_duration(options_.limit));
    return steps_.run_command(what, line, limit);
  }
  Result<Step> step(const std::vector<std::string>& words, const std::vector<std::string>& command = {}) {
    return steps_.step(words, command);
  }
  Result<Json> required(const std::vector<std::string>& words, const std::vector<std::string>& command = {}) {
    return steps_.required(words, command);
  }
  bool is_interrupted() const { return steps_.is_interrupted(); }

  static Error failed_unpatched(const std::string& what, const ProcessOutcome& ran) {
    std::string said = reintegrate::last_lines(ran.out + ran.err);
    return answer_is_no("the application's " + what + " fails before any patch: it " + ran.describe() +
                        (ran.timed_out ? " (--limit allows it more time)" : "") +
                        "; fix that first, nothing was changed. Its output" +
                        (said.empty() ? " was empty." : ":\n" + said));
  }

  Result<Capture> look_again() {
    KERNELIFT_TRY(scan());
    std::vector<std::string> record{"record", "--device", context_.device};
    if (options_.skip > 0) record.insert(record.end(), {"--skip", std::to_string(options_.skip)});
    if (!measure_.region.empty()) record.insert(record.end(), {"--region", measure_.region});
    KERNELIFT_ASSIGN(Json hot_list, required(std::move(record), {"sh", "-c", options_.run}));
    KERNELIFT_ASSIGN(Capture capture, Capture::open(state_ / "capture"));
    looked_at_ = patches_;
    return capture;
  }

  /// Without a build there may be no compile commands, unless an earlier one was logged.
  Status scan() {
    if (options_.build.empty()) {
      std::error_code code;
      if (!fs::exists(state_ / "compile_commands.json", code) &&
          !extractor::find_compile_database("", fs::current_path(code)).ok())
        return done();
      KERNELIFT_ASSIGN(Step scan, step({"scan"}));
      if (is_interrupted()) return LoopSteps::interrupted();
      if (scan.exit_code != 0) return done();
    } else {
      KERNELIFT_ASSIGN([[maybe_unused]] Json index, required({"scan"}));
    }
    KERNELIFT_ASSIGN(scanned_, ScanIndex::read(state_ / "scan.json"));
    return done();
  }

  /// Scans and records the application as it is now. This is repeated after a kept patch, because lines have moved, a
  /// block size that other kernels share may have changed, and the remaining kernels have other shares of a shorter
  /// run. Rows before `finished` stay as they are.
  Status scan_and_record(size_t finished = 0) {
    KERNELIFT_ASSIGN(Capture capture, look_again());
    rows_.resize(finished);
    KERNELIFT_ASSIGN(auto shares, shares_by_measure(capture));
    for (auto& row : rows_of(capture, scanned_, shares)) {
      auto before = rows_.begin() + static_cast<ptrdiff_t>(finished);
      const bool done = std::any_of(rows_.begin(), before, [&](auto& old) {
        return (old.kernel == row.kernel && old.id == row.id) || (old.kept() && is_tuned_copy(row.kernel, old.kernel));
      });
      if (!done) rows_.push_back(row);
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
    std::vector<std::string> record{"record", "--profile-only", "--device", context_.device};
    if (!measure_.region.empty()) record.insert(record.end(), {"--region", measure_.region});
    KERNELIFT_ASSIGN([[maybe_unused]] Json hot_list, required(record, {"sh", "-c", options_.run}));
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

  double seconds_left() const {
    auto tuned = steps_.spent().find("tune");
    return seconds_ - (tuned == steps_.spent().end() ? 0 : tuned->second);
  }

  static bool failed(const Result<Step>& step) {
    return !step.ok() || step->exit_code != 0 || !step->document.is_object();
  }
  static std::string why(const Result<Step>& step) { return step.ok() ? step->message() : step.error().message; }
  void end(LoopRow& row, const char* outcome, std::string why) const {
    // What had come of it before stands.
    if (!row.outcome.empty()) return (void)(row.why += "; afterwards: " + why);
    row.outcome = is_interrupted() ? "interrupted" : outcome, row.why = std::move(why);
  }

  /// Puts the kernel of which most can be won at `at`. On a GPU that is known once a kernel was extracted and replayed,
  /// and until then at most its share; so no more kernels are looked at than it takes to know.
  void choose(size_t at) {
    for (;;) {
      const auto begin = rows_.begin() + static_cast<ptrdiff_t>(at);
      const auto best = rows_.begin() + static_cast<ptrdiff_t>(most_promising(rows_, at));
      std::rotate(begin, best, best + 1);
      LoopRow& row = *begin;
      if (context_.device == "cpu" || row.replayed || !row.outcome.empty() || is_interrupted() || is_left_out(at))
        return;
      make_ready(row, at);
    }
  }

  /// Ends a kernel that is not worth its time; known before it is extracted.
  bool is_left_out(size_t at) {
    LoopRow& row = rows_[at];
    if (!share_matters(row, rows_, options_.limits)) end(row, "skipped", "too small a share to matter");
    else if (std::string why = beyond_limits(rows_, at, options_.limits); !why.empty()) end(row, "skipped", why);
    else if (seconds_left() < kShortestTuning) end(row, "skipped", "the time is spent");
    else if (std::string why = too_long_to_tune(row, slice(at)); !why.empty()) end(row, "skipped", why);
    return !row.outcome.empty();
  }

  double slice(size_t at) const { return time_slice(rows_, at, seconds_left(), options_.limits); }

  /// Extracts the kernel and replays its MEP. On a GPU the hardware's counters tell how near it is to its roof.
  void make_ready(LoopRow& row, size_t at) {
    row.looked_at = true;
    auto extracted = step({"extract", shortest_name(row, scanned_, rows_)});
    const bool only_programs = options_.build.empty() && scanned_.units.empty();
    if (failed(extracted) && only_programs && extracted.ok() && extracted->exit_code == static_cast<int>(Exit::Usage))
      return end(row, "refused",
                 std::string("not tuned: the application did not compile it while it ran, and how it is compiled is "
                             "not known: ") +
                     kGiveBuild);
    if (failed(extracted))
      return end(row, extracted.ok() && extracted->exit_code == 4 ? "refused" : "skipped",
                 "extract: " + why(extracted));
    row.mep = extracted->document.value("mep", ""), row.patches = patches_;
    auto lifted = Mep::read(row.mep);
    if (!lifted.ok()) return end(row, "skipped", lifted.error().message);
    if (options_.build.empty() && !extractor::origin_of_program(lifted->app_root))
      return end(row, "refused", std::string("not tuned: a patch of its source has to be built: ") + kGiveBuild);
    reintegrate::PatchableParts parts = reintegrate::patchable_parts(*lifted, repositories_);
    if (parts.none()) return end(row, "refused", "not tuned: " + parts.why());
    if (std::string file = uncommitted_part(*lifted); !file.empty())
      return end(row, "refused", "not tuned: " + file + " has uncommitted changes; commit or stash them");
    // One cache mode suffices to verify the MEP; both would take twice the time.
    std::vector<std::string> replay{"replay", row.mep, "--device", context_.device, "--warm"};
    const bool others_wait = at + 1 < rows_.size() && share_matters(rows_[at + 1], rows_, options_.limits);
    if (context_.device != "cpu" && others_wait) replay.emplace_back("--counters");
    auto replayed = step(replay);
    if (failed(replayed))
      return end(
          row, "skipped",
          "the MEP does not reproduce the application's results: " +
              (replayed.ok() && replayed->document.is_object() ? replayed->document.value("failure", why(replayed))
                                                               : why(replayed)));
    row.replayed = true;
    if (auto facts = replayed->document.find("facts"); facts != replayed->document.end())
      if (auto read = kernel_facts_from_json(*facts, "replay"); read.ok())
        if (auto roofs = sandbox::diagnose(*read).roofs; !roofs.empty())
          row.roof = roofs[0].share, row.roof_name = roofs[0].name;
  }

  void work_on(size_t at) {
    LoopRow& row = rows_[at];
    if (!row.outcome.empty() || is_left_out(at)) return;
    if (!row.replayed) make_ready(row, at);
    if (!row.outcome.empty()) return;
    const double seconds = slice(at);
    const bool others_wait = seconds < seconds_left();
    const bool found = tune(row, seconds, others_wait, false);
    if (!row.run.empty()) row.order = order_text(row, tuned_before(rows_, at));
    if (found) apply(row, seconds);
  }

  /// Of other kernels, the largest gains first: what helped them may help this one.
  std::vector<std::string> runs_that_gained(const LoopRow& row) const {
    constexpr size_t kMost = 3;
    std::vector<const LoopRow*> gained;
    for (auto& other : rows_)
      if (&other != &row && other.kernel_gain > 1 && !other.run.empty()) gained.push_back(&other);
    std::ranges::sort(gained, std::greater(), &LoopRow::kernel_gain);
    std::vector<std::string> runs;
    for (auto* other : gained)
      if (runs.size() < kMost) runs.push_back(other->run);
    return runs;
  }

  /// Searches; false if there is nothing to apply, which the row then says.
  bool tune(LoopRow& row, double seconds, bool others_wait, bool resume) {
    std::vector<std::string> words{"tune",          row.mep,  "--device",
                                   context_.device, "--time", std::to_string(static_cast<int>(seconds))};
    if (resume) words.emplace_back("--resume");
    else row.model_use = Json::object();
    for (auto& run : runs_that_gained(row)) words.insert(words.end(), {"--try-first", run});
    if (others_wait)
      words.insert(words.end(),
                   {"--patience", std::to_string(static_cast<int>(std::max(kLeastPatience, kPatience * seconds)))});
    // If only the launches are in the application and nothing is embedded, a patch can change only the launches.
    auto lifted = Mep::read(row.mep);
    reintegrate::PatchableParts parts =
        lifted.ok() ? reintegrate::patchable_parts(*lifted, repositories_) : reintegrate::PatchableParts();
    auto embedding = reintegrate::embedding_on(context_.device, options_.embed);
    const bool launches_only = !parts.text && (!embedding.ok() || *embedding == reintegrate::Embedding::Never);
    for (auto& top : repositories_) words.insert(words.end(), {"--repo", top.string()});
    if (launches_only) {
      context_.note("Only its launches are tuned: " + parts.why());
      words.insert(words.end(), {"--tiers", "params"});
    }
    if (options_.allow_weak_jail) words.emplace_back("--allow-weak-jail");
    for (auto& word : options_.search.words()) words.push_back(word);
    // As much of what models may cost as the kernel gets of the time.
    const double model_share = seconds_left() > 0 ? std::clamp(seconds / seconds_left(), 0.0, 1.0) : 1;
    const auto model = launches_only ? std::vector<std::string>()
                                     : options_.search.model_words(model_spent_, row.model_use, model_share);
    words.insert(words.end(), model.begin(), model.end());
    if (model.empty() && !options_.search.llm.empty())
      context_.note(
          launches_only
              ? "The model is not asked: it changes the kernel's text, and only launches are tuned."
              : "The model is not asked: its limits (--llm-calls, --llm-tokens, --llm-seconds, --llm-money) are "
                "reached.");
    auto tuned = step(words);
    if (tuned.ok() && tuned->document.is_object()) {
      row.run = tuned->document.value("run", "");
      row.stopped_by = tuned->document.value("stopped_by", "");
      const Json& leader = tuned->document.value("best_applicable", Json());
      row.leader = leader.is_object() ? leader.value("id", int64_t{0}) : 0;
      row.tried = tuned->document.value("tried", size_t{0}), row.seconds = tuned->document.value("seconds", 0.0);
      add_model_use(model_spent_, row.model_use, tuned->document);
    }
    if (is_interrupted()) {
      end(row, "interrupted", "its run can be resumed: " + join_command({"kernelift", "tune", row.mep, "--resume"}));
      return false;
    }
    // Even if no finalist was confirmed, apply may confirm a candidate that ranked lower.
    bool unproven = tuned.ok() && tuned->exit_code == static_cast<int>(Exit::No) && !row.run.empty();
    if (failed(tuned) && !unproven) end(row, "skipped", "tune: " + why(tuned));
    return !failed(tuned) || unproven;
  }

  /// `apply` for one run or several, with a time limit for the runs of the application in seconds.
  std::vector<std::string> apply_words(const std::vector<std::string>& runs, double seconds) const {
    std::vector<std::string> words{"apply"};
    words.insert(words.end(), runs.begin(), runs.end());
    words.insert(words.end(), {"--device", context_.device, "--run", options_.run, "--embed", options_.embed, "--limit",
                               options_.limit, "--hooks", options_.hooks});
    if (!options_.build.empty()) words.insert(words.end(), {"--build", options_.build});
    if (options_.allow_weak_jail) words.emplace_back("--allow-weak-jail");
    if (!options_.check.empty()) words.insert(words.end(), {"--check", options_.check});
    for (auto& word : measure_.words()) words.push_back(word);
    for (auto& top : repositories_) words.insert(words.end(), {"--repo", top.string()});
    if (options_.no_guards) words.emplace_back("--no-guards");
    if (options_.allow_host_changes) words.emplace_back("--allow-host-changes");
    if (options_.allow_unproven_host) words.emplace_back("--allow-unproven-host");
    words.insert(words.end(), {"--time", std::to_string(static_cast<int>(seconds))});
    return words;
  }

  void apply(LoopRow& row, double tuning_seconds) {
    auto applied = step(apply_words({row.run}, steps_.proof_seconds(tuning_seconds)));
    if (!applied.ok()) return end(row, "skipped", applied.error().message);
    read_applied(applied->document, applied->exit_code, is_interrupted(), row);
    mark_undecided(row, join_command({"kernelift", "tune", row.mep, "--resume", "--time", "10m"}));
  }

  /// Time that some kernels gave up goes to those whose search it had ended, most promising first. The application must
  /// still be the one that they were extracted from.
  void go_on_where_time_is_left() {
    while (!is_interrupted() && seconds_left() >= kWorthTuning) {
      LoopRow* best = nullptr;
      for (auto& row : rows_)
        if (row.stopped_by == "time" && row.patches == patches_ && !row.kept() && row.outcome != "refused" &&
            (!best || to_be_won(row) > to_be_won(*best)))
          best = &row;
      if (!best) return;
      const int64_t before = best->candidate;
      const double left = seconds_left();
      context_.note("\n" + duration_words(left) + " are left: searching on for " + best->kernel);
      if (!tune(*best, left, false, true)) return;
      // Another trial of the same patch would be another chance to be taken for faster.
      if (best->outcome == "rolled back" && best->leader == before && seconds_left() < left - 1) continue;
      apply(*best, left);
      if (best->kept()) ++patches_;
      if (seconds_left() > left - 1 || (best->candidate == before && best->kept())) return;
    }
  }

  /// Gains that are each too small to show in the application are tried as one patch.
  void apply_hidden_gains() {
    std::vector<LoopRow*> hidden;
    for (auto& row : rows_)
      if (row.hidden && !row.kept() && !row.run.empty()) hidden.push_back(&row);
    if (hidden.size() < 2 || is_interrupted()) return;
    context_.note("\nThe gains of " + counted(hidden.size(), "kernel") +
                  " do not show in the application one by one: they are tried together.");
    std::vector<std::string> runs;
    for (auto* row : hidden)
      if (is_up_to_date(*row)) runs.push_back(row->run);
    if (runs.size() < 2 || is_interrupted()) return;
    auto applied = step(apply_words(runs, LoopSteps::kLongestProof));
    if (applied.ok() && applied->document.is_object() && applied->document.contains("kernels"))
      return read_together(applied->document, rows_);
    for (auto* row : hidden) row->why += "; with others: " + why(applied);
  }

  /// A patch that was kept since has moved lines: the kernel is extracted again, and if its text is what was tuned, its
  /// candidates fit.
  bool is_up_to_date(LoopRow& row) {
    if (row.patches == patches_) return true;
    auto out_of_date = [&](const std::string& why) {
      row.why += "; not tried with others: " + why;
      return false;
    };
    if (looked_at_ != patches_)
      if (auto looked = look_again(); !looked.ok()) return out_of_date(looked.error().message);
    auto text = [&]() -> Result<std::string> {
      KERNELIFT_ASSIGN(Mep mep, Mep::read(row.mep));
      return read_text(fs::path(row.mep) / mep.kernel_file());
    };
    auto before = text();
    auto extracted = step({"extract", shortest_name(row, scanned_, rows_), "--out", row.mep});
    if (failed(extracted)) return out_of_date("extract: " + why(extracted));
    auto after = text();
    if (!before.ok() || !after.ok() || *before != *after)
      return out_of_date("its text has been changed by a patch that was kept since");
    row.patches = patches_;
    return true;
  }

  void print_table() const {
    // The time spent per step, in the order of the steps.
    std::string where;
    double sum = 0;
    for (auto* verb : {"build", "check", "scan", "record", "extract", "replay", "tune", "apply"})
      if (auto spent = steps_.spent().find(verb); spent != steps_.spent().end()) {
        where += (where.empty() ? "" : ", ") + std::string(verb) + " " + duration_words(spent->second);
        sum += spent->second;
      }
    context_.say_lines(table_text(rows_, context_.device == "cpu") + "\n" + measure_text() +
                       "\nTime: " + duration_words(sum) + " (" + where + ")" + model_text() +
                       "\nAll of it on one page: kernelift report --optimize -o optimize.html");
    LoopReport report{options_.run, context_.device, reintegrate::utc_now(), {},           measure_text(),
                      {},           rows_,           steps_.spent(),         model_spent_, is_interrupted()};
    report.measure = !measure_.pattern.empty() ? "metric" : !measure_.region.empty() ? "region" : measure_.measure;
    report.way_back = way_back(rows_);
    const Json document = json_without_secrets(to_json(report));
    if (Status written = write_json(loop_report_file(state_), document); !written.ok())
      context_.note("kernelift optimize: " + written.error().message);
    context_.emit(document);
  }

  std::string measure_text() const {
    const std::string in = measure_.region.empty() ? "" : " in the NVTX range '" + measure_.region + "'";
    if (!measure_.pattern.empty())
      return "Shares are of the time of all kernels" + in + "; a patch is measured by '" + measure_.pattern + "'.";
    if (measure_.span())
      return "Shares are of the time from the first kernel to the last" + in + ", by which a patch is measured, too.";
    return "Shares are of the whole run, by whose duration a patch is measured, too.";
  }

  std::string model_text() const {
    if (options_.search.llm.empty()) return {};
    auto use = tuner::ModelUse::read({{{tuner::kModelUseKey, compact(model_spent_)}}});
    auto most = options_.search.model();
    return "\nModel: " + (most.ok() && *most ? use.text(**most) : use.brief()) +
           "; why it was not asked more often is said by each tune above";
  }

  const Context& context_;
  const LoopOptions& options_;
  MeasureOptions measure_;  ///< Once the application was recorded it is no longer "auto".
  fs::path state_;
  std::vector<fs::path> repositories_;  ///< That patches may change beside the application's.
  LoopSteps steps_;
  ScanIndex scanned_;  ///< Of the last scan.
  double seconds_;
  std::vector<LoopRow> rows_;
  Json model_spent_ = Json::object();   ///< "calls", "tokens", "seconds" of all kernels.
  size_t patches_ = 0, looked_at_ = 0;  ///< Patches that the application has now, and had when it was scanned last.
};

/// The device for all steps of the loop, which must agree: the application is built, recorded and timed on one device.
Result<std::string> loop_device(const std::string& requested) {
  if (requested.starts_with("hip"))
    return refused("optimize does not support AMD GPUs; run it for HIP applications with --device cpu");
  if (requested == "auto") return std::string(record::has_nvidia_driver() ? "cuda" : "cpu");
  // Known now rather than after a build.
  if (requested.starts_with("cuda") && !record::has_nvidia_driver()) return environment_error(record::kNoDriver);
  return requested;
}

/// Two `optimize` processes would build the same files and record into the same folder.
Result<Lock> lock_optimize(const fs::path& state) {
  KERNELIFT_TRY(create_state_folder(state));
  return Lock::take(state / "optimize.lock", "another `kernelift optimize` is running in this folder");
}

Result<Exit> optimize(const Context& context, const LoopOptions& options) {
  // Options that the last step would refuse are refused before the first step.
  if (options.run.empty()) return usage_error("--run needs a command");
  KERNELIFT_ASSIGN(double seconds, parse_duration(options.time));
  if (seconds < kShortestTuning)
    return usage_error("--time " + options.time + " is too short to find anything: give at least " +
                       duration_words(kShortestTuning));
  KERNELIFT_TRY(options.search.check());  // The model's secrets are known from here on.
  LoopOptions chosen = options;
  chosen.limits.smallest_share = options.smallest_share / 100;
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
  return Loop(on_device, chosen, seconds).run();
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<LoopOptions>();
  add_loop_options(app, *options);
  return [options](const Context& context) { return optimize(context, *options); };
}

}  // namespace

const Verb kOptimize = {"optimize", "Run the whole loop: build, record, tune and patch, hottest kernel first",
                        "kernelift optimize --build 'make -j2' --run './app input' --check './app --check' --time 10m\n"
                        "  kernelift optimize --run 'python3 script.py'    # kernels that are compiled while it runs",
                        setup};

}  // namespace kernelift::cli
