#include "boundary.h"

#include <cmath>

#include "config.h"
#include "cuda_check.h"

namespace heat {
namespace {

// One thread for each cell of the two faces; the cells of adjacent threads are a whole row apart.
__global__ void cool_faces_kernel(Extent extent, float ambient, float keep, float* temperature) {
  int row = blockIdx.x * kVectorBlock + threadIdx.x;
  if (row >= extent.ny * extent.nz) return;
  int y = row % extent.ny, z = row / extent.ny;
  for (int x = 0; x < extent.nx; x += extent.nx - 1) {
    temperature[extent.at(x, y, z)] -= ambient;
    temperature[extent.at(x, y, z)] *= keep;
    temperature[extent.at(x, y, z)] += ambient;
  }
}

}  // namespace

void cool_faces(const Extent& extent, float ambient, float rate, float dt, float* temperature) {
  int rows = extent.ny * extent.nz;
  cool_faces_kernel<<<(rows + kVectorBlock - 1) / kVectorBlock, kVectorBlock>>>(extent, ambient, std::exp(-rate * dt),
                                                                                temperature);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace heat
