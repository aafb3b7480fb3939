// Quantities that are printed after each step.
#pragma once
#include <vector>

#include "grid.h"

namespace heat {

/// Mean temperature of every row along x, summed into as many bins as there are y.
std::vector<float> row_profile(const Extent& extent, const float* temperature, float* scratch);
/// Largest |a[i] - b[i]|. `scratch` holds one float.
float largest_change(int n, const float* a, const float* b, float* scratch);

}  // namespace heat
