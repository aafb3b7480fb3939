// Loops that the lanes of a warp can execute together, each lane every L-th iteration: what such a loop may change, and
// how the lanes' partial results are combined.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

/// A variable, or a member of one, that a loop reduces into.
struct Reduced {
  enum class How { Sum, Extremum };
  How how = How::Sum;
  std::string function = {};             ///< For an extremum: max, fmaxf …
  const clang::VarDecl* root = nullptr;  ///< The variable that contains it.
};

/// The header of `for (T j = first; j < bound; j += step)`; `step` is nullptr for `++j`.
struct CountedLoop {
  const clang::VarDecl* counter = nullptr;
  const clang::Expr *first = nullptr, *step = nullptr;
  /// nullopt if the loop has another form, or changes its bound or counter in its body. The step is a number, or, with
  /// `any_step`, an expression that stays the same: blockDim.x.
  static std::optional<CountedLoop> of(const clang::ForStmt* loop, bool any_step = false);
};

/// How often `s += e`, `s -= e` or `s = s + e` mentions what it adds to, outside of `e`; 0 for any other assignment.
size_t mentions_of_sum(const KernelSource& source, const clang::BinaryOperator* assignment);

/// A literal, converted or not, or a list of nothing else: 0, 0.0f, {0, 0}. -0.0 is none.
bool is_zero(const clang::Expr* value);
/// Whether what the variable holds is zero where the loop begins: it was declared or set so in the same block, and no
/// statement between mentions it.
bool is_zero_before(const KernelSource& source, const clang::ForStmt* loop, const clang::VarDecl* variable);

/// Edits of the loop's header after which each of several executes its own iterations: `number` (an expression: "lane")
/// is which of them, `count` how many there are. nullopt where a macro spells the header.
std::optional<std::vector<TextEdit>> share_iterations(const KernelSource& source, const clang::ForStmt* loop,
                                                      const CountedLoop& counted, const std::string& number,
                                                      const std::string& count);

/// The number that an integer expression is, whatever spells it.
std::optional<int64_t> constant_value(const KernelSource& source, const clang::Expr* value);
/// Fewer iterations than `few`, where they are known, of a loop that CountedLoop describes.
bool has_few_iterations(const KernelSource& source, const clang::ForStmt* loop, int64_t few);

class LaneLoops {
 public:
  LaneLoops(const KernelSource& source, const RuleContext& facts) : source_(source), facts_(facts) {}

  /// The statement writes beyond the thread's own variables, or has other side effects.
  bool writes_memory(const clang::Stmt* statement) const;
  /// The reductions of a loop that the lanes can share, by the spelling of their targets; nullopt if they cannot.
  std::optional<std::map<std::string, Reduced>> reductions(const clang::ForStmt* loop, const clang::VarDecl* counter);
  /// What a loop reduces in variables of the thread, by the spelling of the targets; memory is not looked at. nullopt
  /// if its iterations hand on anything else.
  std::optional<std::map<std::string, Reduced>> reduced_variables(const clang::ForStmt* loop,
                                                                  const clang::VarDecl* counter) const;
  /// Iterations hand nothing to the next ones in variables of the thread; memory is not looked at.
  bool is_parallel(const clang::ForStmt* loop, const clang::VarDecl* counter) const;
  /// The counter is not read outside of loops that set it.
  bool is_only_counter(const clang::VarDecl* counter) const;
  /// Arrays that no other pointer may lead to.
  const std::set<std::string>& unaliased() const { return unaliased_; }

 private:
  bool is_temporary(const clang::ForStmt* loop, const clang::VarDecl* variable) const;
  bool only_reduces(const clang::ForStmt* loop, const clang::VarDecl* counter,
                    std::map<std::string, Reduced>& found) const;
  bool is_nonzero(const clang::Expr* factor, const clang::Stmt* at) const;
  bool is_injective(const clang::Expr* index, const clang::VarDecl* counter,
                    const std::set<const clang::VarDecl*>& changed) const;
  bool writes_own_elements(const clang::ForStmt* loop, const clang::VarDecl* counter);

  const KernelSource& source_;
  const RuleContext& facts_;
  std::set<std::string> unaliased_;
};

}  // namespace kernelift::tuner
