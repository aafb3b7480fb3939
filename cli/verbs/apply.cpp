// kernelift apply RUN: patches the application with a run's winner and keeps the patch only if the application is
// proven right and faster.
#include <algorithm>
#include <memory>
#include <set>

#include "cli/duration.h"
#include "cli/embedding/ptx_maker.h"
#include "cli/judging/constants_judge.h"
#include "cli/measure_options.h"
#include "cli/mep_addresses.h"
#include "cli/other_kernel_judge.h"
#include "cli/repositories.h"
#include "cli/verbs.h"
#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/within.h"
#include "extractor/extract/runtime_source.h"
#include "reintegrate/apply_best.h"
#include "reintegrate/apply_together.h"
#include "reintegrate/interruption.h"
#include "reintegrate/tree/patch_journal.h"
#include "sandbox/evaluate/cuda/device_sanitizer.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string build, run, check, branch, embed = "auto";
  std::vector<std::string> build_folders, repositories;
  std::string time = "10m", limit = "1h", hooks = "run";
  std::optional<int64_t> candidate;
  bool roll_back = false, undo = false, dry_run = false, allow_weak_jail = false, no_guards = false;
  reintegrate::HostRules host;
  MeasureOptions measure;
};

/// Times candidates again that were only screened, and has a GPU's looked at by its vendor's tools. The evaluator
/// calibrates the original first, so it is created for the first such candidate and kept. Confirmations are stored in
/// the run, if it is writable, for the next apply.
class Confirmer {
 public:
  Confirmer(const tuner::Run& run, const Mep& mep, std::string device, bool allow_weak_jail)
      : run_(run), mep_(mep), device_(std::move(device)), allow_weak_jail_(allow_weak_jail) {}

  Result<Verdict> operator()(const tuner::RunTrial& trial) {
    KERNELIFT_TRY(prepare());
    Evaluation evaluation = evaluator_->confirm(trial.candidate);
    if (auto* none = std::get_if<NotJudged>(&evaluation)) return environment_error(none->why);
    Verdict& verdict = std::get<Verdict>(evaluation);
    if (auto writable = tuner::Run::resume(run_.file()); writable.ok())
      (void)writable->record_confirmation(trial.id, verdict);
    return std::move(verdict);
  }

  Result<Verdict> inspect(const tuner::RunTrial& trial, BuiltBy built_by) {
    KERNELIFT_TRY(prepare());
    Evaluation evaluation = evaluator_->with_sanitizers(trial.figures(), trial.candidate, built_by);
    if (auto* none = std::get_if<NotJudged>(&evaluation)) return environment_error(none->why);
    return std::get<Verdict>(std::move(evaluation));
  }
  bool can_inspect() const { return device() != "cpu" && sandbox::find_compute_sanitizer(); }

 private:
  std::string device() const { return device_ == "auto" ? run_.meta().device : device_; }
  Status prepare() {
    if (evaluator_) return done();
    sandbox::EvaluatorOptions options;
    options.device = device(), options.few_candidates = true;
    if (run_.meta().tolerance > 0) options.tolerance = Tolerance{run_.meta().tolerance, 0};
    options.allow_weak_jail = allow_weak_jail_;
    KERNELIFT_ASSIGN(evaluator_, make_evaluator(mep_, run_.meta().mep, options));
    return done();
  }

  const tuner::Run& run_;
  Mep mep_;
  std::string device_;
  bool allow_weak_jail_;
  std::unique_ptr<Evaluator> evaluator_;
};

/// Drops all candidates but the one that the user named.
Status keep_only(int64_t id, reintegrate::RunOffer& offer, const tuner::Run& run) {
  std::erase_if(offer.promising, [&](auto& trial) { return trial.id != id; });
  if (!offer.promising.empty()) return done();
  KERNELIFT_ASSIGN(auto trials, run.history());
  for (auto& trial : trials)
    if (trial.id == id)
      return answer_is_no("candidate #" + std::to_string(id) + " of " + run.file().string() +
                          " has no gain that a patch can express (" + trial.figures().text() + ")");
  return usage_error(run.file().string() + " has no candidate #" + std::to_string(id) + "; it has " +
                     counted(trials.size(), "candidate"));
}

