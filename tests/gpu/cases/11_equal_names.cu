// Case 11: two code objects contain a kernel of the same name with different bodies: both files define `static
// __global__ void step`. A recorder that identifies kernels by name gives one of them the other's code, source or
// instances. Each must replay with its own source.
//! two-architectures
//! build: 11_equal_names_b.inc.cu
//! record: --instances 4
//! instances: step >= 2
//! replay: step@11_equal_names.cu
//! replay: step@11_equal_names_b.inc.cu
//! breaks: after-as-before
#include "case.h"

void other_module(float* values, int n);

static __global__ void step(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += 1;
}

int main() {
  constexpr int kCount = 2048;
  auto* values = device_array(ramp(kCount));
  for (int k = 0; k < 3; ++k) {
    step<<<kCount / 128, 128>>>(values, kCount);
    other_module(values, kCount);
  }
  auto got = host_copy(values, kCount);
  print_hash("values", got);
  float wanted = ramp(kCount)[50];
  for (int k = 0; k < 3; ++k) wanted = (wanted + 1) * 3;
  return end(got[50] == wanted);
}
