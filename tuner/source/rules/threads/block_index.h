// Global indices as kernels spell them (`int i = blockIdx.x * blockDim.x + threadIdx.x;`), their guards, and the loop
// that gives a block the work of several. Shared by the rules that change how work is distributed over threads.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/kernel_source.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

inline constexpr const char* kAxisNames[] = {"x", "y", "z"};

/// Whether the text, apart from casts and parentheses, is a thread's global index along the axis.
bool is_global_index(std::string text, int axis);
/// What the block's index is multiplied by in such a text: "blockDim.x", or the macro or constant that the launch uses,
/// too. Empty for other texts.
std::string width_of_index(std::string text, int axis);
/// Whether the text is the block's index alone.
bool is_block_number(std::string text, int axis);

struct GlobalIndex {
  int axis = 0;
  /// `int i = …;` (a declaration of this variable alone) or `i = …;`, in the kernel's outermost block.
  const clang::Stmt* statement = nullptr;
  const clang::VarDecl* variable = nullptr;
  const clang::Expr* value = nullptr;
  bool declared = false;                 ///< The statement is a declaration.
  bool block_only = false;               ///< The value is the block's index, uniform in a block: `i = blockIdx.y`.
  const clang::ForStmt* loop = nullptr;  ///< The statement, if it is a loop that begins with `int i = …`.
  std::vector<Span> grid;                ///< The kernel's uses of gridDim along the axis.
};

/// The variable that holds the global index along the axis, if this is the kernel's only use of its indices along it;
/// else nullopt. `grid_stride`: the kernel may use gridDim, and the index may be the counter of a grid-stride loop,
/// `for (i = …; i < n; i += blockDim.x * gridDim.x)`.
std::optional<GlobalIndex> global_index(const KernelSource& source, const clang::FunctionDecl* kernel, int axis,
                                        bool grid_stride = false);

/// The block's index is multiplied by blockDim, or by a constant equal to the recorded block size, and not by another
/// stride of the program.
bool counts_by_block(const KernelSource& source, const RuleContext& facts, const clang::Expr* index, int axis);

/// A kernel whose statements can be distributed over other threads: it has no barriers, jumps, inline assembly, dynamic
/// shared memory or bounds of its launch, stores no addresses of its variables, and calls nothing that reads the
/// thread's index.
bool is_plain_kernel(const KernelSource& source, const clang::FunctionDecl* kernel);

/// Whether a built-in variable is spelled there as `threadIdx.x` or the like, and not by a macro.
bool is_spelled_builtin(const KernelSource& source, const clang::Stmt* builtin);

/// Variables that the statement changes other than by their declarations.
std::set<const clang::VarDecl*> reassigned(const clang::Stmt* body);
/// Every thread of a block finds the same value there: no memory, no calls, no variables of `changed`.
bool is_uniform_in_block(const clang::Stmt* value, const std::set<const clang::VarDecl*>& changed);

/// The statements of several threads or blocks may be executed alternately: no jumps out of the kernel, no lambdas, no
/// waiting for other blocks, no volatile memory, no assembly; and these built-in variables are spelled member by
/// member.
bool may_interleave(const KernelSource& source, const clang::Stmt* body, const std::set<std::string>& built_in);

/// Another function of the text, which the kernel may call, reads blockIdx or threadIdx.
bool others_read_indices(const KernelSource& source);

/// An axis, y or z, of whose index the kernel, with the functions that it may call, and all recorded launches make no
/// use; nullopt: there is none.
std::optional<int> idle_axis(const KernelSource& source, const RuleContext& facts, const clang::Stmt* body);
/// Whether recorded blocks have several threads along the axis, y or z, and the kernel does not read its index there:
/// they repeat each other's work. EXPECTS: is_plain_kernel().
bool repeats_along(const RuleContext& facts, const clang::Stmt* body, int axis);
/// Of a grid whose blocks share work; more blocks have a single iteration each long before.
inline constexpr uint64_t kMostBlocksShared = 1 << 20;
/// As many threads as keep the largest GPUs busy.
bool fills_device(const Geometry& geometry);

/// The text of an index with the block's index replaced by that of the `number`-th of `count` neighbouring blocks:
/// "(blockIdx.x * 4 + block_iteration)". Empty if the text does not contain the block's index.
std::string neighbouring_block(std::string index, int axis, int64_t count, const std::string& number);

/// The effect (see Step::effects) of blocks that do the work of `count` each in a grid that keeps its size, because the
/// kernel needs the original number of blocks.
std::string idle_blocks(int64_t count);

/// Index of the last statement, at most `first`, from which on the text may be executed repeatedly: it changes no
/// variable that has a value before. Changed parameters are left to the caller.
size_t first_repeatable(const std::vector<const clang::Stmt*>& statements, size_t first);
/// Parameters that are changed by the statements from `begin` on.
std::set<const clang::VarDecl*> changed_parameters(const std::vector<const clang::Stmt*>& statements, size_t begin);

/// `if (i >= n) return;`
bool only_returns(const clang::Stmt* statement);
/// The conjuncts of a guard's condition; the disjuncts, if the guard `leaves`.
std::vector<const clang::Expr*> parts_of_guard(const clang::Expr* condition, bool leaves);
/// The text of such a part as a condition for having work: negated, if the guard `leaves`. Empty if a macro spells it.
std::string condition_text(const KernelSource& source, const clang::Expr* condition, bool leaves);
/// Whether the statements access memory. Before a guard they may run for threads that the original grid did not have.
bool accesses_memory(const std::vector<const clang::Stmt*>& statements);

/// Edits that replace `return` by `continue` in text that becomes a loop's body. nullopt if a return is inside another
/// loop or before `from`.
std::optional<std::vector<TextEdit>> continue_instead_of_return(const KernelSource& source, const clang::Stmt* body,
                                                                size_t from);

/// The part of a kernel that a thread can execute for several global indices, one after the other: from the declaration
/// of the index to the end.
struct RepeatedPart {
  GlobalIndex index;
  size_t begin = 0;  ///< Of its first statement, which is that of the index or one before it.
  size_t close = 0;  ///< The kernel's closing brace.
  std::vector<const clang::Stmt*> statements = {};
  std::vector<TextEdit> returns = {};  ///< That end an iteration instead of the thread.

  /// nullopt if the index is not guarded, or if iterations could differ from separate threads.
  static std::optional<RepeatedPart> of(const KernelSource& source, const clang::FunctionDecl* kernel, int axis);
  /// The brace of the loop around it, and lines behind it.
  TextEdit closing(const KernelSource& source, const std::string& after = {}) const;
  /// Indents what the loop has around it now: its lines, and those of `edits` behind its head.
  void indent(const KernelSource& source, std::vector<TextEdit>& edits) const;
};

/// Each block does the work of `factor` neighbouring blocks along the axis, one after the other, in a loop around the
/// rest of the kernel. Empty if the index is not guarded, or if iterations could differ from separate blocks.
std::vector<Opportunity> coarsened(const KernelSource& source, const RuleContext& facts,
                                   const clang::FunctionDecl* kernel, int axis, int64_t factor);

}  // namespace kernelift::tuner
