// Numbers of blocks after several changes of a launch, `(((n + 7) / 8) + 7) / 8`, with one division: `ceil_div(n, 64)`.
#pragma once
#include "core/model/launch/expression.h"

namespace kernelift {

/// `(x + D - 1) / D` as ceil_div(x, D), and quotients of quotients by the product of their divisors. It has the same
/// value for all values of its variables of which none is negative, but where the product overflows.
Expression rounded_up_once(const Expression& expression);

/// How many `/` and ceil_div there are in it.
size_t divisions(const Expression& expression);

}  // namespace kernelift
