// Case 21: an allocation of 2.25 GiB of which the kernel changes one part in a thousand. The host memory of the
// recorded process must stay bounded (a recorder that keeps a copy of every allocation doubles it), and two instances
// must share unchanged data.
//! record: --mib 4096 --instances 2
//! instances: sparse >= 2
//! host-mib: 1200
//! stored-mib: 2700
//! replay: sparse
//! standalone: no
#include "case.h"

__global__ void fill(unsigned* values, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    values[i] = unsigned(i * 2654435761u) >> 7;
}

__global__ void sparse(unsigned* values, size_t n) {
  size_t i = n / 2 + blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) values[i] = values[i] * 3 + 1;
}

int main() {
  constexpr size_t kCount = size_t(9) << 26;
  unsigned* values;
  CUDA(cudaMalloc(&values, kCount * sizeof(unsigned)));
  fill<<<1024, 256>>>(values, kCount);
  for (int step = 0; step < 3; ++step) sparse<<<unsigned((kCount >> 10) / 256), 256>>>(values, kCount);
  unsigned got[2];
  CUDA(cudaMemcpy(got, values + kCount / 2 + 7, sizeof got, cudaMemcpyDeviceToHost));
  unsigned wanted = unsigned((kCount / 2 + 7) * 2654435761u) >> 7;
  for (int step = 0; step < 3; ++step) wanted = wanted * 3 + 1;
  std::printf("%u %u\n", got[0], got[1]);
  return end(got[0] == wanted);
}
