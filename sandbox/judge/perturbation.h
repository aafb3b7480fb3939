// Inputs that were never recorded, made from those that were: the original answers them, and a candidate that knows
// only the recorded answer by heart is found out. Floating-point values are moved, everything else stays as it is: an
// integer may be an index, and eight bytes may be a pointer. Denormals may be integers (comparator.h) and stay; where
// there are any, so may zeros be. Deterministic: the same bytes are moved in the same way every time.
//   Jitter  every value up by 0.2 to 0.4 % (6 % for half precision): never only up and down, or sums would not notice
//   Swap    neighbours change places, here and there: for what is only read
#pragma once
#include <span>

#include "sandbox/judge/error_bounds.h"

namespace kernelift {

enum class Perturbation { Jitter, Swap };
const char* name(Perturbation kind);

/// In place; true if any byte changed. NaN, infinities and zeros stay what they are under Jitter.
bool perturb(const ElementLayout& layout, std::span<std::byte> bytes, Perturbation kind, uint64_t seed);

}  // namespace kernelift
