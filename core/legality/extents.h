// Whether accesses stay inside arrays of fixed extent, and are aligned as they have to be.
#pragma once
#include <optional>

#include "core/legality/setting.h"

namespace kernelift::legality {

/// Where an access of the side leaves a shared or local array, or a module variable. nullopt: isl gave up.
std::optional<Findings> beyond_extents(Setting& setting, const Side& side);

/// Where an offset is no multiple of the alignment that an access of the side needs. nullopt: isl gave up.
std::optional<Findings> misaligned(Setting& setting, const Side& side);

/// Where the candidate takes for granted an alignment of a variable of the device code that is not declared and that
/// the original does not need: where such a variable lies is for the compiler to say.
Findings undeclared_alignment(const Setting& setting);

}  // namespace kernelift::legality
