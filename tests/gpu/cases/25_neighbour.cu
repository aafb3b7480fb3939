// Case 25: the kernel writes its output and one counter elsewhere in the same pool. The counter is part of the result;
// a candidate that does not update it, or that writes one element beyond the output, is wrong even if the output is
// right. run_cases plants both.
//! instances: count_and_write >= 1
//! replay: count_and_write
//! planted: wrong count_and_write: if (blockIdx.x == 0 && threadIdx.x == 0) pool[n] += 1;
//! planted: wrong count_and_write: if (blockIdx.x == 0 && threadIdx.x == 0) { pool[0] = pool[0] + 1; return; }
#include "case.h"

__global__ void count_and_write(float* pool, int n, int counter_at) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pool[i] = pool[i] + 1;
  if (i == 0) pool[counter_at] += float(n);
}

int main() {
  constexpr int kCount = 4000, kPool = 1 << 20, kCounter = 900000;
  auto* pool = device_array(ramp(kPool));
  for (int step = 0; step < 3; ++step) count_and_write<<<16, 256>>>(pool, kCount, kCounter);
  auto got = host_copy(pool, kPool);
  print_hash("pool", got);
  return end(got[kCounter] == ramp(kPool)[kCounter] + 3 * kCount && got[kCount] == ramp(kPool)[kCount]);
}
