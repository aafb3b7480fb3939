// Case 1: a kernel that updates its input in place. A recorder that reads memory only after the launch gives the replay
// the result as its input, and the sum is added twice. The damage does exactly that to the MEP.
//! launches: accumulate == 6
//! instances: accumulate >= 2
//! replay: accumulate
//! breaks: after-as-before
#include "case.h"

__global__ void accumulate(float* sum, const float* add, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = sum[i] * 0.5f + add[i];
}

int main() {
  constexpr int kCount = 10000;
  auto* sum = device_array(ramp(kCount));
  auto* add = device_array(ramp(kCount, 0.5f));
  for (int step = 0; step < 6; ++step) accumulate<<<(kCount + 255) / 256, 256>>>(sum, add, kCount);
  auto got = host_copy(sum, kCount);
  print_hash("sum", got);
  float wanted = ramp(kCount)[7], addend = ramp(kCount, 0.5f)[7];
  for (int step = 0; step < 6; ++step) wanted = wanted * 0.5f + addend;
  return end(got[7] == wanted);
}
