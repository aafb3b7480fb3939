// The texture and surface objects of a launch, made as the application had them. Objects get the handles that they had,
// since the driver counts them from 1; what the CPU device recorded are addresses instead, and are replaced in the
// arguments. An array's texels lie in placed memory, like any other buffer: they are copied into an array before
// launches and, where a surface may have changed them, out of it behind them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/device.h"

namespace kernelift::sandbox {

class TextureObjects {
 public:
  explicit TextureObjects(const CudaDriver& driver) : driver_(driver) {}
  ~TextureObjects() { forget(); }
  TextureObjects(const TextureObjects&) = delete;
  TextureObjects& operator=(const TextureObjects&) = delete;

  /// Makes them, unless they are those of last time. An Error says what the driver does not give.
  Status make(const std::vector<DeviceTexture>& wanted);
  CUresult upload(CUstream stream) const;
  CUresult download(CUstream stream) const;
  /// Handles that differ from the recorded ones.
  void rewrite(std::span<std::byte> arguments) const;
  bool writes() const;  ///< There is a surface among them.
  void forget();

 private:
  struct Array {
    kl_texture shape = {};
    CUarray handle = nullptr;
    bool written = false;
  };
  struct Object {
    uint64_t recorded = 0, handle = 0;
    bool surface = false;
  };
  CUresult copy(const Array& array, bool in, CUstream stream) const;
  Result<CUarray> array_of(const kl_texture& texture);
  Result<uint64_t> object_of(const kl_texture& texture, const CUDA_RESOURCE_DESC& resource) const;
  void drop(uint64_t handle, bool surface) const;

  const CudaDriver& driver_;
  std::vector<DeviceTexture> made_;
  std::vector<Array> arrays_;
  std::vector<Object> objects_;
};

}  // namespace kernelift::sandbox
