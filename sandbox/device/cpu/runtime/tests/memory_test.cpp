// Memory: placement, ownership, copies and their errors, symbols.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "sandbox/device/cpu/runtime/tests/registered.h"

using namespace kernelift;
using namespace kernelift::cudart;

namespace {

class Memory : public RuntimeTest {
 protected:
  static char* allocate(size_t bytes) {
    void* memory = nullptr;
    CHECK_CUDA(cudaMalloc(&memory, bytes));
    return static_cast<char*>(memory);
  }
};
class Copy : public Memory {};
class Symbol : public Memory {};

std::string addresses_of_a_process() {
  std::string text;
  FILE* pipe = popen(KL_ADDRESSES_PROGRAM, "r");
  char line[256];
  while (pipe && std::fgets(line, sizeof line, pipe)) text += line;
  EXPECT_EQ(pclose(pipe), 0);
  return text;
}

TEST_F(Memory, AddressesRepeatInANewProcess) {
  std::string first = addresses_of_a_process();
  EXPECT_NE(first.find("0x2000"), std::string::npos) << first;
  EXPECT_EQ(first, addresses_of_a_process());
}

TEST_F(Memory, AllocationsAreAlignedAndNeverShareALine) {
  std::vector<std::pair<char*, size_t>> all;
  uint32_t random = 1;
  for (int i = 0; i < 400; ++i) {
    random = random * 1664525 + 1013904223;
    size_t bytes = 1 + (i % 20 == 0 ? random % 3000000 : random % 5000);
    char* memory = allocate(bytes);
    ASSERT_EQ(reinterpret_cast<uint64_t>(memory) % 256, 0u);
    all.push_back({memory, bytes});
    if (i % 3 == 2) {
      size_t victim = random % all.size();
      CHECK_CUDA(cudaFree(all[victim].first));
      all.erase(all.begin() + long(victim));
    }
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].first, all[i - 1].first + all[i - 1].second + 256);
  for (auto [memory, bytes] : all) CHECK_CUDA(cudaMemset(memory, 1, bytes));
}

TEST_F(Memory, FreedPlaceIsUsedAgain) {
  char* first = allocate(1000);
  allocate(1000);
  CHECK_CUDA(cudaFree(first));
  EXPECT_EQ(allocate(1000), first);
}

TEST_F(Memory, FreeingTwiceOrForeignPointersIsInvalid) {
  char* memory = allocate(100);
  int local = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(memory + 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(memory));
  CHECK_CUDA(cudaFree(memory));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(memory));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(&local));
  CHECK_CUDA(cudaFree(nullptr));
  void* host = nullptr;
  CHECK_CUDA(cudaMallocHost(&host, 100));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(host));
  CHECK_CUDA(cudaFreeHost(host));
}

TEST_F(Memory, AskingForMoreThanThereIsFailsAndChangesNothing) {
  size_t before = 0, after = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&before, &total));
  void* memory = &before;
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&memory, total + 1));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&memory, SIZE_MAX));
  CHECK_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaGetLastError());
  allocate(1 << 20);
  CHECK_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, size_t(1) << 20);
}

TEST_F(Memory, PointerAttributesTellWhoseMemoryItIs) {
  void *managed = nullptr, *pinned = nullptr;
  int local = 0;
  CHECK_CUDA(cudaMallocManaged(&managed, 64, 1));
  CHECK_CUDA(cudaMallocHost(&pinned, 64));
  cudaPointerAttributes attributes;
  auto type = [&](const void* pointer) {
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type;
  };
  EXPECT_EQ(type(allocate(64) + 5), kMemoryDevice);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  EXPECT_EQ(type(managed), kMemoryManaged);
  EXPECT_EQ(type(pinned), kMemoryHost);
  EXPECT_EQ(attributes.devicePointer, pinned);
  EXPECT_EQ(type(&local), kMemoryUnregistered);
}

TEST_F(Memory, RegisteredHostMemoryIsKnownUntilUnregistered) {
  std::vector<int> data(1000, 1);
  void* device = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, data.data(), 0));
  CHECK_CUDA(cudaHostRegister(data.data(), 4000, 0));
  EXPECT_CUDA(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(data.data() + 10, 40, 0));
  CHECK_CUDA(cudaHostGetDevicePointer(&device, data.data(), 0));
  int count = 1000, step = 4;
  CHECK_CUDA(launch(stub.add, 1, 1000, {&device, &count, &step}));
  EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0), 5000);
  CHECK_CUDA(cudaHostUnregister(data.data()));
  EXPECT_CUDA(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(data.data()));
}

