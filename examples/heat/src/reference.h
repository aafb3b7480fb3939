// The same mathematics on the host in double precision, to check against.
#pragma once
#include <vector>

#include "grid.h"

namespace heat::reference {

/// |rhs - A u| / |rhs| of the operator of operator.cuh.
double residual(int dim, const Extent& extent, const std::vector<float>& u, const std::vector<float>& conductivity,
                const std::vector<float>& rhs, double dt, double spacing);

/// Solves A u = rhs to near machine precision, starting from `guess`.
std::vector<double> solve(int dim, const Extent& extent, const std::vector<float>& guess,
                          const std::vector<float>& conductivity, const std::vector<float>& rhs, double dt,
                          double spacing);

double sum(const std::vector<float>& values);

}  // namespace heat::reference
