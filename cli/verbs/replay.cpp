// kernelift replay: does a MEP's kernel leave what the application got, and how long does it take? PASS or FAIL per
// buffer, then durations with cold and warm caches beside the recorded one.
#include "cli/mep_addresses.h"
#include "cli/mep_folder.h"
#include "cli/verbs.h"
#include "sandbox/device/cuda/clock_lock.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder;
  bool cold = false, warm = false, counters = false, lock_clocks = false;
  double tolerance = 0;
  unsigned threads = 0;
};

/// Of the first launch that failed; empty if none did.
std::string first_failure(const ReplayReport& report) {
  for (auto* mode : {&report.warm, &report.cold})
    if (*mode)
      for (auto& instance : (**mode).instances)
        if (!instance.failure.empty()) return instance.failure;
  return {};
}

Result<Exit> replay(const Options& options, const Context& context) {
  KERNELIFT_ASSIGN(fs::path folder, find_mep(options.folder, context.state_folder()));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(folder));
  if (!mep.linked.empty()) context.note("warning: " + mep.linked_text());
  restart_if_addresses_taken(mep, context);
  ReplayOptions how;
  how.device = context.device;
  // Naming one cache mode asks for that one only.
  how.cold = options.cold || !options.warm;
  how.warm = options.warm || !options.cold;
  how.threads = options.threads;
  how.counters = options.counters;
  how.tell = [&](const std::string& text) { context.note("  " + text); };
  if (options.tolerance > 0) how.tolerance = Tolerance{options.tolerance, 0};
  KERNELIFT_ASSIGN(auto clocks, lock_clocks(options.lock_clocks, context.device));
  KERNELIFT_ASSIGN(ReplayReport report, kernelift::replay(folder, how));
  if (auto kept = keep_fidelity(folder, report.fidelity()); !kept.ok())
    context.note("  the MEP does not keep this grade: " + kept.error().message);
  // With --json, as in the whole loop, people are told the answer alone: the document has every buffer.
  size_t launches = (report.warm ? *report.warm : *report.cold).instances.size();
  std::string failure = first_failure(report);
  context.say(!context.json     ? report.text()
              : failure.empty() ? (report.pass() ? "PASS" : "FAIL") + std::string(", recorded launches run again: ") +
                                      std::to_string(launches)
                                : "FAIL: " + failure);
  Json document = report.json();
  if (!failure.empty()) document["failure"] = failure;
  context.emit(document);
  return report.pass() ? Exit::Done : Exit::No;
}

}  // namespace

const Verb kReplay = {
    "replay", "Check an extracted kernel (a MEP) against what was recorded, then time it",
    "kernelift replay smooth             # or the folder that extract printed", [](CLI::App& app) -> Action {
      auto options = std::make_shared<Options>();
      app.add_option("MEP", options->folder, "Folder of the minimal executable program, or its kernel's name")
          ->required();
      app.add_flag("--cold", options->cold, "Time with caches flushed before every launch");
      app.add_flag("--warm", options->warm, "Time with caches as the last launch left them");
      app.add_flag("--counters", options->counters,
                   "Say what its time goes into, by hardware counters and this GPU's own ceilings");
      add_lock_clocks(app, options->lock_clocks);
      app.add_option("--tolerance", options->tolerance,
                     "Relative error that floating-point buffers may have (default: derived)")
          ->check(CLI::PositiveNumber);
      app.add_option("--threads", options->threads, "Cores that the CPU device uses (default: all)");
      return [options](const Context& context) { return replay(*options, context); };
    }};

}  // namespace kernelift::cli
