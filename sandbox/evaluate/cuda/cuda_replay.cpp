// The original on the GPU: as the application ran it, where the capture holds its machine code, and as our compiler makes
// it. The first is what must reproduce the application's duration; the second is what candidates are raced against.
#include "sandbox/evaluate/cuda/cuda_replay.h"

#include "sandbox/evaluate/cuda/cuda_evaluator.h"

namespace kernelift {

bool cuda_answers() {
  static const bool answers = [] {
    Mep none;
    auto runners = cuda_runners(none, ".", {});
    return runners.ok() && GpuProcess::open(**runners, 0).ok();
  }();
  return answers;
}

Result<ReplayReport> replay_on_cuda(const std::filesystem::path& folder, const Mep& mep, const ReplayOptions& options) {
  GpuRunnerSettings settings;
  settings.launch_limit = options.launch_limit;
  settings.tolerance = options.tolerance;
  KERNELIFT_ASSIGN(int wanted, cuda_ordinal(options.device));
  int ordinal = std::max(wanted, 0);
  KERNELIFT_ASSIGN(auto runners, cuda_runners(mep, folder, settings));
  KERNELIFT_ASSIGN(auto opened, GpuProcess::open(*runners, ordinal));  // The first to be measured takes it over.
  DeviceFacts facts = opened->facts();
  ReplayReport report;
  report.kernel = mep.kernel_name.empty() ? mep.kernel_key : mep.kernel_name;
  report.device = facts.label;
  CompilePoolOptions pool;
  pool.workers = 1, pool.few = true, pool.target = CompileTarget::Cubin, pool.frontend.arch = facts.arch;
  TrialCode own, applications;
  applications.image = recorded_code(mep, folder, facts.arch);
  std::vector<std::string> roundings;
  {
    auto baseline = compile_baseline(mep, folder, pool);
    if (!baseline.ok() && applications.image.empty()) return std::move(baseline).error();
    if (baseline.ok()) own.image = baseline->reply.image, roundings = baseline->roundings;
    else report.notes.push_back("our compiler cannot build it: " + baseline.error().message);
  }  // Nothing else runs while the kernel is timed.
  bool with_counters = options.counters;  // Of the first code that is timed.
  auto measure = [&](const TrialCode& code, bool cold) -> Result<BaselineReport> {
    std::set<std::string> fatal;
    BaselineReport measured;
    KERNELIFT_ASSIGN(auto process, GpuProcess::start(*runners, ordinal, {code, roundings, {}}, cold, fatal, measured, std::move(opened)));
    for (auto& note : process->notes())
      if (std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end()) report.notes.push_back(note);
    if (with_counters && measured.pass()) {
      with_counters = false;
      auto facts = process->kernel_facts();
      if (facts.ok()) report.facts = std::move(*facts);
      else report.notes.push_back("what its time goes into is not known: " + facts.error().message);
    }
    return measured;
  };
  bool as_run = !applications.image.empty();
  report.compiler = as_run ? "the application's own machine code" : "clang";
  const TrialCode& first = as_run ? applications : own;
  if (options.warm || !options.cold) {
    KERNELIFT_ASSIGN(report.warm, measure(first, false));
  }
  // A replay that is wrong is not worth timing again.
  if (options.cold && (!report.warm || report.warm->pass())) {
    KERNELIFT_ASSIGN(report.cold, measure(first, true));
  }
  if (as_run && !own.image.empty()) {
    KERNELIFT_ASSIGN(report.by_clang, measure(own, !options.warm && options.cold));
  }
  return report;
}

}  // namespace kernelift
