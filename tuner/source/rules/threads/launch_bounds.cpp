// launch_bounds: tells the compiler how many threads a block really has (as recorded), and optionally how many blocks
// should share a multiprocessor, so that it can trade registers against occupancy. Where the launch takes its block from
// macros or constants, the bound is spelled with them: a number would make every later, larger block fail to launch, in
// the search and in the user's hands. Where they are out of the kernel's sight, there is no bound.
#include <clang/AST/Attr.h>

#include <algorithm>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || kernel->hasAttr<clang::CUDALaunchBoundsAttr>() || facts.geometries.empty()) return {};
  if (facts.block_is_knob && facts.threads_text.empty()) return {};
  uint64_t threads = 0;
  for (auto& geometry : facts.geometries) threads = std::max(threads, geometry.block.count());
  auto name = source.offset(kernel->getQualifierLoc() ? kernel->getQualifierLoc().getBeginLoc() : kernel->getLocation());
  if (!name) return {};
  int64_t blocks = values.at("min_blocks");
  std::string bounds = "__launch_bounds__(" + (facts.threads_text.empty() ? std::to_string(threads) : facts.threads_text) + (blocks ? ", " + std::to_string(blocks) : "") + ") ";
  Opportunity found;
  found.place = kernel->getNameAsString();
  found.edits.push_back({*name, *name, bounds});
  return {found};
}

}  // namespace

const Rule kLaunchBounds = {"launch_bounds", "state the block size, and how many blocks should fit a multiprocessor",
                            "the kernel has no __launch_bounds__ yet", {{"min_blocks", {0, 2, 4, 8}}}, find, {Bound::Latency}};

}  // namespace kernelift
