// launch_bounds: tells the compiler how many threads a block really has, and optionally how many blocks should share a
// multiprocessor, so that it can trade registers against occupancy. A larger block fails to launch then, in the search
// and in the user's hands. So there is a bound only where every launch spells its block in numbers, or all take it from
// the same macros or constants, with which the bound is then spelled; not where they are out of the kernel's sight, and
// not where a block is computed when the program runs. The CPU device has no such trade.
#include <clang/AST/Attr.h>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
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
                            "state the block size, and how many blocks should fit a multiprocessor",
                            "the kernel has no __launch_bounds__ yet, and no launch computes its block",
                            {{"min_blocks", {0, 2, 4, 8}}},
                            find,
                            {Bound::Latency}};

}  // namespace kernelift
