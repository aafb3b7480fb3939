// The filters on the host.
#pragma once
#include <vector>

namespace reference {

std::vector<float> convolve(int radius, const std::vector<float>& mask, const std::vector<float>& in, int width,
                            int height);
std::vector<float> bilateral(int radius, const std::vector<float>& mask, const std::vector<float>& in, int width,
                             int height, float range);
std::vector<unsigned int> histogram(const std::vector<float>& in);

}  // namespace reference
