// Case 7: a pointer that is null at the first launch and valid later. A recorder that decides at the first launch which
// argument bytes are addresses leaves the later instances without their memory.
//! record: --instances 6
//! instances: add_optional >= 2
//! distinct-arguments: add_optional >= 2
//! replay: add_optional
//! breaks: first-arguments
#include "case.h"

struct Inputs {
  const float* base;
  const float* optional;
};

__global__ void add_optional(Inputs in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in.base[i] + (in.optional ? in.optional[i] : 0.0f);
}

int main() {
  constexpr int kCount = 6000;
  Inputs in{device_array(ramp(kCount)), nullptr};
  auto* out = device_array(std::vector<float>(kCount, 0.0f));
  add_optional<<<24, 256>>>(in, out, kCount);
  auto first = host_copy(out, kCount);
  in.optional = device_array(std::vector<float>(kCount, 100.0f));
  for (int step = 0; step < 3; ++step) add_optional<<<24, 256>>>(in, out, kCount);
  auto later = host_copy(out, kCount);
  print_hash("first", first);
  print_hash("later", later);
  return end(later[9] == first[9] + 100);
}
