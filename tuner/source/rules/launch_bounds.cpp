// launch_bounds: tells the compiler how many threads a block really has (as recorded), and optionally how many blocks
// should share a multiprocessor, so that it can trade registers against occupancy.
#include <clang/AST/Attr.h>

#include <algorithm>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

std::vector<Opportunity> find(const KernelSource& source, const KernelFacts& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || kernel->hasAttr<clang::CUDALaunchBoundsAttr>() || facts.geometries.empty()) return {};
  uint64_t threads = 0;
  for (auto& geometry : facts.geometries) threads = std::max(threads, geometry.block.count());
  auto name = source.offset(kernel->getQualifierLoc() ? kernel->getQualifierLoc().getBeginLoc() : kernel->getLocation());
  if (!name) return {};
  int64_t blocks = values.at("min_blocks");
  std::string bounds = "__launch_bounds__(" + std::to_string(threads) + (blocks ? ", " + std::to_string(blocks) : "") + ") ";
  Opportunity found;
  found.place = kernel->getNameAsString();
  found.edits.push_back({*name, *name, bounds});
  return {found};
}

}  // namespace

const Rule kLaunchBounds = {"launch_bounds", "state the block size, and how many blocks should fit a multiprocessor",
                            "the kernel has no __launch_bounds__ yet", {{"min_blocks", {0, 2, 4, 8}}}, find};

}  // namespace kernelift
