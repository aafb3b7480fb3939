// What both sides do, or how, that no access describes: fences, prints, volatile accesses.
#pragma once
#include <string>

#include "core/legality/legality.h"

namespace kernelift::legality {

/// Why the sides cannot be compared because of it; empty: they can.
std::string unmodelled_difference(const Side& original, const Side& candidate, const Names& names);

}  // namespace kernelift::legality
