// block_coarsening: each block does the work of K neighbouring blocks, one after the other, and the grid shrinks by K.
// Index arithmetic and guards that other threads repeat are paid once, and loads of different turns overlap:
//   int i = blockIdx.x * blockDim.x + threadIdx.x;
// becomes, in a loop over `turn` around the rest of the kernel,
//   int i = (blockIdx.x * K + turn) * blockDim.x + threadIdx.x;
#include <clang/AST/Decl.h>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift {
namespace {

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  std::vector<Opportunity> found;
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType()) return found;
  for (int axis = 0; axis < 3; ++axis)
    if (auto opportunity = in_turns(source, facts, kernel, axis, values.at("factor")))
      found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kBlockCoarsening = {
    "block_coarsening",
    "let each block do the work of several",
    "a guarded global index along the axis; no barriers, shared memory or other use of the block's number",
    {{"factor", {2, 4, 8}}},
    find,
    {Bound::Compute}};

}  // namespace kernelift
