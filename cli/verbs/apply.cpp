// kernelift apply RUN: patches the application with a run's winner and keeps the patch only if it is proven.
#include "cli/duration.h"
#include "cli/embedding/ptx_maker.h"
#include "cli/neighbours.h"
#include "cli/room_for_mep.h"
#include "cli/verbs.h"
#include "core/base/executable.h"
#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/within.h"
#include "reintegrate/apply_best.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string run_file, build, run, check, branch, embed = "auto";
  std::vector<std::string> build_folders;
  std::string time = "10m";
  std::optional<int64_t> candidate;
  bool roll_back = false, undo = false;
};

/// Re-times candidates that were only screened. The evaluator calibrates the original first, so it is made for the
/// first of them and kept. What it finds goes to the run where that can be written: it is kept for the next apply.
class Confirmer {
 public:
  Confirmer(const Run& run, const Mep& mep, std::string device) : run_(run), mep_(mep), device_(std::move(device)) {}

  Result<Verdict> operator()(const RunTrial& trial) {
    if (!evaluator_) {
      EvaluatorOptions options;
      options.device = device_ == "auto" ? run_.meta().device : device_;
      options.few_candidates = true;
      KERNELIFT_ASSIGN(evaluator_, make_evaluator(mep_, run_.meta().mep, options));
    }
    Evaluation evaluation = evaluator_->confirm(trial.candidate);
    if (auto* none = std::get_if<NotJudged>(&evaluation)) return environment_error(none->why);
    Verdict& verdict = std::get<Verdict>(evaluation);
    if (auto writable = Run::resume(run_.file()); writable.ok()) (void)writable->record_confirmation(trial.id, verdict);
    return std::move(verdict);
  }

 private:
  const Run& run_;
  Mep mep_;
  std::string device_;
  std::unique_ptr<Evaluator> evaluator_;
};

/// The user names one candidate of the run: that one or none.
Status only(int64_t id, RunOffer& offer, const Run& run) {
  std::erase_if(offer.promising, [&](auto& trial) { return trial.id != id; });
  if (!offer.promising.empty()) return done();
  KERNELIFT_ASSIGN(auto trials, run.history());
  for (auto& trial : trials)
    if (trial.id == id)
      return answer_is_no("candidate #" + std::to_string(id) + " of " + run.file().string() +
                          " has no gain that a patch can express (" + trial.figures().text() + ")");
  return usage_error(run.file().string() + " holds no candidate #" + std::to_string(id) + "; it has " +
                     std::to_string(trials.size()));
}

/// On the CPU device the application's own build goes through the compiler wrappers, like the build that was recorded.
Result<std::string> through_wrappers(const std::string& line, const std::filesystem::path& state) {
  KERNELIFT_ASSIGN(std::filesystem::path kernelift, executable());
  return join_command(
      {kernelift.string(), "build", "--device", "cpu", "--state", state.string(), "--", "sh", "-c", line});
}

Result<Exit> put_back(const Context& context, const Result<Restoration>& restored, const std::string& nothing) {
  if (!restored.ok()) return restored.error();
  Json document = {{"needed", restored->needed},
                   {"kept", restored->kept},
                   {"restored", restored->restored},
                   {"left", restored->left}};
  context.emit(document);
  if (!context.json && !restored->needed) context.say(nothing);
  if (!context.json && restored->kept)
    context.say("The patch had been proven and committed; its branch is now checked out.");
  for (auto& file : restored->restored) context.note("put back: " + file);
  for (auto& file : restored->left) context.note("left alone, changed since: " + file);
  return restored->left.empty() ? Exit::Done : Exit::No;
}

/// A copy of a project has runs of its original: what they patch is that, and not the tree that the user stands in.
Status stands_in(const std::filesystem::path& root, const Context& context) {
  std::error_code code;
  std::filesystem::path here = std::filesystem::current_path(code),
                        there = std::filesystem::weakly_canonical(root, code);
  if (within(here, there) || !context.state.empty()) return done();
  return usage_error("this run is of the application in " + there.string() + ", and you are in " + here.string() +
                     ": apply it there, or record and tune the application that is here");
}

/// The run's HTML report quotes it; a run in a read-only place is still applied. That nothing came of a second apply
/// takes no patch of the first away.
void conclude(std::filesystem::path run, const Result<ApplyReport>& applied) {
  std::filesystem::path file = run.replace_extension(".applied.json");
  if (applied.ok()) return (void)write_json(file, to_json(*applied));
  if (applied.error().exit != Exit::No && applied.error().exit != Exit::Refused) return;
  if (auto before = read_json(file); before.ok() && before->is_object() && before->value("kept", false)) return;
  ApplyReport none;
  none.outcome = ApplyOutcome::NoPatch, none.why = applied.error().message, none.at = utc_now();
  (void)write_json(file, to_json(none));
}

