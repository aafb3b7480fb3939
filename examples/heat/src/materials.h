// Materials: the material of each cell, and its conductivity as a function of the temperature.
#pragma once
#include <vector>

#include "grid.h"

namespace heat {

/// Diffusivity at the reference temperature in m^2/s, and how it changes with the temperature.
struct Material {
  float diffusivity, slope, exponent;
};

std::vector<Material> material_table();
/// Blocks of material, the same on every machine.
std::vector<unsigned char> material_map(const Extent& extent);

void upload_materials(const std::vector<Material>& table);
/// conductivity[i] from the material and temperature of cell i.
void update_conductivity(int cells, const unsigned char* material, const float* temperature, float* conductivity);

}  // namespace heat
