// What a candidate's launch expressions are evaluated with.
#pragma once
#include "core/model/mep.h"

namespace kernelift {

/// The candidate's values, and the instance's integer arguments by name. A value hides an argument of the same name.
Bindings with_arguments(const Mep& mep, const MepInstance& instance, Bindings values);

}  // namespace kernelift
