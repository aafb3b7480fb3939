// Numbers of which only the lower bits are left.
#pragma once
#include <optional>

#include "core/model/launch/expression.h"

namespace kernelift {

inline constexpr unsigned kLeastIndexBits = 32;  ///< Narrower numbers wrap around in ordinary kernels.
inline constexpr unsigned kMostLowBits = 62;     ///< Expressions are evaluated in 64 bits.

/// The signed number that the value's lowest bits are. EXPECTS: `bits` <= kMostLowBits.
Expression low_bits(Expression value, unsigned bits);

/// The bits of such a number as an unsigned one; nullopt: it is none.
std::optional<Expression> unsigned_of_low_bits(const Expression& value, unsigned bits);

}  // namespace kernelift
