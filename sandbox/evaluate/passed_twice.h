// Memory that a launch is given twice.
#pragma once
#include <set>
#include <utility>

#include "core/model/mep.h"

namespace kernelift::sandbox {

/// Pairs of pointer arguments that may lead to one address at the launch, by its text or by a caller's. Not those into
/// one object at different places, `pool` and `pool + n`: that these do not overlap is what a proof assumes.
std::set<std::pair<size_t, size_t>> passed_twice(const LaunchSite& site);

}  // namespace kernelift::sandbox
