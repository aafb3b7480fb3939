// The image's path comes from the build; see tests/CMakeLists.txt.
#include "sandbox/device/cpu/runtime/tests/registered.h"

#include <fstream>
#include <iterator>

namespace kernelift::cudart {

Stub stub;

std::vector<char> make_blob(FatEntry::Kind kind, const std::string& name, const std::vector<char>& bytes) {
  return write_fat_blob({{kind, name, "", bytes}});
}

std::vector<char> test_image() {
  std::ifstream file(KL_TEST_IMAGE, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

RegisteredUnit::RegisteredUnit(const void* blob, Stub& stubs) : wrapper_{0x466243b1, 1, blob, nullptr} {
  handle_ = __cudaRegisterFatBinary(&wrapper_);
  auto kernel = [&](const char& host, const char* name) {
    __cudaRegisterFunction(handle_, &host, const_cast<char*>(name), name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  };
  kernel(stubs.add, "_Z3addPiii");
  kernel(stubs.store, "_Z5storePi");
  kernel(stubs.fail, "_Z4failv");
  kernel(stubs.stop, "_Z4stopv");
  kernel(stubs.nothing, "_Z7nothingv");
  kernel(stubs.bump, "_Z4bumpv");
  kernel(stubs.recurse, "_Z7recursev");
  kernel(stubs.divide, "_Z6dividei");
  kernel(stubs.shared, "_Z6sharedv");
  kernel(stubs.bounded, "_Z7boundedv");
  kernel(stubs.refused, "_Z7refusedv");
  kernel(stubs.absent, "_Z6absentv");
  auto variable = [&](void* host, const char* name, size_t size) {
    __cudaRegisterVar(handle_, static_cast<char*>(host), const_cast<char*>(name), name, 0, size, 0, 0);
  };
  variable(&stubs.counter, "device_counter", sizeof stubs.counter);
  variable(stubs.table, "device_table", sizeof stubs.table);
  __cudaRegisterFatBinaryEnd(handle_);
}

RegisteredUnit::~RegisteredUnit() { __cudaUnregisterFatBinary(handle_); }

RuntimeTest::RuntimeTest() : blob_(make_blob(FatEntry::Kind::CpuImage, "image.c", test_image())), unit_(blob_.data()) {}

RuntimeTest::~RuntimeTest() { cudaDeviceReset(); }

cudaError_t RuntimeTest::launch(const char& function, unsigned grid, unsigned block, std::vector<void*> arguments,
                                size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(&function, {grid, 1, 1}, {block, 1, 1}, arguments.data(), shared, stream);
}

int* RuntimeTest::device_ints(const std::vector<int>& values) {
  void* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, values.size() * sizeof(int)));
  CHECK_CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(int), kToDevice));
  return static_cast<int*>(memory);
}

std::vector<int> RuntimeTest::host_ints(const int* device, size_t count) {
  std::vector<int> values(count);
  CHECK_CUDA(cudaMemcpy(values.data(), device, count * sizeof(int), kToHost));
  return values;
}

}  // namespace kernelift::cudart
