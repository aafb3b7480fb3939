// Atomic additions to one address in every iteration of a loop: a register can gather what a thread adds.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"

namespace clang {
class QualType;
}

namespace kernelift::tuner {

/// Register sums in place of atomic additions.
struct PrivateSums {
  std::vector<TextEdit> edits;  ///< Of the additions.
  std::string before, after;    ///< Lines before and behind the loop, indented by `indent`; empty: there are none.

  /// Of the additions in statements that a loop repeats whose counter is among `changed`, with all else that the loop
  /// changes. Addresses stay the same in the loop, and nothing else there names the memory.
  /// `has_work`: a condition for the loop to have iterations, behind it; empty: it always has; nullopt: none is
  /// known.
  static PrivateSums of(const KernelSource& source, const std::vector<const clang::Stmt*>& repeated,
                        const std::set<const clang::VarDecl*>& changed, const std::string& indent,
                        const std::optional<std::string>& has_work);
};

/// The name of a type of which atomicAdd adds numbers; empty for other types.
std::string added_type(const KernelSource& source, clang::QualType type);

}  // namespace kernelift::tuner
