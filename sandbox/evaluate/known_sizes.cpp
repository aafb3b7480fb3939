// See known_sizes() in evaluate.h.
#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/size_comparison.h"

namespace kernelift::sandbox {

Result<std::vector<OtherSizes>> known_sizes(const Mep& mep, const std::filesystem::path& folder,
                                            const std::vector<SizesQuestion>& questions) {
  CompilePoolOptions options;
  options.workers = 1, options.few = true;
  KERNELIFT_ASSIGN(CompiledBaseline baseline, compile_baseline(mep, folder, options));
  SizeComparison as_recorded(mep, *baseline.pool, baseline.source);
  std::vector<OtherSizes> known;
  for (auto& question : questions) {
    SizeComparison comparison(as_recorded, question.mep, *baseline.pool, question.original);
    Verdict right;
    right.stage = Stage::Verify;
    known.push_back(*std::get<Verdict>(comparison.judged(right, question.candidate)).other_sizes);
  }
  return known;
}

}  // namespace kernelift::sandbox
