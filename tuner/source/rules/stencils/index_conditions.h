// The conditions under which a kernel executes a statement, and what they say about global indices: `if (i >= n)
// return;` above it, `if (i > 0 && …)` around it, the operands of && and ?:. Guards are read in any spelling of
// comparisons, with an index or an index and counters of loops (`i + k < n`) on one side.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/source/rules/stencils/shifted_reads.h"

namespace clang {
class CompoundStmt;
}

namespace kernelift::tuner {

/// A condition that holds where the statement is executed; `negated`: that does not hold.
struct HeldCondition {
  const clang::Expr* condition = nullptr;
  bool negated = false;
};

struct Surroundings {
  std::vector<HeldCondition> conditions;     ///< No conjunctions: each is held by itself.
  std::vector<const clang::ForStmt*> loops;  ///< Around the statement, the innermost first.
  bool complete = true;                      ///< Nothing but conditions and loops decides whether it is executed.

  static Surroundings of(const KernelSource& source, const clang::Stmt* statement);
};

/// index + counters >= limit + shift, or index + counters < limit + shift.
struct IndexBound {
  using Counters = std::map<std::string, int64_t>;  ///< What each counter (IndexSums::name) is multiplied by.

  int axis = 0;
  bool lower = false;
  std::string limit = {};  ///< An expression of signed type; empty: 0.
  int64_t shift = 0;
  Counters counters = {};
  auto operator<=>(const IndexBound&) const = default;

  /// limit + shift + more, as an operand of a comparison.
  std::string text(int64_t more = 0) const;
};

/// Reads conditions of a kernel whose blocks have no more than one thread along z. The threads of a block have to agree
/// on everything else that bounds are made of.
class ConditionReader {
 public:
  /// `indices`: the variables that hold the global indices along x and y, either may be null. `counters`: of loops.
  /// `above`: the first of the kernel's outermost statements at which a bound's variables need not be known yet.
  ConditionReader(const KernelSource& source, const IndexSums& sums, const clang::CompoundStmt* kernel_body,
                  std::vector<const clang::VarDecl*> indices, std::vector<const clang::VarDecl*> counters, size_t above)
      : source_(source),
        sums_(sums),
        body_(kernel_body),
        indices_(std::move(indices)),
        counters_(std::move(counters)),
        above_(above) {}

  /// nullopt: the condition is no bound of an index.
  std::optional<IndexBound> bound(const HeldCondition& held) const;
  /// The text of a condition on which all threads of a block agree; empty for others.
  std::string uniform(const HeldCondition& held) const;
  /// Whether all threads of a block agree on the value, which is known above the place.
  bool is_uniform(const clang::Expr* value) const { return is_uniform(value, kDepth); }
  /// The number that a sum is; its counters, if `counters`.
  std::optional<int64_t> number(const IndexSum& sum, IndexBound::Counters* counters) const;

 private:
  static constexpr int kDepth = 8;  ///< Of declarations that are read through.
  bool is_uniform(const clang::Expr* value, int depth) const;
  std::optional<IndexBound> form(const clang::Expr* side) const;
  bool limit(const clang::Expr* side, IndexBound& bound) const;

  const KernelSource& source_;
  const IndexSums& sums_;
  const clang::CompoundStmt* body_;
  std::vector<const clang::VarDecl*> indices_, counters_;
  size_t above_;
};

}  // namespace kernelift::tuner
