// Case 12a: fat binaries are registered and a kernel is launched before main() begins (in the constructor of a global
// object); the program is built with the static and with the shared CUDA runtime. A recorder that wraps the shared
// runtime misses the static build, and one that starts in main() misses the launch in both.
//! shared-cudart
//! launches: early == 2
//! instances: early >= 1
//! replay: early
//! breaks: after-as-before
#include "case.h"

__global__ void early(int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 5 + i;
}

struct Constructed {
  int* values;
  Constructed() : values(device_array(std::vector<int>(1000, 2))) { early<<<4, 256>>>(values, 1000); }
};
static Constructed before_main;

int main() {
  early<<<4, 256>>>(before_main.values, 1000);
  auto got = host_copy(before_main.values, 1000);
  print_hash("values", got);
  return end(got[10] == (2 * 5 + 10) * 5 + 10);
}
