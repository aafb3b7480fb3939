// Prints the addresses that a fixed sequence of allocations gets; memory_test runs it twice.
#include <cstdio>

#include "sandbox/device/cpu/runtime/tests/api.h"

using namespace kernelift::cudart;

int main() {
  void* freed = nullptr;
  for (size_t bytes : {100ul, 5000ul, 1ul << 20, 70000ul, 1ul << 24, 1ul}) {
    void *device = nullptr, *managed = nullptr, *host = nullptr, *pooled = nullptr;
    bool good = cudaMalloc(&device, bytes) == cudaSuccess && cudaMallocManaged(&managed, bytes, 1) == cudaSuccess &&
                cudaMallocHost(&host, bytes) == cudaSuccess && cudaMallocAsync(&pooled, bytes, nullptr) == cudaSuccess;
    if (!good) return 1;
    std::printf("%p %p %p %p\n", device, managed, host, pooled);
    cudaFree(freed);
    freed = managed;
  }
  return 0;
}
