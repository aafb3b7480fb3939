// launch_bounds: tells the compiler how many threads a block has, and optionally how many blocks should share a
// multiprocessor, so that it can trade registers against occupancy. A block that exceeds the bound fails to launch,
// also in the application. So the bound is stated only if every launch site spells its block in numbers, or if all
// compute it from the same knobs, which must be visible to the kernel; never if a block is computed at run time. The
// CPU device has no such trade-off.
#include <clang/AST/Attr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

std::vector<Opportunity> find_launch_bounds(const KernelSource& source, const RuleContext& facts,
                                            const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (facts.on_cpu || !kernel || kernel->hasAttr<clang::CUDALaunchBoundsAttr>() ||
      (facts.most_threads == 0 && facts.threads_text.empty()))
    return {};
  auto name =
      source.offset(kernel->getQualifierLoc() ? kernel->getQualifierLoc().getBeginLoc() : kernel->getLocation());
  if (!name) return {};
  int64_t blocks = values.at("min_blocks");
  std::string bounds = "__launch_bounds__(" +
                       (facts.threads_text.empty() ? std::to_string(facts.most_threads) : facts.threads_text) +
                       (blocks ? ", " + std::to_string(blocks) : "") + ") ";
  Opportunity found;
  found.place = kernel->getNameAsString();
  found.edits.push_back({*name, *name, bounds});
  return {found};
}

}  // namespace

const Rule kLaunchBounds = {"launch_bounds",
                            "state the block size, and how many blocks a multiprocessor should hold",
                            "the kernel has no __launch_bounds__ yet, and no launch computes its block at run time",
                            {{"min_blocks", {0, 2, 4, 8}}},
                            find_launch_bounds,
                            {Bound::Latency}};

}  // namespace kernelift::tuner
