// Case 8: the argument points into the middle of a pool that the application manages itself, and the kernel reads a
// header before it and a table far behind it. It is wrong to capture from this address for a guessed length, and wrong
// to refuse because no allocation begins there: the kernel may access the whole allocation.
//! instances: from_pool >= 1
//! replay: from_pool
//! breaks: after-as-before
#include "case.h"

__global__ void from_pool(float* block, int table_distance) {
  int n = reinterpret_cast<const int*>(block)[-4];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) block[i] = block[i] * 2 + block[table_distance + (i & 255)];
}

int main() {
  constexpr size_t kPool = 16 << 20, kBlock = 5 << 20;
  constexpr int kCount = 4000, kTable = 1 << 20;
  char* pool = nullptr;
  CUDA(cudaMalloc(&pool, kPool));
  CUDA(cudaMemset(pool, 0, kPool));
  auto* block = reinterpret_cast<float*>(pool + kBlock + 16);
  int header = kCount;
  CUDA(cudaMemcpy(pool + kBlock, &header, sizeof header, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(block, ramp(kCount).data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(block + kTable, ramp(256, 3).data(), 256 * sizeof(float), cudaMemcpyHostToDevice));
  for (int step = 0; step < 3; ++step) from_pool<<<16, 256>>>(block, kTable);
  auto got = host_copy(block, kCount);
  print_hash("block", got);
  float wanted = ramp(kCount)[300];
  for (int step = 0; step < 3; ++step) wanted = wanted * 2 + ramp(256, 3)[300 & 255];
  return end(got[300] == wanted);
}
