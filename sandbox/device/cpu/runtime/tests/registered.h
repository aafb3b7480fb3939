// The hand-made image (image.c), registered as clang's host code would register a translation unit: every kernel by the
// address of a stub, every variable by the address of a shadow.
#pragma once
#include <string>
#include <vector>

#include "core/toolchain/fat_blob.h"
#include "sandbox/device/cpu/runtime/tests/api.h"

namespace kernelift::cudart {

/// Only the addresses of stubs and shadows matter.
struct Stub {
  char add, store, fail, stop, nothing, bump, recurse, divide, shared, bounded, refused, absent;
  int counter;
  float table[64];
};
extern Stub stub;

/// A blob as the wrappers make it, of one entry.
std::vector<char> make_blob(FatEntry::Kind kind, const std::string& name, const std::vector<char>& bytes);
std::vector<char> test_image();

/// Registers `blob` with all stubs; unregisters at its end.
class RegisteredUnit {
 public:
  explicit RegisteredUnit(const void* blob, Stub& stubs = stub);
  ~RegisteredUnit();

 private:
  struct Wrapper {
    uint32_t magic, version;
    const void* data;
    const void* unused;
  } wrapper_;
  void** handle_;
};

/// A test with the image registered and a fresh device.
class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest();
  ~RuntimeTest() override;
  /// Launches on the default stream; arguments as cudaLaunchKernel takes them.
  static cudaError_t launch(const char& function, unsigned grid, unsigned block, std::vector<void*> arguments = {},
                            size_t shared = 0, cudaStream_t stream = nullptr);
  /// An array of ints on the device.
  static int* device_ints(const std::vector<int>& values);
  static std::vector<int> host_ints(const int* device, size_t count);

 private:
  std::vector<char> blob_;
  RegisteredUnit unit_;
};

}  // namespace kernelift::cudart
