// kernelift replay: checks whether a MEP's kernel reproduces the recorded results, and times it. Prints PASS or FAIL
// per buffer, then durations with cold and warm caches beside the recorded one.
#include "cli/mep_addresses.h"
#include "cli/mep_folder.h"
#include "cli/verbs.h"
#include "sandbox/device/cuda/clock_lock.h"
#include "sandbox/evaluate/cuda/single_launch.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder, launch;
  bool cold = false, warm = false, counters = false, lock_clocks = false;
  double tolerance = 0;
  unsigned threads = 0;
};

/// The failure of the first launch that failed; empty if none did.
std::string first_failure(const sandbox::ReplayReport& report) {
  for (auto* mode : {&report.warm, &report.cold})
    if (*mode)
      for (auto& instance : (**mode).instances)
        if (!instance.failure.empty()) return instance.failure;
  return {};
}

Result<Exit> replay(const Options& options, const Context& context) {
  if (!options.launch.empty()) {
    KERNELIFT_TRY(sandbox::launch_once(options.launch));
    return Exit::Done;
  }
  KERNELIFT_ASSIGN(fs::path folder, find_mep(options.folder, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  if (!mep.linked.empty()) context.note("warning: " + mep.linked_text());
  restart_if_addresses_taken(mep, context);
  sandbox::ReplayOptions how;
  how.device = context.device;
  // If one cache mode is named, only that one is timed.
  how.cold = options.cold || !options.warm;
  how.warm = options.warm || !options.cold;
  how.threads = options.threads;
  how.counters = options.counters;
  how.tell = [&](const std::string& text) { context.note("  " + text); };
  if (options.tolerance > 0) how.tolerance = Tolerance{options.tolerance, 0};
  KERNELIFT_ASSIGN(auto clocks, sandbox::lock_clocks(options.lock_clocks, context.device));
  KERNELIFT_ASSIGN(sandbox::ReplayReport report, sandbox::replay(folder, how));
  if (auto kept = keep_fidelity(folder, report.fidelity()); !kept.ok())
    context.note("  this grade could not be saved in the MEP: " + kept.error().message);
  // With --json, as used by `optimize`, the text is only the result: the document contains every buffer.
  size_t launches = (report.warm ? *report.warm : *report.cold).instances.size();
  std::string failure = first_failure(report);
  if (!context.json) context.say_lines(report.text());
  else
    context.say(failure.empty() ? (report.pass() ? "PASS" : "FAIL") + std::string(", recorded launches replayed: ") +
                                      std::to_string(launches)
                                : "FAIL: " + failure);
  Json document = report.json();
  if (!failure.empty()) document["failure"] = failure;
  context.emit(document);
  return report.pass() ? Exit::Done : Exit::No;
}

}  // namespace

const Verb kReplay = {
    "replay", "Check an extracted kernel (a MEP) against the recorded results, then time it",
    "kernelift replay smooth             # or the folder that extract printed", [](CLI::App& app) -> Action {
      auto options = std::make_shared<Options>();
      app.add_option("MEP", options->folder, "Folder of the minimal executable program, or its kernel's name")
          ->required();
      app.add_option("--launch-once", options->launch)->group("");  // What a tool of the GPU's vendor is put around.
      app.add_flag("--cold", options->cold, "Time with caches flushed before every launch");
      app.add_flag("--warm", options->warm, "Time with caches as the previous launch left them");
      app.add_flag("--counters", options->counters,
                   "Diagnose what limits the kernel, by hardware counters and this GPU's measured peak rates");
      add_lock_clocks(app, options->lock_clocks);
      app.add_option("--tolerance", options->tolerance,
                     "Largest relative error accepted in floating-point buffers (default: derived from the original)")
          ->check(CLI::PositiveNumber);
      app.add_option("--threads", options->threads, "Number of cores that the CPU device uses (default: all)");
      return [options](const Context& context) { return replay(*options, context); };
    }};

}  // namespace kernelift::cli