TEST_F(Memory, StreamOrderedAllocationCountsInItsPool) {
  cudaMemPool_t pool = nullptr;
  void* memory = nullptr;
  uint64_t used = 0;
  constexpr int kUsedCurrent = 7, kUsedHigh = 8;
  CHECK_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK_CUDA(cudaMallocAsync(&memory, 5000, nullptr));
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, kUsedCurrent, &used));
  EXPECT_EQ(used, 5000u);
  CHECK_CUDA(cudaFreeAsync(memory, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(memory, nullptr));
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, kUsedCurrent, &used));
  EXPECT_EQ(used, 0u);
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, kUsedHigh, &used));
  EXPECT_EQ(used, 5000u);
}

TEST_F(Memory, HintsAreForManagedMemoryOnly) {
  void* managed = nullptr;
  CHECK_CUDA(cudaMallocManaged(&managed, 4096, 1));
  cudaMemLocation device = {1, 0}, nowhere = {1, 3};
  CHECK_CUDA(cudaMemPrefetchAsync(managed, 4096, device, 0, nullptr));
  CHECK_CUDA(cudaMemAdvise(managed, 4096, 3, device));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaMemPrefetchAsync(managed, 4096, nowhere, 0, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPrefetchAsync(allocate(4096), 4096, device, 0, nullptr));
}

TEST_F(Memory, ManagedVariableIsSharedByHostAndReset) {
  int initial = 41;
  int* pointer = nullptr;
  struct {
    uint32_t magic, version;
    const void *data, *unused;
  } wrapper = {0x466243b1, 1, nullptr, nullptr};
  void** handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterManagedVar(handle, reinterpret_cast<void**>(&pointer), &initial, "shared_number", sizeof initial, 4);
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(*pointer, 41);
  CHECK_CUDA(cudaDeviceReset());
  *pointer = 42;
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(attributes.type, kMemoryManaged);
  __cudaUnregisterFatBinary(handle);
}

TEST_F(Copy, PastTheEndOfAnAllocationIsInvalid) {
  std::vector<char> host(300);
  for (size_t bytes : {size_t(200), size_t(100000)}) {
    host.resize(bytes + 1);
    char* memory = allocate(bytes);
    CHECK_CUDA(cudaMemcpy(memory, host.data(), bytes, kToDevice));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(memory, host.data(), bytes + 1, kToDevice));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(memory + 1, host.data(), bytes, kToDevice));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), memory + 1, bytes, kToHost));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(memory + 8, 0, bytes));
    CHECK_CUDA(cudaFree(memory));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(memory, host.data(), 1, kToDevice));
  }
  CHECK_CUDA(cudaDeviceSynchronize());
}

TEST_F(Copy, AKindThatContradictsThePointersIsInvalid) {
  std::vector<char> host(64), other(64);
  char* memory = allocate(64);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(memory, host.data(), 64, kToHost));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), memory, 64, kToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), other.data(), 64, cudaMemcpyDeviceToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(host.data(), 0, 64));
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpy(memory, host.data(), 64, cudaMemcpyKind(7)));
  CHECK_CUDA(cudaMemcpy(memory, host.data(), 64, cudaMemcpyDefault));
  CHECK_CUDA(cudaMemcpy(host.data(), other.data(), 64, cudaMemcpyHostToHost));
  CHECK_CUDA(cudaMemcpy(memory, memory, 0, kToDevice));
}

