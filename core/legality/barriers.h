// Whether all threads of a block reach each barrier, or none.
#pragma once
#include <optional>

#include "core/legality/setting.h"

namespace kernelift::legality {

/// Parameters for which some threads of a block reach a barrier of the side, and others do not. nullopt: isl gave up.
std::optional<Findings> divergent_barriers(Setting& setting, const Side& side);

}  // namespace kernelift::legality