/// The build command, whose compile commands are logged; for the CPU device it runs under the compiler wrappers, like
/// the build that was recorded.
Result<std::string> logged(const std::string& line, const char* device, const std::filesystem::path& state) {
  KERNELIFT_ASSIGN(std::filesystem::path kernelift, executable());
  return join_command(
      {kernelift.string(), "build", "--device", device, "--state", state.string(), "--", "sh", "-c", line});
}

Result<Exit> report_restoration(const Context& context, const Result<reintegrate::Restoration>& restored,
                                const std::string& nothing) {
  if (!restored.ok()) return restored.error();
  Json document = {{"needed", restored->needed},
                   {"kept", restored->kept},
                   {"restored", restored->restored},
                   {"left", restored->left},
                   {"ended", restored->ended},
                   {"programs", restored->programs},
                   {"programs_restored", restored->programs_restored},
                   {"strays", restored->strays}};
  context.emit(document);
  if (!context.json && !restored->needed) context.say(nothing);
  if (!context.json && restored->kept)
    context.say("The patch had been proven and committed; its branch is now checked out.");
  for (auto& file : restored->restored) context.note("restored: " + file);
  for (auto& note : restoration_notes(*restored))
    if (!restored->kept) context.note(note);
  return restored->left.empty() && restored->programs_restored ? Exit::Done : Exit::No;
}

/// Refuses to run in a copy of the application: its runs belong to the original tree, and that is what they would
/// patch.
Status check_working_folder(const std::filesystem::path& root, const Context& context) {
  std::error_code code;
  std::filesystem::path here = std::filesystem::current_path(code),
                        there = std::filesystem::weakly_canonical(root, code);
  if (within(here, there) || !context.state.empty()) return done();
  return usage_error("this run belongs to the application in " + there.string() + ", but you are in " + here.string() +
                     ": apply it there, or record and tune the application in this folder");
}

/// Writes the result beside the run, for the HTML report; a run in a read-only folder is applied all the same. If an
/// earlier patch was kept, a later apply that keeps none does not overwrite its report.
void write_applied(std::filesystem::path run, const Result<reintegrate::ApplyReport>& applied) {
  std::filesystem::path file = run.replace_extension(".applied.json");
  auto before = read_json(file);
  const bool was_kept = before.ok() && before->is_object() && before->value("kept", false);
  if (was_kept && !(applied.ok() && applied->kept())) return;
  if (applied.ok()) return (void)write_json(file, to_json(*applied));
  if (applied.error().exit != Exit::No && applied.error().exit != Exit::Refused) return;
  reintegrate::ApplyReport none;
  none.outcome = reintegrate::ApplyOutcome::NoPatch, none.why = applied.error().message,
  none.at = reintegrate::utc_now();
  (void)write_json(file, to_json(none));
}

/// Whether the application is built for the CPU device.
bool is_for_cpu(const Context& context, const Mep& mep) {
  return context.device == "cpu" || (context.device == "auto" && mep.captured_on.starts_with("cpu"));
}

void ask_constants(reintegrate::RunOffer& offer, const std::filesystem::path& mep_folder) {
  offer.ask_constants = [mep = offer.request.mep, original = offer.request.original, mep_folder](
                            const Candidate& candidate, const Verdict& figures) {
    return needed_constants(mep, mep_folder, original, candidate, figures);
  };
}

