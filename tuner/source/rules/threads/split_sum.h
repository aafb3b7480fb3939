// A kernel whose threads each compute sums (or extrema) in loops whose terms several threads can share, and then do
// something with the sums. Its parts are found here; block_reduction writes them anew.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {

/// A sum of a loop, in a variable of the thread or in an array's element.
struct SplitSum {
  std::string target, type;   ///< As they are spelled: "s[j]", "float".
  std::string function = {};  ///< Of an extremum: fmaxf …; empty for a sum.
  std::string part = {};      ///< The variable in which each thread gathers its part: "s_part", or the target itself.
  std::string parts = {};     ///< A name for the array of all threads' parts.
  /// The part is the target: a variable that begins as a constant, and that nothing reads before the loop.
  bool in_place = false;
  const clang::Stmt* declaration = nullptr;  ///< Of the part that is the target, among the items; nullptr: before them.
  std::string when = {};                     ///< Condition under which an element has terms; empty: it may be added to.
  std::vector<const clang::Expr*> uses = {};  ///< Of the target in the loop, which become the part.
  size_t bytes = 0;
};

/// A statement of a thread that has work, with the whole lines that it takes: comments before it are its own.
struct SplitItem {
  const clang::Stmt* statement = nullptr;
  size_t begin = 0, place = 0, end = 0;  ///< Of the lines, and of the statement behind comments and pragmas.
  const clang::ForStmt* loop = nullptr;  ///< Whose terms are shared, with these sums.
  std::vector<SplitSum> sums = {};
  /// A loop behind the sums, the last item: every iteration stores elements of its own, so that threads can share them.
  const clang::ForStmt* spread = nullptr;
  bool for_terms = false;   ///< A declaration that the loops with sums need.
  bool for_spread = false;  ///< A declaration that the loop behind them needs.
  bool for_result = false;  ///< Something else needs it, too; always true for other statements.
};

struct SplitKernel {
  GlobalIndex column;              ///< Along x.
  std::optional<GlobalIndex> row;  ///< Along y.
  struct GuardPart {
    const clang::Expr* condition = nullptr;
    bool leaves = false;
  };
  std::vector<GuardPart> guards;          ///< What they demand together is why a thread has work.
  const clang::IfStmt* branch = nullptr;  ///< The guard that encloses the items; nullptr: guards only return.
  bool bounded = false;                   ///< The guards keep the column in bounds, so that there may be more threads.
  std::vector<SplitItem> items;
  std::set<std::string> apart;  ///< Arrays that no other array may overlap.
  size_t begin = 0, end = 0;    ///< The lines from the first guard, or item, to the kernel's closing brace.

  /// nullopt if the kernel has another form, or its threads cannot share the terms.
  static std::optional<SplitKernel> find(const KernelSource& source, const RuleContext& facts,
                                         const clang::FunctionDecl* kernel);
};

}  // namespace kernelift::tuner
