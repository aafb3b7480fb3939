// Case 23: a candidate that faults, and one that never ends. run_cases plants both in the MEP's kernel: each must get
// the right verdict (crashed, timed out) with exit code 1 within its time limit, and the unchanged MEP must replay
// right afterwards on the same GPU.
//! instances: victim >= 1
//! replay: victim
//! planted: fault victim
//! planted: hang victim
#include "case.h"

__global__ void victim(const float* from, float* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] + 1;
}

int main() {
  constexpr int kCount = 4096;
  auto* from = device_array(ramp(kCount));
  auto* to = device_array(std::vector<float>(kCount, 0.0f));
  victim<<<16, 256>>>(from, to, kCount);
  auto got = host_copy(to, kCount);
  print_hash("to", got);
  return end(got[2] == ramp(kCount)[2] + 1);
}
