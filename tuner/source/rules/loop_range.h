// A loop's counter, its first value and the condition under which the loop goes on.
#pragma once
#include <optional>
#include <string>

#include "tuner/source/rules/kernel_source.h"

namespace clang {
class BinaryOperator;
}

namespace kernelift::tuner {

/// `for (T k = first; k < end; …)`, or with another comparison; `first` is null if the loop does not set the counter.
struct LoopRange {
  const clang::VarDecl* counter = nullptr;
  const clang::Expr* first = nullptr;
  const clang::BinaryOperator* condition = nullptr;
  static std::optional<LoopRange> of(const clang::ForStmt* loop);
};

/// The loop has iterations, by the numbers from and to which it counts.
bool surely_iterates(const KernelSource& source, const LoopRange& range);
/// An expression for "the loop has iterations", to be evaluated before the loop: its condition for the first value of
/// the counter. Empty if the condition has side effects.
std::string has_iterations(const KernelSource& source, const clang::ForStmt* loop);

}  // namespace kernelift::tuner
