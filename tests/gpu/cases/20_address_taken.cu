// Case 20: the recorded address is not available at replay. run_cases moves the recorded addresses to a range where
// there can be no device memory; the arguments are typed pointers, so replay must relocate and say so, or refuse and
// name the address. It must not write to an address that it did not allocate.
//! instances: shifted >= 1
//! replay: shifted
//! moved: shifted
#include "case.h"

__global__ void shifted(const float* from, float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[(i + 1) % n] * 2;
}

int main() {
  constexpr int kCount = 9000;
  auto* from = device_array(ramp(kCount));
  auto* to = device_array(std::vector<float>(kCount, 0.0f));
  for (int step = 0; step < 2; ++step) shifted<<<36, 256>>>(from, to, kCount);
  auto got = host_copy(to, kCount);
  print_hash("to", got);
  return end(got[1] == ramp(kCount)[2] * 2);
}
