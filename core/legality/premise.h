// Sets of parameter values as Expressions, and single values out of them.
#pragma once
#include <isl/ctx.h>
#include <polly/isl/isl-noexceptions.h>

#include <optional>

#include "core/legality/index/instance_text.h"

namespace kernelift::legality {

/// Unequal 0 exactly for the parameters in `set`; nullopt: it cannot be written so. `context`: what holds anyway.
std::optional<Expression> as_expression(const isl::set& set, const isl::set& context, const Parameters& parameters);

/// Without the parts of the set in which a parameter is always near an end of its type's range: what is left by sizes
/// that overflow (`n >= 2146435073`), which nobody has, would make a premise long. The set, if nothing else is left.
isl::set likely_part(const isl::set& set);

/// A condition on the remainder of one parameter that implies membership in `set` for all members of `context`, where
/// there is one: `n % 4 == 0`, `(n - 1) % 256 >= 192`. For sets that as_expression() writes at length.
std::optional<Expression> remainder_premise(const isl::set& set, const isl::set& context, const Parameters& parameters);

/// That parameters are above 0, as few as suffice, where that implies membership: `rows > 0 && columns > 0`.
std::optional<Expression> positive_premise(const isl::set& set, const isl::set& context, const Parameters& parameters);

/// Values of a small member of `set`, under isl's names; nullopt: none was found, or one does not fit.
std::optional<std::map<std::string, int64_t>> small_member(const isl::set& set);

}  // namespace kernelift::legality
