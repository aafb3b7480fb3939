// kernelift apply RUN: patches the application with a run's winner and keeps the patch only if it is proven.
#include "cli/verbs.h"
#include "core/base/file.h"
#include "core/base/process.h"
#include "reintegrate/apply_request.h"

namespace kernelift::cli {
namespace {

struct Options {
  std::string run_file, build, run, check, branch;
  std::vector<std::string> build_folders;
  double time = TrialOptions{}.time_limit;
  bool roll_back = false, undo = false;
};

/// On the CPU device the application's own build goes through the compiler shims, like the build that was recorded.
std::string through_shims(const std::string& line, const std::filesystem::path& state) {
  return join_command({(std::filesystem::read_symlink("/proc/self/exe")).string(), "build", "--device", "cpu", "--state", state.string(), "--",
                       "sh", "-c", line});
}

Result<Exit> put_back(const Context& context, const Result<Restoration>& restored, const std::string& nothing) {
  if (!restored.ok()) return restored.error();
  Json document = {{"needed", restored->needed}, {"kept", restored->kept}, {"restored", restored->restored}, {"left", restored->left}};
  context.emit(document);
  if (!context.json && !restored->needed) context.say(nothing);
  if (!context.json && restored->kept) context.say("The patch had been proven and committed; its branch is now checked out.");
  for (auto& file : restored->restored) context.note("put back: " + file);
  for (auto& file : restored->left) context.note("left alone, changed since: " + file);
  return restored->left.empty() ? Exit::Done : Exit::No;
}

Result<Exit> apply_verb(const Context& context, const Options& options) {
  std::filesystem::path state = context.state_folder();
  if (options.roll_back) return put_back(context, roll_back_interrupted(state), "No apply was interrupted here.");
  if (options.undo) return put_back(context, undo_last(state), "");
  if (options.run_file.empty()) return usage_error("which run? Give the file that `kernelift tune` made, e.g. .kernelift/runs/NAME-1.klrun");
  KERNELIFT_ASSIGN(ApplyRequest request, request_from_run(options.run_file, state));
  bool cpu = context.device == "cpu" || (context.device == "auto" && request.mep.captured_on.starts_with("cpu"));
  request.build = options.build.empty() || !cpu ? options.build : through_shims(options.build, state);
  request.run = options.run;
  request.check = options.check;
  request.branch = options.branch;
  request.trial.time_limit = options.time;
  for (auto& folder : options.build_folders) request.build_folders.push_back(std::filesystem::absolute(folder));
  request.progress = [&](const std::string& line) { context.note("apply: " + line); };
  KERNELIFT_ASSIGN(ApplyReport report, apply(request));
  // The run's HTML report quotes it; a run in a read-only place is still applied.
  if (std::filesystem::path run = options.run_file; run.extension() == ".klrun")
    (void)write_atomically(run.replace_extension(".applied.txt"), report.text());
  context.emit(to_json(report));
  if (!context.json) context.say(report.text());
  if (report.outcome == ApplyOutcome::Interrupted) return Exit::Interrupted;
  return report.kept() ? Exit::Done : Exit::No;
}

Action setup(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run_file, "The run whose winner is applied: a file, or a kernel's name for its latest run");
  app.add_option("--build", options->build, "The application's build command, run in its root");
  app.add_option("--run", options->run, "The command whose whole run time is measured");
  app.add_option("--check", options->check, "The command that says by its exit code whether the application is right");
  app.add_option("--branch", options->branch, "The git branch to make (default: kernelift/<kernel>-<n>)");
  app.add_option("--build-folder", options->build_folders, "Where the build writes, if not under the application's root");
  app.add_option("--time", options->time, "Seconds of timing before and after at most")->capture_default_str();
  app.add_flag("--rollback", options->roll_back, "Only put back what an interrupted apply left behind");
  app.add_flag("--undo", options->undo, "Put back the last patch that was kept in a tree without git");
  return [options](const Context& context) { return apply_verb(context, *options); };
}

}  // namespace

const Verb kApply = {"apply", "Patch the application with a run's winner; keep it only if it is proven right and faster",
                     "kernelift apply .kernelift/runs/smooth-1.klrun --build make --run ./app --check './app --check'", setup};

}  // namespace kernelift::cli