/// `apply --dry-run`: the patch, of which nothing is written.
Result<Exit> show_patch(const Context& context, const Options& options, const std::filesystem::path& state) {
  if (reintegrate::PatchJournal::interrupted(state))
    return refused(
        "an earlier `kernelift apply` was interrupted and its patch may still be in the sources or in the programs: "
        "restore them with `kernelift apply --rollback`");
  KERNELIFT_ASSIGN(std::filesystem::path file, reintegrate::find_run(options.runs[0], state));
  KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::open(file));
  KERNELIFT_ASSIGN(reintegrate::Embedding embedding,
                   reintegrate::embedding_on(context.device == "cpu" ? "cpu" : run.meta().device, options.embed));
  KERNELIFT_ASSIGN(reintegrate::RunOffer offer, offer_of(run, state, embedding));
  PtxMaker maker(file.filename().string(), offer.request.mep, run.meta().mep);
  ask_constants(offer, run.meta().mep);
  if (embedding != reintegrate::Embedding::Never)
    offer.make_embedded = [&](const tuner::RunTrial& trial) { return maker(trial); };
  if (options.candidate) KERNELIFT_TRY(keep_only(*options.candidate, offer, run));
  offer.request.host = options.host, offer.request.guards = !options.no_guards;
  offer.request.host.by_nvcc = !is_for_cpu(context, offer.request.mep);
  KERNELIFT_ASSIGN(offer.request.repositories, repository_tops(options.repositories));
  const auto origin = extractor::origin_of_program(offer.request.root);
  if (origin) offer.embedding = reintegrate::Embedding::Never, offer.request.launched_elsewhere = true;
  KERNELIFT_ASSIGN(reintegrate::PatchPreview preview, preview_best(std::move(offer)));
  Json document = to_json(preview);
  document["run"] = file.string();
  context.emit(document);
  if (context.json) return Exit::Done;
  context.say_lines(preview.diff);
  context.say(preview.label + (preview.confirmed ? "" : ": apply confirms its gain first"));
  for (auto& note : preview.notes) context.say("  " + note);
  if (origin) {
    context.say("Nothing was changed. apply writes this text beside the original, which is " + *origin + ".");
    return Exit::Done;
  }
  context.say(
      "Nothing was changed. apply builds, checks and times the application with this patch, and keeps it on a "
      "branch only if it is right and faster.");
  return Exit::Done;
}

/// A run with all that trying its candidates in the application takes.
class RunToApply {
 public:
  RunToApply(const Context& context, const Options& options, std::filesystem::path file, tuner::Run run,
             reintegrate::RunOffer offer)
      : file_(std::move(file)),
        run_(std::move(run)),
        offer(std::move(offer)),
        maker_(file_.filename().string(), this->offer.request.mep, run_.meta().mep),
        confirmer_(run_, this->offer.request.mep, context.device, options.allow_weak_jail) {
    ask_constants(this->offer, run_.meta().mep);
    if (this->offer.embedding != reintegrate::Embedding::Never)
      this->offer.make_embedded = [&](const tuner::RunTrial& trial) { return maker_(trial); };
  }

  static Result<std::unique_ptr<RunToApply>> open(const Context& context, const Options& options,
                                                  const std::string& name) {
    const std::filesystem::path state = context.state_folder();
    KERNELIFT_ASSIGN(std::filesystem::path file, reintegrate::find_run(name, state));
    KERNELIFT_ASSIGN(tuner::Run run, tuner::Run::open(file));
    KERNELIFT_ASSIGN(reintegrate::Embedding embedding,
                     reintegrate::embedding_on(context.device == "cpu" ? "cpu" : run.meta().device, options.embed));
    KERNELIFT_ASSIGN(reintegrate::RunOffer offer, offer_of(run, state, embedding));
    if (std::string changed = uncommitted_part(offer.request.mep); !changed.empty())
      return refused(changed + " has uncommitted changes, and the kernel's text is of it: commit or stash them first");
    restart_if_addresses_taken(offer.request.mep, context);  // Confirming screened candidates maps the MEP's memory.
    if (options.candidate) KERNELIFT_TRY(keep_only(*options.candidate, offer, run));
    auto made = std::make_unique<RunToApply>(context, options, std::move(file), std::move(run), std::move(offer));
    KERNELIFT_TRY(made->complete(context, options));
    return made;
  }

  const std::filesystem::path& file() const { return file_; }
  reintegrate::Confirm confirm() {
    return [this](const tuner::RunTrial& trial) { return confirmer_(trial); };
  }

