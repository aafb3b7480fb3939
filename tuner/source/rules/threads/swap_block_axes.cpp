// swap_block_axes: a warp accesses memory together, so threads with neighbouring threadIdx.x should access neighbouring
// elements. If a kernel walks along its rows with threadIdx.y instead,
//   int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
//   … a[row * n + column] …
// the threads of a block are renumbered such that y varies fastest. Every thread does the work of another one, so only
// the order changes, and the launch stays the same.
#include <clang/AST/Expr.h>

#include "core/model/knob/knob_text.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {
namespace {

/// The kernel computes a thread's rank in its block. It may have been rewritten by this rule already, and a second time
/// would undo that.
bool computes_thread_rank(const std::string& text) {
  std::string code = squeezed(blank_comments(text));
  for (auto* number : {"threadIdx.y*blockDim.x+threadIdx.x", "blockDim.x*threadIdx.y+threadIdx.x",
                       "threadIdx.x+threadIdx.y*blockDim.x", "threadIdx.x+blockDim.x*threadIdx.y"})
    if (code.find(number) != code.npos) return true;
  return false;
}

/// The text may depend on which threads form a warp. Shared memory counts, because older code lets the threads of a
/// warp exchange data through it without a barrier.
bool depends_on_warps(const std::string& text) {
  for (auto* word : {"asm", "volatile", "warpSize", "cooperative_groups", "__shared__"})
    if (mentions_word(text, word)) return true;
  std::string code = blank_comments(text);
  for (auto* family : {"__shfl", "__ballot", "__any", "__all", "__activemask", "__match", "__reduce", "__syncwarp"})
    if (code.find(family) != code.npos) return true;
  return false;
}

std::vector<Opportunity> find_swap_block_axes(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  auto open = kernel ? source.offset(kernel->getBody()->getBeginLoc()) : std::nullopt;
  if (!open || facts.geometries.empty() || depends_on_warps(source.text()) ||
      computes_thread_rank(source.spelled(kernel->getBody())) || others_read_indices(source))
    return {};
  for (auto& geometry : facts.geometries)
    if (geometry.block.x < 2 || geometry.block.y < 2) return {};
  std::string rank = source.fresh_name("thread_rank"),
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
                         "\n" + indent + "const unsigned " + rank + " = threadIdx.y * blockDim.x + threadIdx.x, " +
                             names[0] + " = " + rank + " / blockDim.y, " + names[1] + " = " + rank + " % blockDim.y;"});
  found.place = "threads of the block";
  return {found};
}

}  // namespace

const Rule kSwapBlockAxes = {
    "swap_block_axes",
    "let neighbouring threads differ in threadIdx.y, so that they access neighbouring elements",
    "blocks of two dimensions; nothing that depends on which threads form a warp, and no shared memory",
    {},
    find_swap_block_axes,
    {Bound::Memory, Bound::Latency}};

}  // namespace kernelift::tuner
