// Makes new inputs from recorded ones. The original computes the answers to them, and a candidate that merely repeats
// the recorded answer fails. Only floating-point values are changed: an integer may be an index, and eight bytes may be
// a pointer. Denormals may be integers (comparator.h) and are kept; in buffers with denormals zeros are kept too, for
// the same reason. Deterministic: equal bytes are changed in the same way every time.
//   Jitter  raises every value by 0.2 to 0.4 % (up to 6 % for half precision); upwards only, as changes of both signs
//           would cancel in sums
//   Swap    exchanges some neighbouring elements; for buffers that are only read
#pragma once
#include <span>

#include "sandbox/judge/error_bounds.h"

namespace kernelift::sandbox {

enum class Perturbation { Jitter, Swap };
const char* name(Perturbation kind);

/// In place; true if any byte changed. Jitter keeps NaN, infinities and zeros.
bool perturb(const ElementLayout& layout, std::span<std::byte> bytes, Perturbation kind, uint64_t seed);

/// Moves each normal float or double by up to `units` in its last place, up or down. True if any byte changed.
bool round_otherwise(const ElementLayout& layout, std::span<std::byte> bytes, double units, uint64_t seed);

/// Puts values from 0.5 to 1 in place of floating-point values that are zero throughout the buffer: from these nobody
/// can tell which elements a kernel reads. Of a structure's fields each is looked at for itself. True if there are any.
bool fill_zeros(const ElementLayout& layout, std::span<std::byte> bytes, uint64_t seed);

}  // namespace kernelift::sandbox
