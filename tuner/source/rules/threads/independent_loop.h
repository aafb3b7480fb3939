// A loop of independent iterations that other threads may execute, in a kernel that leaves an axis of the launch idle:
// what loop_to_grid and loop_to_threads have in common. Whether iterations are independent at every size, and whether
// the rest of the kernel needs what they leave, is asked of the kernel's model; here only what would obviously be wrong
// is left.
#pragma once
#include <optional>
#include <vector>

#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {

struct IndependentLoop {
  const clang::ForStmt* loop = nullptr;
  CountedLoop counted;
  /// Statements beside it, or beside what contains it, that store: the thread that executes them must stay a single
  /// one.
  std::vector<const clang::Stmt*> stores_beside;

  /// nullopt: its iterations hand values on, or store to what does not depend on the counter; or something else in the
  /// kernel cannot be executed by one of the threads alone.
  static std::optional<IndependentLoop> of(const KernelSource& source, const RuleContext& facts,
                                           const clang::ForStmt* loop, const clang::Stmt* kernel_body);
};

/// The kernel neither returns a value nor has barriers or shared memory, which would bind its threads to a block.
bool has_separate_threads(const KernelSource& source, const clang::FunctionDecl* kernel);

}  // namespace kernelift::tuner