 private:
  /// The commands, and what they are judged by.
  Status complete(const Context& context, const Options& options) {
    reintegrate::ApplyRequest& request = offer.request;
    const std::filesystem::path& state = request.state;
    if (!extractor::origin_of_program(request.root)) KERNELIFT_TRY(check_working_folder(request.root, context));
    const bool cpu = is_for_cpu(context, request.mep);
    request.build = options.build, request.on_cpu = cpu;
    // Whether flags arrive that a patch gives to a file is seen in the log.
    const bool flags = std::ranges::any_of(offer.promising,
                                           [](auto& trial) { return !trial.candidate.recipe.unit_flags.is_default(); });
    if ((cpu || flags) && !options.build.empty()) {
      KERNELIFT_ASSIGN(request.build, logged(options.build, cpu ? "cpu" : "cuda", state));
    }
    KERNELIFT_ASSIGN(auto metric, options.measure.metric());
    set_commands(options.run, options.check, metric, offer);
    KERNELIFT_ASSIGN(request.timed, options.measure.timed(options.run.empty() ? options.check : options.run,
                                                          cpu ? "cpu" : "cuda", state));
    KERNELIFT_ASSIGN(request.trial.time_limit, parse_duration(options.time));
    KERNELIFT_ASSIGN(request.limit, parse_duration(options.limit));
    request.branch = options.branch;
    KERNELIFT_ASSIGN(request.repositories, repository_tops(options.repositories));
    request.host = options.host, request.guards = !options.no_guards, request.host.by_nvcc = !cpu;
    request.run_hooks = options.hooks == "run";
    for (auto& folder : options.build_folders) request.build_folders.push_back(std::filesystem::absolute(folder));
    request.progress = [&context](const std::string& line) { context.note("apply: " + line); };
    judge_.emplace(context, context.device == "auto" ? run_.meta().device : context.device, request.mep.knobs,
                   offer.shares);
    if (confirmer_.can_inspect())
      offer.inspect = [this](const tuner::RunTrial& trial, BuiltBy by) { return confirmer_.inspect(trial, by); };
    offer.judge_others = [this](const std::vector<reintegrate::SharedKnobs>& changes) { return (*judge_)(changes); };
    return done();
  }

  std::filesystem::path file_;
  tuner::Run run_;

 public:
  reintegrate::RunOffer offer;

 private:
  PtxMaker maker_;
  std::optional<OtherKernelJudge> judge_;  ///< Once it is known what shares are of.
  Confirmer confirmer_;
};

/// Of a program that the application compiled while it ran there is no file to patch: the tuned text is written beside
/// the original one.
Result<Exit> write_tuned_program(const Context& context, RunToApply& run, const std::string& origin) {
  const std::filesystem::path folder = run.offer.request.root / "tuned";
  run.offer.embedding = reintegrate::Embedding::Never, run.offer.request.launched_elsewhere = true;
  KERNELIFT_ASSIGN(reintegrate::KernelChange change, best_change(std::move(run.offer), run.confirm()));
  KERNELIFT_ASSERT(change.planned, "a change that was chosen is planned");
  for (auto& one : change.planned->changes)
    KERNELIFT_TRY(write_atomically(folder / one.name, std::string_view(one.after)));
  const std::string& needs = change.planned->launch_needs;
  const std::string why = "no file of the application has this kernel, so none is patched: its text is " + origin +
                          ". The tuned text, verified on the recorded inputs and not tried in the application, is in " +
                          folder.string() + ": give it to the application in the original's place" +
                          (needs.empty() ? "" : ", and launch it " + needs);
  Json document = {{"kept", false},
                   {"error", why},
                   {"candidate", change.candidate_id},
                   {"predicted", {{"kernel_gain", change.predicted.kernel_gain}}},
                   {"folder", folder.string()},
                   {"launch_needs", needs},
                   {"diff", change.planned->diff()}};
  if (auto whole = change.predicted.whole()) document["predicted"]["whole"] = *whole;
  context.emit(document);
  if (!context.json) context.say_lines(change.planned->diff());
  context.note("kernelift apply: " + why);
  return Exit::Refused;
}

Result<Exit> apply_one(const Context& context, const Options& options) {
  KERNELIFT_ASSIGN(auto run, RunToApply::open(context, options, options.runs[0]));
  if (std::error_code code; !std::filesystem::exists(options.runs[0], code))
    context.note("apply: the run of '" + options.runs[0] + "' that was written last: " + run->file().string());
  if (auto origin = extractor::origin_of_program(run->offer.request.root))
    return write_tuned_program(context, *run, *origin);
  auto applied = apply_best(std::move(run->offer), run->confirm());
  write_applied(run->file(), applied);
  if (!applied.ok()) return std::move(applied).error();
  reintegrate::ApplyReport& report = *applied;
  context.emit(to_json(report));
  if (!context.json) context.say_lines(report.text());
  else
    for (auto& note : report.notes) context.note("apply: " + note);  // `optimize` shows this progress to the user.
  if (report.outcome == reintegrate::ApplyOutcome::Interrupted) return Exit::Interrupted;
  return report.kept() ? Exit::Done : Exit::No;
}

