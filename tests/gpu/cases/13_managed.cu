// Case 13b: managed memory that the host writes between launches, and a __managed__ variable. Managed memory is in the
// host's address range too; the captured bytes must be those that the kernel read, including the host's last writes.
//! instances: grow >= 2
//! replay-or-refused: grow (managed)
//! breaks: after-as-before
#include "case.h"

__managed__ int rounds = 3;

__global__ void grow(int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 2 + rounds;
}

int main() {
  constexpr int kCount = 5000;
  int* values = nullptr;
  CUDA(cudaMallocManaged(&values, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) values[i] = i;
  int wanted = 70;
  for (int step = 0; step < 3; ++step) {
    values[70] += step;
    rounds = 10 + step;
    grow<<<(kCount + 127) / 128, 128>>>(values, kCount);
    CUDA(cudaDeviceSynchronize());
    wanted = (wanted + step) * 2 + 10 + step;
  }
  std::printf("%d %d\n", values[70], values[4999]);
  return end(values[70] == wanted);
}
