// What becomes of a kernel's sums: whether all that it computes from them is linear in them, without a constant term,
// and is only added to memory in the end. Then the terms of the sums can be shared by several blocks, each of which
// adds what it gets from its own terms.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

/// A value that the kernel adds to memory.
struct AddedValue {
  const clang::Expr* statement = nullptr;  ///< `*target += value`, `*target = *target + value`, `atomicAdd(…, value)`.
  const clang::Expr* target = nullptr;     ///< An lvalue; the address, if the kernel adds atomically.
  const clang::Expr* value = nullptr;
  bool subtracts = false;
  bool atomic = false;
  const clang::VarDecl* memory = nullptr;  ///< The pointer or module variable that the target is spelled with.
  /// A sum that begins with the target's value, `float s = c[i];  …  c[i] = s;`: where that is set.
  const clang::VarDecl* begins = nullptr;
};

/// Loops, and the variables of the thread into which they sum.
using SumLoops = std::map<const clang::ForStmt*, std::set<const clang::VarDecl*>>;

struct LinearFlow {
  std::vector<AddedValue> added;
  /// nullopt if the kernel does anything else with the sums (compares them, squares them, stores them), or writes other
  /// memory than shared memory. The loops that compute the sums are not looked into.
  static std::optional<LinearFlow> of(const KernelSource& source, const clang::FunctionDecl* kernel,
                                      const SumLoops& loops);
};

}  // namespace kernelift::tuner