/// The best change of each run, in one patch.
Result<Exit> apply_several(const Context& context, const Options& options) {
  using namespace reintegrate;
  InterruptGuard guard;
  KERNELIFT_ASSIGN(Restoration leftovers, roll_back_interrupted(context.state_folder(), [&](const std::string& line) {
                     context.note("apply: " + line);
                   }));
  ApplyRequest request;
  std::vector<KernelChange> changes;
  std::vector<std::filesystem::path> files;
  std::set<std::string> kernels;
  std::vector<std::string> notes;
  Json without = Json::array();
  auto leave_out = [&](const RunToApply& run, const std::string& kernel, const std::string& why) {
    context.note("apply: " + kernel + " is left out: " + why);
    without.push_back({{"kernel", kernel}, {"run", run.file().filename().string()}, {"why", why}});
  };
  for (auto& name : options.runs) {
    KERNELIFT_ASSIGN(auto run, RunToApply::open(context, options, name));
    const std::string kernel = run->offer.request.mep.kernel_name;
    if (auto origin = extractor::origin_of_program(run->offer.request.root)) {
      leave_out(*run, kernel, "no file of the application has it (its text is " + *origin + "): apply its run alone");
      continue;
    }
    if (!kernels.insert(run->offer.request.mep.kernel_id).second)
      return usage_error("several of the runs are of '" + kernel + "': name one of each kernel");
    request = run->offer.request;
    notes.insert(notes.end(), request.notes.begin(), request.notes.end());
    auto change = best_change(std::move(run->offer), run->confirm());
    if (InterruptGuard::interrupted()) return Error{"interrupted; nothing was changed", Exit::Interrupted};
    if (change.ok()) {
      changes.push_back(std::move(*change)), files.push_back(run->file());
      continue;
    }
    if (change.error().exit != Exit::No && change.error().exit != Exit::Refused) return std::move(change).error();
    leave_out(*run, kernel, change.error().message);
  }
  if (changes.empty()) return answer_is_no("none of these runs has a change that can be patched in");
  request.notes = restoration_notes(leftovers);
  for (auto& note : notes)
    if (std::ranges::find(request.notes, note) == request.notes.end()) request.notes.push_back(note);
  KERNELIFT_ASSIGN(TogetherReport report, apply_together(std::move(request), std::move(changes)));
  for (size_t i = 0; i < files.size(); ++i) {
    const TogetherKernel& one = report.kernels[i];
    if (report.trials.empty()) continue;
    ApplyReport decided = report.trials[one.trial];
    if (!one.kept) decided.why = one.why;
    write_applied(files[i], decided);
  }
  Json document = to_json(report);
  document["left_out"] = without;
  context.emit(document);
  if (!context.json) context.say_lines(report.text());
  return report.kept() ? Exit::Done : report.interrupted ? Exit::Interrupted : Exit::No;
}

/// Whether the application compiled the run's kernel while it ran: then there is nothing to patch, build or check.
bool is_of_program(const std::string& name, const std::filesystem::path& state) {
  auto file = reintegrate::find_run(name, state);
  if (!file.ok()) return false;
  auto run = tuner::Run::open(*file);
  if (!run.ok()) return false;
  auto mep = Mep::read(run->meta().mep);
  return mep.ok() && extractor::origin_of_program(mep->app_root);
}

