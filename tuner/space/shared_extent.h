// Whether shared arrays are large enough for a block of another size. An array of eight partial sums has one for each
// warp of 256 threads; a ninth warp writes out of bounds, which no check notices.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/model/launch/expression.h"
#include "core/model/launch/geometry.h"
#include "core/model/mep.h"

namespace kernelift::tuner {

/// The name of a `__shared__` array of fixed extent that is indexed by thread and may be too small for some thread of
/// `block`; empty if there is none. `knobs`: values of constants that differ from those in the text. It works on text
/// alone and evaluates each use for every thread: `part[t / 32]` behind `if (t % 32 == 0)`.
std::string too_small_shared_array(std::string_view source, const Bindings& knobs, const Dim3& block);

/// Bytes of dynamic shared memory as an expression of knobs ("B * 4"), if all launches have the same one and it gives
/// the recorded sizes; else nullopt, also if no knob is used.
std::optional<Expression> shared_bytes_by_knobs(const Mep& mep);

}  // namespace kernelift::tuner
