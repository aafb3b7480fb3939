// Case 13e: one reserved address range with two physical allocations mapped side by side (an expandable arena, as in
// PyTorch), and a kernel that accesses both. cuMemGetAddressRange returns only one of them; the other would be missing.
//! instances: across >= 1
//! replay: across
//! breaks: after-as-before
#include "case.h"

__global__ void across(float* values, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) values[i] = values[i] + values[n - 1 - i] * 0 + float(i & 7);
}

int main() {
  CUDA(cudaSetDevice(0));
  CUDA(cudaFree(nullptr));
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t granularity = 0;
  DRIVER(driver(cuMemGetAllocationGranularity)(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr range = 0;
  DRIVER(driver(cuMemAddressReserve)(&range, 8 * granularity, 0, 0, 0));
  for (int piece = 0; piece < 2; ++piece) {
    CUmemGenericAllocationHandle handle;
    DRIVER(driver(cuMemCreate)(&handle, granularity, &properties, 0));
    DRIVER(driver(cuMemMap)(range + size_t(piece) * granularity, granularity, 0, handle, 0));
  }
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  DRIVER(driver(cuMemSetAccess)(range, 2 * granularity, &access, 1));
  size_t count = 2 * granularity / sizeof(float);
  auto* values = reinterpret_cast<float*>(range);
  CUDA(cudaMemcpy(values, ramp(count).data(), count * sizeof(float), cudaMemcpyHostToDevice));
  for (int step = 0; step < 2; ++step) across<<<unsigned((count + 255) / 256), 256>>>(values, count);
  auto got = host_copy(values, count);
  print_hash("values", got);
  return end(got[count - 1] == ramp(count)[count - 1] + 14);
}
