// What a candidate's launch expressions are evaluated with.
#pragma once
#include <optional>

#include "core/model/mep.h"

namespace kernelift {

/// The candidate's values, and the instance's integer arguments by name. A value hides an argument of the same name.
Bindings with_arguments(const Mep& mep, const MepInstance& instance, Bindings values);

/// The site with a variable in the place of what is passed as an integer argument and computed from variables that are
/// not: `k<<<(B * T + 255) / 256, 256>>>(x, B * T)` launches (argument.a1 + 255) / 256 blocks.
LaunchSite over_arguments(LaunchSite site, const Mep& mep);

/// The site's block along an axis, if `constants` determine it.
std::optional<int64_t> constant_block(const LaunchSite& site, int axis, const Bindings& constants);

}  // namespace kernelift
