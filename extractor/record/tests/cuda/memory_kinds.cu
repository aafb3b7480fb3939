// Memory of every kind that a kernel can be handed, one after the other: prints each kind's address, runs the kernel
// once on it. argv[1] picks one kind.
#include <cuda.h>

#include <cstring>
#include <string>

#include "extractor/record/tests/cuda/check.h"

constexpr int kCount = 3000;

__global__ void add_one(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
__device__ int module_array[kCount];

int* mapped_by_hand() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t granularity = 0;
  CHECK_DRIVER(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr address = 0;
  CHECK_DRIVER(cuMemAddressReserve(&address, 4 * granularity, 0, 0, 0));
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (int i = 0; i < 2; ++i) {
    CUmemGenericAllocationHandle handle;
    CHECK_DRIVER(cuMemCreate(&handle, granularity, &properties, 0));
    CHECK_DRIVER(cuMemMap(address + i * granularity, granularity, 0, handle, 0));
    CHECK_DRIVER(cuMemRelease(handle));
  }
  CHECK_DRIVER(cuMemSetAccess(address, 2 * granularity, &access, 1));
  return reinterpret_cast<int*>(address + granularity - 4000);  // Straddles the two mappings.
}

int main(int argc, char** argv) {
  std::string only = argc > 1 ? argv[1] : "";
  CHECK(cudaFree(nullptr));
  bool good = true;
  auto run = [&](const char* kind, int* memory, bool host) {
    if (!only.empty() && only != kind) return;
    if (host) std::memset(memory, 0, kCount * sizeof(int));
    else CHECK(cudaMemset(memory, 0, kCount * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    add_one<<<(kCount + 255) / 256, 256>>>(memory, kCount);
    CHECK(cudaDeviceSynchronize());
    int last;
    CHECK(cudaMemcpy(&last, memory + kCount - 1, sizeof last, cudaMemcpyDefault));
    good = good && last == 1;
    std::printf("%s %p\n", kind, static_cast<void*>(memory));
  };
  int* memory;
  CHECK(cudaMalloc(&memory, kCount * 4));
  run("malloc", memory, false);
  run("interior", memory, false);
  CHECK(cudaMallocAsync(&memory, kCount * 4, nullptr));
  run("async", memory, false);
  cudaMemPool_t pool;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaMallocFromPoolAsync(&memory, kCount * 4, pool, nullptr));
  run("pool", memory, false);
  size_t pitch;
  CHECK(cudaMallocPitch(&memory, &pitch, 100 * 4, 30));
  run("pitched", memory, false);
  CHECK(cudaMallocManaged(&memory, kCount * 4));
  run("managed", memory, false);
  CHECK(cudaMallocHost(&memory, kCount * 4));
  run("pinned", memory, true);
  CHECK(cudaHostAlloc(&memory, kCount * 4, cudaHostAllocMapped | cudaHostAllocWriteCombined));
  run("mapped", memory, true);
  void* plain = std::aligned_alloc(4096, 16384);
  CHECK(cudaHostRegister(plain, 16384, cudaHostRegisterMapped));
  run("registered", static_cast<int*>(plain), true);
  run("vmm", mapped_by_hand(), false);
  CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&memory), module_array));
  run("variable", memory, false);
  return good ? 0 : 1;
}
