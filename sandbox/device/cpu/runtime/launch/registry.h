// What the application's translation units registered before main: fat blobs, kernels and variables, each known to the
// host by the address of a stub or shadow. Images are loaded at the first use of something in them. Relocatable device
// code looks the same from here: the object that a device link makes registers the linked program with all its names.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/toolchain/fat_blob.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/cpu/runtime/abi.h"

namespace kernelift::cudart {

struct Binary {
  const void* blob = nullptr;
  bool opened = false;
  std::vector<std::shared_ptr<cpu::LoadedImage>> images;
  std::string problem;  ///< Why there is no image, for people; empty if there is one.
};

struct Function {
  std::string name;  ///< Mangled, as in the device code.
  Binary* binary = nullptr;
  const kl_kernel* kernel = nullptr;
  const kl_image* image = nullptr;
  uint32_t max_dynamic_shared = 0;  ///< Raised by cudaFuncSetAttribute; 0: the device's default.
  bool refusal_explained = false;   ///< That the device cannot run it was said, once.
  std::string problem;
};

struct Variable {
  std::string name;
  Binary* binary = nullptr;
  size_t size = 0;
  void** managed_pointer = nullptr;  ///< Host's pointer to a __managed__ variable.
  void* address = nullptr;           ///< In the loaded image, or the managed memory.
  bool host_is_managed = false;      ///< The host's own variable is the managed memory; it has its initial value.
};

/// EXPECTS: calls are serialised by the caller (State::mutex).
class Registry {
 public:
  Binary* add_binary(const void* blob);
  void remove_binary(Binary* binary);
  void add_function(Binary* binary, const void* host, const char* name);
  Variable& add_variable(Binary* binary, const void* host, const char* name, size_t size);
  /// Every name of the binary has been added. Managed variables get their initial values: host code may read them now.
  void finish_binary(Binary* binary);

  /// The kernel behind a host stub, its image loaded; null if nobody registered `host`. `kernel` stays null, with the
  /// reason in `problem`, if there is no image for it.
  Function* function(const void* host);
  /// The variable behind a host shadow, its image loaded; null if unknown or absent from every image.
  Variable* variable(const void* host);
  /// The device variable whose memory holds `address`, among loaded images; null otherwise.
  const kl_variable* variable_at(uint64_t address) const;
  /// Forgets every loaded image (cudaDeviceReset): the next use loads it afresh, with initial values.
  void unload();

 private:
  void open(Binary& binary);
  void bind_managed(const cpu::LoadedImage& image, const void* host, Variable& variable);

  std::vector<std::unique_ptr<Binary>> binaries_;
  std::unordered_map<const void*, Function> functions_;
  std::unordered_map<const void*, Variable> variables_;
};

}  // namespace kernelift::cudart
