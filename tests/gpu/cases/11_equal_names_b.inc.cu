// The second module of case 11: the same kernel name, another body.
#include "case.h"

static __global__ void step(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= 3;
}

void other_module(float* values, int n) { step<<<n / 128, 128>>>(values, n); }
