#include "sources.h"

#include "config.h"
#include "cuda_check.h"

namespace heat {

__constant__ Source source_constants[kMaxSources];

namespace {

__global__ void source_kernel(int count, Extent extent, float* rate) {
  int x = blockIdx.x * BLOCK_X + threadIdx.x;
  int y = blockIdx.y * BLOCK_Y + threadIdx.y;
  int z = blockIdx.z * BLOCK_Z + threadIdx.z;
  if (x >= extent.nx || y >= extent.ny || z >= extent.nz) return;
  int cell = extent.at(x, y, z);
  rate[cell] = 0;
  for (int s = 0; s < count; ++s) {
    float dx = (x + 0.5) / extent.nx - source_constants[s].x;
    float dy = (y + 0.5) / extent.ny - source_constants[s].y;
    float dz = (z + 0.5) / extent.nz - source_constants[s].z;
    float d2 = dx * dx + dy * dy + (extent.nz > 1 ? dz * dz : 0);
    rate[cell] += source_constants[s].power * expf(-d2 / (2.0 * source_constants[s].width * source_constants[s].width));
  }
}

}  // namespace

std::vector<Source> source_table() {
  return {{0.20f, 0.30f, 0.40f, 0.05f, 0.60f},
          {0.75f, 0.60f, 0.50f, 0.08f, 0.35f},
          {0.50f, 0.50f, 0.20f, 0.04f, 0.80f},
          {0.35f, 0.80f, 0.70f, 0.10f, 0.20f},
          {0.85f, 0.20f, 0.80f, 0.06f, 0.50f}};
}

void upload_sources(const std::vector<Source>& table) {
  CUDA_CHECK(cudaMemcpyToSymbol(source_constants, table.data(), table.size() * sizeof(Source)));
}

void evaluate_sources(int count, const Extent& extent, float* rate) {
  dim3 block(BLOCK_X, BLOCK_Y, BLOCK_Z);
  dim3 grid(divide_up(extent.nx, BLOCK_X), divide_up(extent.ny, BLOCK_Y), divide_up(extent.nz, BLOCK_Z));
  source_kernel<<<grid, block>>>(count, extent, rate);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace heat
