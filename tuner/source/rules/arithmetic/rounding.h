// What becomes of a value that is rounded otherwise than it was: `x * (1.0f / h)` in the place of `x / h` is another
// number in the last place, which is nothing, until somebody cuts it to an integer: 41 * (1.0f / 41) is 0.99999994, and
// its cell the one before.
#pragma once
#include "tuner/source/rules/kernel_source.h"

namespace kernelift {

enum class Rounded {
  Value,     ///< It stays a number like any other.
  Compared,  ///< It is compared: one that was equal may not be any more.
  Cut,       ///< Some of it becomes an integer.
};

/// As far as the text shows, through variables and functions that are called.
Rounded what_becomes_of(const KernelSource& source, const clang::Expr* value);
/// The same of all that is ever in a variable.
Rounded what_becomes_of(const KernelSource& source, const clang::VarDecl* variable);
/// The same of what a function leaves at an address that it is given: `sincosf(x, &s, &c)`.
Rounded what_becomes_of_what_is_at(const KernelSource& source, const clang::Expr* address);

/// The effect (see Step::effects) of a rewrite that rounds differently, where a rounded value is compared.
inline constexpr const char* kComparesRounded = "changes the rounding of values that are compared";

}  // namespace kernelift
