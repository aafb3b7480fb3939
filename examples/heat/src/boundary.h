// The two faces across x are cooled towards the ambient temperature.
#pragma once
#include "grid.h"

namespace heat {

/// Relaxes temperature[face] towards `ambient` by the factor exp(-rate dt), in place.
void cool_faces(const Extent& extent, float ambient, float rate, float dt, float* temperature);

}  // namespace heat