Result<Exit> apply_verb(const Context& context, const Options& options) {
  std::filesystem::path state = context.state_folder();
  auto tell = [&](const std::string& line) { context.note("apply: " + line); };
  if (options.roll_back)
    return report_restoration(context, reintegrate::roll_back_interrupted(state, tell),
                              "No apply was interrupted here.");
  if (options.undo) return report_restoration(context, reintegrate::undo_last(state, tell), "");
  KERNELIFT_TRY(reintegrate::embedding_on("auto", options.embed));
  if (options.runs.empty())
    return usage_error(
        "name the run to apply: the file that `kernelift tune` wrote, e.g. .kernelift/runs/NAME-1.klrun");
  const bool several = options.runs.size() > 1;
  if (several && options.candidate) return usage_error("--candidate names a candidate of one run: give one run");
  if (several && options.dry_run) return usage_error("--dry-run shows the patch of one run: give one run");
  if (options.dry_run) return show_patch(context, options, state);
  // Checked before any candidate is timed again.
  if (!several && is_of_program(options.runs[0], state)) return apply_one(context, options);
  if (options.build.empty()) return usage_error("apply needs the application's build command: --build CMD");
  if (options.run.empty() && options.check.empty())
    return usage_error("apply needs a command that runs the application: --run CMD");
  KERNELIFT_ASSIGN([[maybe_unused]] auto metric, options.measure.metric());
  KERNELIFT_ASSIGN([[maybe_unused]] double time_limit, parse_duration(options.time));
  KERNELIFT_ASSIGN([[maybe_unused]] double command_limit, parse_duration(options.limit));
  KERNELIFT_ASSIGN([[maybe_unused]] auto repositories, repository_tops(options.repositories));
  return several ? apply_several(context, options) : apply_one(context, options);
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->runs,
                 "The run whose best candidate is applied: a run file, or a kernel's name for its latest run. Several: "
                 "their changes are tried as one patch; a kernel that breaks the check is found and left out");
  app.add_option("--candidate", options->candidate,
                 "Apply only this candidate of the run, by its number (default: the best that can be patched in)");
  app.add_option("--build", options->build,
                 "The application's build command, run in its root folder. A kernel that was compiled while the "
                 "application ran needs none, and no --run or --check");
  app.add_option("--run", options->run, "The command whose total run time is measured");
  add_measure(app, options->measure, false);
  app.add_option("--check", options->check,
                 "A command whose exit code is 0 if the application's results are right (default: the --run command)");
  app.add_option(
         "--embed", options->embed,
         "Embed tuned PTX in a generated header if the application's compiler cannot reach the gain: never, auto "
         "or only")
      ->capture_default_str();
  app.add_option("--branch", options->branch, "Name of the git branch to create (default: kernelift/<kernel>-<n>)");
  app.add_option("--build-folder", options->build_folders,
                 "Folder that the build writes to, if it is outside the application's root");
  add_repositories(app, options->repositories);
  app.add_option("--time", options->time,
                 "Time for runs before and after the patch; the longer it is, the smaller a gain can be proven")
      ->capture_default_str();
  add_allow_weak_jail(app, options->allow_weak_jail);
  app.add_flag("--allow-host-changes", options->host.allow_changes,
               "Let a patch change functions that are compiled for the host too, if they use nothing new");
  app.add_flag(
      "--allow-unproven-host", options->host.allow_unproven,
      "Patch although clang cannot compile a unit for the host, so that it is not proven that the patch leaves "
      "the host program as it is");
  app.add_flag(
      "--no-guards", options->no_guards,
      "Patch a candidate that is right only at some sizes without having its launch ask for them, and one that "
      "changes a constant of kernels that were not recorded");
  app.add_option("--limit", options->limit,
                 "Longest time for one build, and for one check or run of the unpatched application")
      ->capture_default_str();
  app.add_option(
         "--hooks", options->hooks,
         "git's pre-commit, prepare-commit-msg and commit-msg hooks: run (before the trial and at the commit) or skip")
      ->capture_default_str()
      ->check(CLI::IsMember({"run", "skip"}));
  app.add_flag("--dry-run", options->dry_run, "Only show the patch that would be tried first; nothing is changed");
  app.add_flag("--rollback", options->roll_back,
               "Only restore the sources and programs that an interrupted apply left patched");
  app.add_flag("--undo", options->undo, "Undo the last patch that was kept in a tree without git, and build again");
  return [options](const Context& context) { return apply_verb(context, *options); };
}

}  // namespace

const Verb kApply = {
    "apply", "Patch the application with a run's best candidate; keep it only if proven right and faster",
    "kernelift apply .kernelift/runs/smooth-*-1.klrun --build make --run ./app --check './app --check'", setup};

}  // namespace kernelift::cli
