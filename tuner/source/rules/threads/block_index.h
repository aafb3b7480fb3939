// Which block and thread this is, as kernels spell it: `int i = blockIdx.x * blockDim.x + threadIdx.x;`.
// What rules that change how work is spread over threads have in common.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/kernel_source.h"
#include "tuner/source/rules/rule.h"

namespace kernelift {

inline constexpr const char* kAxisNames[] = {"x", "y", "z"};

/// Whether the spelling, casts and parentheses aside, is a thread's global index along the axis.
bool is_global_index(std::string text, int axis);
/// Whether it is the number of the block alone.
bool is_block_number(std::string text, int axis);

struct GlobalIndex {
  int axis = 0;
  const clang::Stmt* statement =
      nullptr;  ///< `int i = …;` of this variable alone, or `i = …;`, in the outermost block.
  const clang::VarDecl* variable = nullptr;
  const clang::Expr* value = nullptr;
  bool declared = false;                 ///< The statement is of the first kind.
  bool block_alone = false;              ///< i = blockIdx.y: all threads of a block have the same.
  const clang::ForStmt* loop = nullptr;  ///< The statement, where it is a loop that begins with `int i = …`.
  std::vector<Span> grid;                ///< Where the kernel says gridDim.
};

/// The kernel's only mention of its place along the axis; nullopt if anything else knows it too, or there is none.
/// `in_strides`: the kernel may know how many blocks there are, and go on from the index in a loop: `for (i = …; i < n;
/// i += blockDim.x * gridDim.x)`.
std::optional<GlobalIndex> global_index(const KernelSource& source, const clang::FunctionDecl* kernel, int axis,
                                        bool in_strides = false);

/// Whether `threadIdx.x` or one of its kin is spelled there in these words, not by a macro.
bool is_spelled_builtin(const KernelSource& source, const clang::Stmt* builtin);

/// A function that the kernel may call asks for its place by itself.
bool place_is_asked_elsewhere(const KernelSource& source);

/// The spelling of an index with its block's number replaced by that of the `number`-th of `count` neighbouring blocks:
/// "(blockIdx.x * 4 + turn)". Empty if it does not name the block.
std::string of_neighbouring_block(std::string index, int axis, int64_t count, const std::string& number);

/// The effect (see Step::effects) of blocks that do the work of `count` each in a grid that keeps its size, because the
/// kernel needs the original number of blocks.
std::string idle_blocks(int64_t count);

/// The last of the body's statements up to `first` from which on the text may run once more: nothing has a value there
/// yet that it changes. The number of the statement; parameters that it changes are for the caller.
size_t where_to_begin(const std::vector<const clang::Stmt*>& statements, size_t first);
/// Parameters that are changed from there on.
std::set<const clang::VarDecl*> changed_parameters(const std::vector<const clang::Stmt*>& statements, size_t begin);

/// `if (i >= n) return;`
bool only_returns(const clang::Stmt* statement);
/// What a guard asks for, all of which must hold; or of which, where it `leaves`, none may.
std::vector<const clang::Expr*> parts_of_guard(const clang::Expr* condition, bool leaves);
/// Whether a part of a guard that bounds the index asks of a size that all launches cover along the axis, and lets in
/// no more: neighbours that the grid did not have are outside then. Of another size they may be inside, and the work
/// somebody else's. Where the grid is always the same, there are none if it falls into whole groups of `count`.
bool asks_of_covered_size(const KernelSource& source, const RuleContext& facts, int axis, int64_t count,
                          const clang::Expr* part, const clang::VarDecl* index);
/// In front of a guard there may be neighbours that the original never ran: nothing may touch memory for them.
bool touches_memory(const std::vector<const clang::Stmt*>& statements);

/// What comes to stand in a loop of turns goes on to the next turn where it returned. nullopt if one of the returns
/// behind `from` is in a loop of its own, or one stands in front.
std::optional<std::vector<TextEdit>> continue_instead_of_return(const KernelSource& source, const clang::Stmt* body,
                                                                size_t from);

/// Each block does the work of `turns` neighbouring blocks along the axis, one after the other, in a loop around the
/// rest of the kernel. nullopt where the index is not guarded, or something makes the turns differ from blocks.
std::optional<Opportunity> in_turns(const KernelSource& source, const RuleContext& facts,
                                    const clang::FunctionDecl* kernel, int axis, int64_t turns);

}  // namespace kernelift
