// swap_block_axes: threads with neighbouring threadIdx.x go to memory together, so they should meet neighbouring
// elements. Where a kernel walks along its rows with threadIdx.y instead,
//   int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;  … a[row * n +
//                                                                                                     column] …
// the threads of a block change places: they are numbered as before, and y counts faster than x. Each does what another
// did, so nothing but the order changes, and the launch stays as it is.
#include <clang/AST/Expr.h>

#include "tuner/source/rules/threads/block_index.h"
#include "tuner/space/knob_text.h"

namespace kernelift {
namespace {

/// It says by itself who sits beside whom; perhaps it has been turned already, and once more would turn it back.
bool numbers_its_threads(const std::string& text) {
  std::string code = squeezed(blank_comments(text));
  for (auto* number : {"threadIdx.y*blockDim.x+threadIdx.x", "blockDim.x*threadIdx.y+threadIdx.x",
                       "threadIdx.x+threadIdx.y*blockDim.x", "threadIdx.x+blockDim.x*threadIdx.y"})
    if (code.find(number) != code.npos) return true;
  return false;
}

/// What warps do together depends on who is in them. They need not say so: older code lets the threads of a warp
/// exchange through shared memory with no barrier.
bool speaks_of_warps(const std::string& text) {
  for (auto* word : {"asm", "volatile", "warpSize", "cooperative_groups", "__shared__"})
    if (mentions(text, word)) return true;
  std::string code = blank_comments(text);
  for (auto* family : {"__shfl", "__ballot", "__any", "__all", "__activemask", "__match", "__reduce", "__syncwarp"})
    if (code.find(family) != code.npos) return true;
  return false;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  auto open = kernel ? source.offset(kernel->getBody()->getBeginLoc()) : std::nullopt;
  if (!open || facts.geometries.empty() || speaks_of_warps(source.text()) ||
      numbers_its_threads(source.spelled(kernel->getBody())) || place_is_asked_elsewhere(source))
    return {};
  for (auto& geometry : facts.geometries)
    if (geometry.block.x < 2 || geometry.block.y < 2) return {};
  std::string turned = source.fresh_name("thread_rank"),
              names[2] = {source.fresh_name("swapped_x"), source.fresh_name("swapped_y")};
  Opportunity found;
  size_t along[2] = {}, whole = 0;
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement))
      whole += reference->getDecl()->getNameAsString() == "threadIdx";
    auto range = llvm::isa<clang::PseudoObjectExpr>(statement) ? source.span(statement) : std::nullopt;
    std::string text = range ? squeezed(source.spelled(statement)) : "";
    whole += llvm::isa<clang::PseudoObjectExpr>(statement) && !is_spelled_builtin(source, statement);
    for (int axis = 0; axis < 2; ++axis)
      if (text == std::string("threadIdx.") + kAxisNames[axis])
        ++along[axis], found.edits.push_back({range->begin, range->end, names[axis]});
    return true;
  });
  if (whole || !along[0] || !along[1]) return {};
  std::string indent = source.body_indentation(kernel);
  found.edits.push_back({*open + 1, *open + 1,
                         "\n" + indent + "const unsigned " + turned + " = threadIdx.y * blockDim.x + threadIdx.x, " +
                             names[0] + " = " + turned + " / blockDim.y, " + names[1] + " = " + turned +
                             " % blockDim.y;"});
  found.place = "threads of the block";
  return {found};
}

}  // namespace

const Rule kSwapBlockAxes = {
    "swap_block_axes",
    "let neighbouring threads differ in threadIdx.y, so that they meet neighbours in memory",
    "blocks of two dimensions; no use of which threads form a warp, and no shared memory, through "
    "which they may exchange unsaid",
    {},
    find,
    {Bound::Memory, Bound::Latency}};

}  // namespace kernelift
