// Case 16: memory that the device may only read: a mapping with read-only access, and a const table in the image. A
// replay that restores all memory before each launch crashes when it writes to them; one that omits them computes with
// zeros.
//! instances: lookup >= 1
//! replay: lookup
//! breaks: after-as-before
#include "case.h"

__constant__ const int steps[4] = {1, 10, 100, 1000};

__global__ void lookup(const int* table, int* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += table[i] * steps[i & 3];
}

int main() {
  CUDA(cudaFree(nullptr));
  constexpr int kCount = 4096;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t granularity = 0;
  DRIVER(driver(cuMemGetAllocationGranularity)(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr table = 0;
  CUmemGenericAllocationHandle handle;
  DRIVER(driver(cuMemAddressReserve)(&table, granularity, 0, 0, 0));
  DRIVER(driver(cuMemCreate)(&handle, granularity, &properties, 0));
  DRIVER(driver(cuMemMap)(table, granularity, 0, handle, 0));
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  DRIVER(driver(cuMemSetAccess)(table, granularity, &access, 1));
  std::vector<int> numbers(kCount);
  for (int i = 0; i < kCount; ++i) numbers[size_t(i)] = i % 77;
  CUDA(cudaMemcpy(reinterpret_cast<void*>(table), numbers.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  CUDA(cudaDeviceSynchronize());
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  // If the driver does not support read-only mappings, the case covers only the const table.
  std::printf("read-only mapping: %s\n",
              driver(cuMemSetAccess)(table, granularity, &access, 1) == CUDA_SUCCESS ? "yes" : "no");
  auto* to = device_array(std::vector<int>(kCount, 1));
  for (int step = 0; step < 2; ++step) lookup<<<16, 256>>>(reinterpret_cast<const int*>(table), to, kCount);
  auto got = host_copy(to, kCount);
  print_hash("to", got);
  return end(got[78] == 1 + 2 * 100);
}
