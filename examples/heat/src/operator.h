// Host side of the operator.
#pragma once
#include "grid.h"

namespace heat {

/// result = p - dt div(k grad p); `dim` chooses the stencil.
void apply_operator(int dim, const float* p, const float* conductivity, float* result, const Extent& extent, float dt,
                    float spacing);

}  // namespace heat
