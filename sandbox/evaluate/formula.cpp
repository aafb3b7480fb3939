// See formula_of() in evaluate.h.
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/cpu/processor_check.h"
#include "sandbox/evaluate/evaluate.h"

namespace kernelift::sandbox {

Result<FieldEquality> formula_of(const Mep& mep, const std::filesystem::path& folder) {
  if (mep.instances.empty()) return usage_error("the MEP has no recorded launch, on which a field run could be made");
  CompilePoolOptions options;
  options.workers = 1, options.few = true;
  KERNELIFT_ASSIGN(CompiledBaseline baseline, compile_baseline(mep, folder, options));
  ProcessorCheck runner(mep, folder, {}, baseline);
  Candidate itself;
  itself.source = baseline.source;
  // For starting and compiling, too: a run has a limit of its own (kFieldLimit).
  constexpr std::chrono::seconds kMost(60);
  return runner.formula(itself, baseline.reply, Deadline::clock::now() + kMost, SharedEra::kAlways);
}

}  // namespace kernelift::sandbox
