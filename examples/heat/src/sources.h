// Heat sources: Gaussian spots at fixed positions.
#pragma once
#include <vector>

#include "grid.h"

namespace heat {

struct Source {
  float x, y, z;  // in units of the box
  float width;
  float power;  // kelvin per second at its centre
};

std::vector<Source> source_table();
void upload_sources(const std::vector<Source>& table);
/// rate[i] = heating of cell i by all sources.
void evaluate_sources(int count, const Extent& extent, float* rate);

}  // namespace heat
