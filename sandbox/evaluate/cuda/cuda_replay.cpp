// The original on the GPU: as the application ran it, where the capture holds its machine code, and as our compiler
// makes it. The first is what must reproduce the application's duration; the second is what candidates are raced
// against.
#include "sandbox/evaluate/cuda/cuda_replay.h"
#include "sandbox/compile/nvcc_jail.h"

#include <algorithm>

namespace kernelift::sandbox {

RunnerSettings runner_settings(const ReplayOptions& options) {
  RunnerSettings settings;
  settings.launch_limit = options.launch_limit;
  settings.tolerance = options.tolerance;
  settings.for_candidates = false;
  return settings;
}

Result<ReplayReport> replay_on_cuda(const std::filesystem::path& folder, const Mep& mep, const ReplayOptions& options,
                                    OpenedGpu gpu) {
  DeviceFacts facts = gpu.process->facts();
  ReplayReport report;
  report.kernel = mep.kernel_name.empty() ? mep.kernel_key : mep.kernel_name;
  report.device = facts.label;
  CompilePoolOptions pool;
  pool.workers = 1, pool.few = true, pool.target = CompileTarget::Cubin, pool.frontend.arch = facts.arch;
  RunnableCode own, applications;
  applications.image = recorded_code(mep, folder, facts.arch);
  std::vector<std::string> roundings;
  std::string source;
  {
    auto baseline = compile_baseline(mep, folder, pool);
    if (!baseline.ok() && applications.image.empty()) return std::move(baseline).error();
    if (baseline.ok()) {
      add_roundings(mep, *baseline, false);
      own.image = baseline->reply.image, roundings = std::move(baseline->roundings.ways), source = baseline->source;
    } else {
      report.notes.push_back("our compiler cannot build it: " + baseline.error().message);
    }
  }  // Nothing else runs while the kernel is timed.
  bool with_counters = options.counters;  // Of the first code that is timed.
  std::set<std::string> fatal;
  auto measure = [&](const RunnableCode& code, bool cold) -> Result<BaselineReport> {
    BaselineReport measured;
    // One process does it all, with the recorded memory in place, as long as it lives.
    if (gpu.process && !gpu.process->alive()) gpu.process.reset();
    RunnerStart with;
    with.opened = std::move(gpu.process);
    KERNELIFT_ASSIGN(gpu.process, RunnerProcess::start(*gpu.runners, gpu.ordinal(), {code, roundings, {}, options.tell},
                                                       cold, fatal, measured, std::move(with)));
    auto& process = gpu.process;
    for (auto& note : process->notes())
      if (std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end()) report.notes.push_back(note);
    if (!report.cross_check) report.cross_check = process->cross_check();
    if (with_counters && measured.pass()) {
      with_counters = false;
      auto facts = process->kernel_facts();
      if (facts.ok()) report.facts = std::move(*facts);
      else report.notes.push_back("what its time goes into is not known: " + facts.error().message);
      process.reset();  // A profiler's session disturbs what is timed after it.
    }
    return measured;
  };
  bool as_run = !applications.image.empty();
  report.compiler = as_run ? kApplicationsCode : "clang";
  const RunnableCode& first = as_run ? applications : own;
  if (options.warm || !options.cold) {
    KERNELIFT_ASSIGN(report.warm, measure(first, false));
  }
  // A replay that is wrong is not worth timing again, nor is a launch that caches make no difference to.
  if (options.cold && (!report.warm || (report.warm->pass() && !all_long(*report.warm)))) {
    KERNELIFT_ASSIGN(report.cold, measure(first, true));
  }
  if (as_run && !own.image.empty()) {
    KERNELIFT_ASSIGN(report.by_clang, measure(own, !options.warm && options.cold));
  }
  if (!report.by_clang || report.by_clang->pass() || !(report.warm ? report.warm : report.cold)->pass()) return report;
  // One computation, rounded otherwise? If nvcc's build of the same source reproduces the capture, that can be tuned.
  auto nvcc = NvccCompiler::find(confined(nvcc_options(mep, facts.arch)));
  CompileReply built;
  if (nvcc.ok()) built = nvcc->compile(source, {mep.kernel_name});
  if (!nvcc.ok() || !built.ok()) {
    report.notes.push_back("whether it reproduces the capture as nvcc builds it is not known: " +
                           (nvcc.ok() ? built.detail : nvcc.error().message));
    return report;
  }
  RunnableCode by_nvcc;
  by_nvcc.image = built.image;
  KERNELIFT_ASSIGN(BaselineReport measured, measure(by_nvcc, !options.warm && options.cold));
  if (measured.pass()) report.only_by_nvcc = only_by_nvcc(report.by_clang->complaint());
  else report.notes.push_back("nor does it reproduce the capture as nvcc builds it: " + measured.complaint());
  return report;
}

}  // namespace kernelift::sandbox
