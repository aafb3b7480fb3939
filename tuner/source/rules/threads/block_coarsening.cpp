// block_coarsening: each block does the work of K neighbouring blocks, one after the other, and the grid shrinks by K.
// Work that does not depend on the block is done once, and loads of different iterations overlap:
//   int i = blockIdx.x * blockDim.x + threadIdx.x;
// becomes, in a loop over `block_iteration` around the rest of the kernel,
//   int i = (blockIdx.x * K + block_iteration) * blockDim.x + threadIdx.x;
#include <clang/AST/Decl.h>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

std::vector<Opportunity> find_block_coarsening(const KernelSource& source, const RuleContext& facts,
                                               const Bindings& values) {
  std::vector<Opportunity> found;
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType()) return found;
  for (int axis = 0; axis < 3; ++axis)
    for (auto& opportunity : coarsened(source, facts, kernel, axis, values.at("factor")))
      found.push_back(std::move(opportunity));
  return found;
}

}  // namespace

const Rule kBlockCoarsening = {
    "block_coarsening",
    "let each block do the work of several",
    "a guarded global index along the axis; no barriers, shared memory or other use of the block's index",
    {{"factor", {2, 4, 8}}},
    find_block_coarsening,
    {Bound::Compute}};

}  // namespace kernelift::tuner
