#include "operator.h"

#include "cuda_check.h"
#include "operator.cuh"

namespace heat {

void apply_operator(int dim, const float* p, const float* conductivity, float* result, const Extent& extent, float dt,
                    float spacing) {
  const dim3 block(BLOCK_X, BLOCK_Y, BLOCK_Z);
  const dim3 grid((extent.nx + BLOCK_X - 1) / BLOCK_X, (extent.ny + BLOCK_Y - 1) / BLOCK_Y,
                  (extent.nz + BLOCK_Z - 1) / BLOCK_Z);
  if (dim == 3) apply_operator<float, 3><<<grid, block>>>(p, conductivity, result, extent, dt, spacing);
  else apply_operator<float, 2><<<grid, block>>>(p, conductivity, result, extent, dt, spacing);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace heat
