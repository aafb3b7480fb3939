#include "image.h"

#include <cmath>
#include <cstdint>

Image synthetic_image(int width, int height) {
  Image image{width, height, std::vector<float>(static_cast<size_t>(width) * height)};
  uint32_t state = 2463534242u;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      float value = 0.25f + 0.3f * x / width;
      for (int disc = 0; disc < 6; ++disc) {
        float dx = x - width * (0.15f + 0.14f * disc), dy = y - height * (0.3f + 0.08f * (disc * 5 % 6));
        if (dx * dx + dy * dy < 0.006f * width * height) value = 0.35f + 0.1f * disc;
      }
      value += 0.1f * ((state >> 8) / 16777216.0f - 0.5f);
      image.pixels[static_cast<size_t>(y) * width + x] = value < 0 ? 0 : value > 1 ? 1 : value;
    }
  return image;
}

std::vector<float> gaussian_mask(int radius, float sigma) {
  std::vector<float> mask;
  float sum = 0;
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx) {
      mask.push_back(std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma)));
      sum += mask.back();
    }
  for (float& weight : mask) weight /= sum;
  return mask;
}
