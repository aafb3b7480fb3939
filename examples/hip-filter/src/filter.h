// Device side of the filters; all pointers are device memory.
#pragma once
#include <vector>

void upload_mask(const std::vector<float>& mask);
/// out = in convolved with the uploaded mask of `radius` (3, 5 or 7); edges are clamped.
void convolve(int radius, const float* in, float* out, int width, int height);
/// Edge-preserving smoothing: the mask's weights times a Gaussian of the difference in value.
void bilateral(int radius, const float* in, float* out, int width, int height, float range);
/// counts[kBins] of values in [0, 1].
void histogram(const float* in, unsigned int* counts, int pixels);
/// Replaces every value by its bin's entry in `curve`, in place.
void apply_curve(float* image, const float* curve, int pixels);
