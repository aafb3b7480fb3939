// Whether all threads of a block reach each barrier, or none.
#pragma once
#include <optional>

#include "core/legality/setting.h"

namespace kernelift::legality {

/// Parameters for which some threads of a block reach a barrier of the side, and others do not. nullopt: isl gave up.
std::optional<Findings> divergent_barriers(Setting& setting, const Side& side);

/// In isl's notation: the threads with the numbers `a` and `b` along x, else equal, wait for each other at a barrier of
/// their warp, if both reach it; empty: not known. Warps are known of blocks that are whole warps along x.
std::string same_lanes(const Side& side, const KernelModel::Barrier& barrier, const std::string& a,
                       const std::string& b);
/// Whether all of those reach it in the same iterations. False: nothing is said.
bool reached_by_all_lanes(Setting& setting, const Side& side, const KernelModel::Barrier& barrier);

}  // namespace kernelift::legality
