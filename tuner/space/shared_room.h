// Whether the arrays that a block's threads share have room for a block of another size: eight partial sums are one for
// each of 256 threads' warps, and what a ninth writes goes past the end, where nothing notices it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/model/launch/expression.h"
#include "core/model/launch/geometry.h"
#include "core/model/mep.h"

namespace kernelift {

/// The name of a `__shared__` array of fixed extent whose elements are threads' by their numbers, and that has none for
/// some thread of `block`, or may have none; empty where there is room. `knobs`: constants of the text that have other
/// values than it says. Works on text alone, and asks every thread: `part[t / 32]` behind `if (t % 32 == 0)`.
std::string shared_without_room(std::string_view source, const Bindings& knobs, const Dim3& block);

/// Bytes of dynamic shared memory, where every launch says the same over knobs alone, and as recorded: "B * 4". nullopt
/// where one does not, or no knob takes part.
std::optional<Expression> shared_bytes_by_knobs(const Mep& mep);

}  // namespace kernelift