Result<Exit> apply_verb(const Context& context, const Options& options) {
  std::filesystem::path state = context.state_folder();
  if (options.roll_back) return put_back(context, roll_back_interrupted(state), "No apply was interrupted here.");
  if (options.undo) return put_back(context, undo_last(state), "");
  KERNELIFT_TRY(embedding_on("auto", options.embed));
  if (options.run_file.empty())
    return usage_error("which run? Give the file that `kernelift tune` made, e.g. .kernelift/runs/NAME-1.klrun");
  // Said before anything is timed once more.
  if (options.build.empty()) return usage_error("apply needs the application's build command: --build CMD");
  if (options.run.empty() && options.check.empty())
    return usage_error("apply needs a command that runs the application: --run CMD");
  KERNELIFT_ASSIGN(double time_limit, parse_duration(options.time));
  KERNELIFT_ASSIGN(std::filesystem::path file, find_run(options.run_file, state));
  KERNELIFT_ASSIGN(Run run, Run::open(file));
  KERNELIFT_ASSIGN(Embedding embedding,
                   embedding_on(context.device == "cpu" ? "cpu" : run.meta().device, options.embed));
  KERNELIFT_ASSIGN(RunOffer offer, offer_of(run, state, embedding));
  make_room_for(offer.request.mep, context);  // Who was only screened is timed once more.
  PtxMaker maker(file.filename().string(), offer.request.mep, run.meta().mep);
  if (embedding != Embedding::Never) offer.make_embedded = [&](const RunTrial& trial) { return maker(trial); };
  if (options.candidate) KERNELIFT_TRY(only(*options.candidate, offer, run));
  ApplyRequest& request = offer.request;
  KERNELIFT_TRY(stands_in(request.root, context));
  bool cpu = context.device == "cpu" || (context.device == "auto" && request.mep.captured_on.starts_with("cpu"));
  request.build = options.build;
  if (cpu && !options.build.empty()) {
    KERNELIFT_ASSIGN(request.build, through_wrappers(options.build, state));
  }
  request.on_cpu = cpu;
  judge_by(options.run, options.check, offer);
  request.branch = options.branch;
  request.trial.time_limit = time_limit;
  for (auto& folder : options.build_folders) request.build_folders.push_back(std::filesystem::absolute(folder));
  request.progress = [&](const std::string& line) { context.note("apply: " + line); };
  Neighbours neighbours(context, context.device == "auto" ? run.meta().device : context.device, request.mep.knobs,
                        offer.shares);
  offer.weigh = [&](const std::vector<KnobReach>& changes) { return neighbours(changes); };
  Confirmer confirmer(run, offer.request.mep, context.device);
  auto applied = apply_best(std::move(offer), [&](const RunTrial& trial) { return confirmer(trial); });
  conclude(file, applied);
  if (!applied.ok()) return std::move(applied).error();
  ApplyReport& report = *applied;
  context.emit(to_json(report));
  if (!context.json) context.say(report.text());
  else
    for (auto& note : report.notes) context.note("apply: " + note);  // People who wait for the whole loop read along.
  if (report.outcome == ApplyOutcome::Interrupted) return Exit::Interrupted;
  return report.kept() ? Exit::Done : Exit::No;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run_file,
                 "The run whose winner is applied: a file, or a kernel's name for its latest run");
  app.add_option("--candidate", options->candidate,
                 "Only this candidate of the run, by its number (default: the best that can be applied)");
  app.add_option("--build", options->build, "The application's build command, run in its root");
  app.add_option("--run", options->run, "The command whose whole run time is measured");
  app.add_option("--check", options->check, "The command that says by its exit code whether the application is right");
  app.add_option(
         "--embed", options->embed,
         "Tuned PTX in a generated file, for gains that the application's compiler cannot make: never, auto or only")
      ->capture_default_str();
  app.add_option("--branch", options->branch, "The git branch to make (default: kernelift/<kernel>-<n>)");
  app.add_option("--build-folder", options->build_folders,
                 "Where the build writes, if not under the application's root");
  app.add_option("--time", options->time,
                 "For runs before and after the patch: the longer, the smaller a gain can be proven")
      ->capture_default_str();
  app.add_flag("--rollback", options->roll_back, "Only put back what an interrupted apply left behind");
  app.add_flag("--undo", options->undo, "Put back the last patch that was kept in a tree without git");
  return [options](const Context& context) { return apply_verb(context, *options); };
}

}  // namespace

const Verb kApply = {
    "apply", "Patch the application with a run's winner; keep it only if it is proven right and faster",
    "kernelift apply .kernelift/runs/smooth-*-1.klrun --build make --run ./app --check './app --check'", setup};

}  // namespace kernelift::cli
