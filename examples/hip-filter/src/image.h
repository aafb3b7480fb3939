// Grey-scale images as floats in [0, 1], row by row.
#pragma once
#include <vector>

struct Image {
  int width = 0, height = 0;
  std::vector<float> pixels;
};

/// Discs and a gradient under deterministic noise.
Image synthetic_image(int width, int height);
/// A Gaussian mask of (2 radius + 1)^2 weights that sum to one.
std::vector<float> gaussian_mask(int radius, float sigma);
