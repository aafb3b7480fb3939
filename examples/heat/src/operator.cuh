// The matrix-free operator of one implicit time step: A p = p - dt div(k grad p), second order, seven points in three
// dimensions and five in two. Outer faces are insulated; cooling is applied by boundary.cu.
#pragma once
#include "config.h"
#include "grid.h"

namespace heat {

// Conductivity of the face between two cells: the harmonic mean of theirs.
template <typename Real>
HEAT_BOTH inline Real face_conductivity(Real a, Real b) {
  return 2.0 * a * b / (a + b);
}

#ifdef __CUDACC__

// Heat that leaves `cell` through its face to `neighbour` during dt.
template <typename Real>
__device__ inline Real outflow(const Real* p, const Real* conductivity, int cell, int neighbour, Real dt,
                               Real spacing) {
  return dt / (spacing * spacing) * face_conductivity(conductivity[cell], conductivity[neighbour]) *
         (p[cell] - p[neighbour]);
}

template <typename Real, int Dim>
__global__ void apply_operator(const Real* p, const Real* conductivity, Real* result, Extent extent, Real dt,
                               Real spacing) {
  const int x = blockIdx.x * BLOCK_X + threadIdx.x;
  const int y = blockIdx.y * BLOCK_Y + threadIdx.y;
  const int z = blockIdx.z * BLOCK_Z + threadIdx.z;
  if (x >= extent.nx || y >= extent.ny || z >= extent.nz) return;

  result[extent.at(x, y, z)] = p[extent.at(x, y, z)];

  // The neighbours along every axis.
  for (int axis = 0; axis < Dim; ++axis) {
    for (int side = -1; side <= 1; side += 2) {
      const int nx = x + (axis == 0 ? side : 0);
      const int ny = y + (axis == 1 ? side : 0);
      const int nz = z + (axis == 2 ? side : 0);
      if (nx < 0 || ny < 0 || nz < 0 || nx >= extent.nx || ny >= extent.ny || nz >= extent.nz) continue;
      result[extent.at(x, y, z)] += outflow(p, conductivity, extent.at(x, y, z), extent.at(nx, ny, nz), dt, spacing);
    }
  }
}

#endif

}  // namespace heat
