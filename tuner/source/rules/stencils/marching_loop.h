// A loop in which the threads of a block go through a volume plane by plane, each within its guards:
//   if (x > 0 && x < nx - 1) {
//     for (int z = 1; z < nz - 1; ++z) { … }
//   }
// Made one that all threads of the block go through, so that they can wait for each other in it:
//   const bool inside = x > 0 && x < nx - 1;
//   {
//     for (int z = 1; z < nz - 1; ++z) {
//       …
//       if (!inside) continue;
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/stencils/index_conditions.h"

namespace kernelift::tuner {

struct MarchingLoop {
  struct Guard {
    const clang::IfStmt* branch = nullptr;
    bool leaves = false;  ///< `if (…) return;`
  };
  const clang::ForStmt* loop = nullptr;
  const clang::VarDecl* counter = nullptr;
  std::vector<Guard> guards;

  /// nullopt: the threads of a block may differ in the iterations, or have more to do within the guards.
  static std::optional<MarchingLoop> of(const KernelSource& source, const clang::CompoundStmt* kernel_body,
                                        const clang::ForStmt* loop, const ConditionReader& reader);
  /// `before` goes in front of the loop, `first` to the beginning of its body; both are lines for an indentation.
  std::vector<TextEdit> edits(const KernelSource& source,
                              const std::function<std::string(const std::string& indent)>& before,
                              const std::function<std::string(const std::string& indent)>& first) const;
};

}  // namespace kernelift::tuner
