#include "materials.h"

#include "config.h"
#include "cuda_check.h"

namespace heat {

__constant__ Material material_constants[kMaxMaterials];
__constant__ float reference_temperature;

namespace {

__global__ void conductivity_kernel(int cells, const unsigned char* material, const float* temperature,
                                    float* conductivity) {
  int i = blockIdx.x * kVectorBlock + threadIdx.x;
  if (i >= cells) return;
  const Material& m = material_constants[material[i]];
  double ratio = temperature[i] / reference_temperature;
  conductivity[i] = m.diffusivity * (1.0 + m.slope * pow(ratio - 1.0, 2)) / pow(ratio, (double)m.exponent);
}

}  // namespace

std::vector<Material> material_table() {
  return {{1.1e-4f, 0.02f, 0.30f}, {2.3e-5f, 0.10f, 0.15f}, {8.0e-5f, 0.05f, 0.25f}, {4.0e-6f, 0.00f, 0.10f}};
}

std::vector<unsigned char> material_map(const Extent& extent) {
  std::vector<unsigned char> map(extent.cells());
  for (int z = 0; z < extent.nz; ++z)
    for (int y = 0; y < extent.ny; ++y)
      for (int x = 0; x < extent.nx; ++x) {
        int layer = 4 * x / extent.nx;
        bool inclusion = (8 * y / extent.ny) % 4 == 1 && (extent.nz == 1 || (8 * z / extent.nz) % 4 == 2);
        map[extent.at(x, y, z)] = static_cast<unsigned char>(inclusion ? 3 : layer % 3);
      }
  return map;
}

void upload_materials(const std::vector<Material>& table) {
  const float reference = 293.15f;
  CUDA_CHECK(cudaMemcpyToSymbol(material_constants, table.data(), table.size() * sizeof(Material)));
  CUDA_CHECK(cudaMemcpyToSymbol(reference_temperature, &reference, sizeof reference));
}

void update_conductivity(int cells, const unsigned char* material, const float* temperature, float* conductivity) {
  conductivity_kernel<<<divide_up(cells, kVectorBlock), kVectorBlock>>>(cells, material, temperature, conductivity);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace heat
