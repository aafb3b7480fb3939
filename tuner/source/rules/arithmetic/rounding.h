// The use of a value whose rounding a rewrite changes. `x * (1.0f / h)` differs from `x / h` in the last place, which
// is harmless until the value becomes an integer: 41 * (1.0f / 41) is 0.99999994, so its cell index is one less.
#pragma once
#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

/// Ordered by severity.
enum class RoundedUse {
  Value,      ///< It stays a floating-point value.
  Compared,   ///< It is compared: values that were equal may differ.
  Truncated,  ///< A part of it becomes an integer.
};

/// The most severe use of the value, followed through variables and calls as far as the text shows.
RoundedUse use_of(const KernelSource& source, const clang::Expr* value);
/// The same for all values that the variable holds.
RoundedUse use_of(const KernelSource& source, const clang::VarDecl* variable);
/// The same for a value that a function stores at the address: `sincosf(x, &s, &c)`.
RoundedUse use_of_stored(const KernelSource& source, const clang::Expr* address);

/// The effect (see Step::effects) of a rewrite that rounds differently, where a rounded value is compared.
inline constexpr const char* kComparesRounded = "changes the rounding of values that are compared";

}  // namespace kernelift::tuner
