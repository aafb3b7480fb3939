// Case 24b: the kernel prints and uses the device's own heap, with raised limits. The application's output must not
// change under the recorder; the heap cannot be mapped at recorded addresses, so such a kernel is replayed completely
// or refused by name.
//! launches: talk == 1
//! replay-or-refused: talk (printf|vprintf|malloc|heap)
//! replay-or-refused: borrow (malloc|heap|free)
#include "case.h"

__global__ void talk(const float* from, float* to) {
  to[threadIdx.x] = from[threadIdx.x] * 2;
  if (threadIdx.x == 0) printf("kernel says %g\n", to[0]);
}

__global__ void borrow(const float* from, float* to, int n) {
  auto* own = static_cast<float*>(malloc(size_t(n) * sizeof(float)));
  if (!own) return;
  for (int i = 0; i < n; ++i) own[i] = from[i] * float(threadIdx.x + 1);
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += own[i];
  to[threadIdx.x] = sum;
  free(own);
}

int main() {
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  CUDA(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
  auto* from = device_array(ramp(256, 1));
  auto* to = device_array(std::vector<float>(64, 0.0f));
  talk<<<1, 64>>>(from, to);
  CUDA(cudaDeviceSynchronize());
  borrow<<<1, 64>>>(from, to, 256);
  auto got = host_copy(to, 64);
  print_hash("to", got);
  return end(got[1] == 2 * got[0]);
}
