// Case 3: launches of one shape with different arguments. A recorder that distinguishes instances by geometry alone
// keeps only the first; here the factor and the buffers change between launches of one shape. The damage gives every
// instance the arguments of the first.
//! record: --instances 6
//! instances: scale >= 3
//! distinct-arguments: scale >= 3
//! replay: scale
//! breaks: first-arguments
#include "case.h"

__global__ void scale(const float* from, float* to, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * factor;
}

int main() {
  constexpr int kCount = 8192;
  bool right = true;
  float* out[3];
  for (auto& one : out) one = device_array(std::vector<float>(kCount, -1.0f));
  auto* from = device_array(ramp(kCount));
  for (int step = 0; step < 9; ++step) scale<<<kCount / 128, 128>>>(from, out[step % 3], float(1 + step), kCount);
  for (int k = 0; k < 3; ++k) {
    auto got = host_copy(out[k], kCount);
    print_hash("out", got);
    right = right && got[40] == ramp(kCount)[40] * float(7 + k);
  }
  return end(right);
}