TEST_F(Copy, RowsGoInAndOutOfPitchedMemory) {
  constexpr size_t kWidth = 100, kHeight = 7;
  void* memory = nullptr;
  size_t pitch = 0;
  CHECK_CUDA(cudaMallocPitch(&memory, &pitch, kWidth, kHeight));
  EXPECT_EQ(pitch, 512u);
  std::vector<char> in(kWidth * kHeight), out(in.size());
  std::iota(in.begin(), in.end(), char(0));
  CHECK_CUDA(cudaMemset2D(memory, pitch, 0x55, pitch, kHeight));
  CHECK_CUDA(cudaMemcpy2D(memory, pitch, in.data(), kWidth, kWidth, kHeight, kToDevice));
  CHECK_CUDA(cudaMemcpy2D(out.data(), kWidth, memory, pitch, kWidth, kHeight, kToHost));
  EXPECT_EQ(in, out);
  char gap = 0;
  CHECK_CUDA(cudaMemcpy(&gap, static_cast<char*>(memory) + kWidth, 1, kToHost));
  EXPECT_EQ(gap, 0x55);
  EXPECT_CUDA(cudaErrorInvalidPitchValue, cudaMemcpy2D(memory, 50, in.data(), kWidth, kWidth, kHeight, kToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy2D(memory, pitch, in.data(), kWidth, kWidth, kHeight + 1, kToDevice));
}

TEST_F(Copy, BoxesKeepTheirPositions) {
  cudaExtent extent = {16, 4, 3};
  cudaPitchedPtr box = {};
  CHECK_CUDA(cudaMalloc3D(&box, extent));
  std::vector<char> in(16 * 4 * 3), out(2 * 2 * 2);
  std::iota(in.begin(), in.end(), char(0));
  cudaMemcpy3DParms to_device = {};
  to_device.srcPtr = {in.data(), 16, 16, 4};
  to_device.dstPtr = box;
  to_device.extent = extent;
  to_device.kind = kToDevice;
  CHECK_CUDA(cudaMemcpy3D(&to_device));
  cudaMemcpy3DParms corner = {};
  corner.srcPtr = box;
  corner.srcPos = {3, 2, 1};
  corner.dstPtr = {out.data(), 2, 2, 2};
  corner.extent = {2, 2, 2};
  corner.kind = kToHost;
  CHECK_CUDA(cudaMemcpy3D(&corner));
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 2; ++x)
        EXPECT_EQ(uint8_t(out[size_t(z * 4 + y * 2 + x)]), (z + 1) * 64 + (y + 2) * 16 + x + 3);
}

TEST_F(Symbol, ValuesGoInAndOut) {
  int value = 0;
  CHECK_CUDA(cudaMemcpyFromSymbol(&value, &stub.counter, sizeof value, 0, kToHost));
  EXPECT_EQ(value, 7);
  value = 100;
  CHECK_CUDA(cudaMemcpyToSymbol(&stub.counter, &value, sizeof value, 0, kToDevice));
  CHECK_CUDA(launch(stub.bump, 5, 1));
  CHECK_CUDA(cudaMemcpyFromSymbol(&value, &stub.counter, sizeof value, 0, kToHost));
  EXPECT_GT(value, 100);
}

TEST_F(Symbol, HasAnAddressASizeAndBounds) {
  void* address = nullptr;
  size_t size = 0;
  float values[64] = {1, 2, 3};
  CHECK_CUDA(cudaGetSymbolSize(&size, stub.table));
  EXPECT_EQ(size, sizeof stub.table);
  CHECK_CUDA(cudaGetSymbolAddress(&address, stub.table));
  EXPECT_NE(address, stub.table);
  CHECK_CUDA(cudaMemcpyToSymbol(stub.table, values, sizeof values, 0, kToDevice));
  CHECK_CUDA(cudaMemcpy(values + 10, static_cast<char*>(address) + 4, 4, kToHost));
  EXPECT_EQ(values[10], 2);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyToSymbol(stub.table, values, sizeof values, 4, kToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(values, address, sizeof values + 1, kToHost));
  EXPECT_CUDA(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(values, values, 4, 0, kToDevice));
  EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(stub.table, values, 4, 0, kToHost));
}

TEST_F(Symbol, ResetGivesVariablesTheirInitialValuesBack) {
  int value = 100;
  CHECK_CUDA(cudaMemcpyToSymbol(&stub.counter, &value, sizeof value, 0, kToDevice));
  CHECK_CUDA(cudaDeviceReset());
  CHECK_CUDA(cudaMemcpyFromSymbol(&value, &stub.counter, sizeof value, 0, kToHost));
  EXPECT_EQ(value, 7);
}

}  // namespace
