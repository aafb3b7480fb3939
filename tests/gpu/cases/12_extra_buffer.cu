// Case 12b: launches whose arguments are packed in extra[] (CU_LAUNCH_PARAM_BUFFER_POINTER), as in Python libraries,
// for a runtime-API kernel that is launched through its driver handle. A recorder that reads only kernelParams finds
// null.
//! launches: packed == 3
//! instances: packed >= 1
//! replay: packed
//! breaks: after-as-before
#include "case.h"

__global__ void packed(float* to, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = to[i] * factor + float(n);
}

int main() {
  constexpr int kCount = 3000;
  auto* to = device_array(ramp(kCount));
  cudaFunction_t function;
  CUDA(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(packed)));
  struct {
    float* to;
    float factor;
    int n;
  } arguments{to, 0.5f, kCount};
  size_t size = sizeof arguments;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  auto* launch = driver(cuLaunchKernel);
  for (int step = 0; step < 3; ++step)
    DRIVER(launch(reinterpret_cast<CUfunction>(function), 12, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  auto got = host_copy(to, kCount);
  print_hash("to", got);
  float wanted = ramp(kCount)[31];
  for (int step = 0; step < 3; ++step) wanted = wanted * 0.5f + 3000;
  return end(got[31] == wanted);
}
