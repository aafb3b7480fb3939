// Texture and surface objects of one context, asked of the driver: what a handle stands for, and the texels of CUDA
// arrays. Handles are small numbers, so any word of a launch's arguments that is a live handle counts as one: that can
// only capture too much. An array has no address; a place is made up for it, where a replay maps its texels.
#pragma once
#include <map>
#include <span>
#include <vector>

#include "core/model/texture.h"
#include "core/toolchain/cuda_driver.h"
#include "extractor/record/reach.h"

namespace kernelift::record {

struct FoundTexture {
  uint64_t handle = 0;
  Origin origin;  ///< The argument that holds it.
  kl_texture object = {};
};

class Textures {
 public:
  explicit Textures(const CudaDriver& driver) : driver_(driver) {}
  /// In the order of the arguments, each once. The Error names what cannot be captured: mipmaps, cubemaps, ...
  Result<std::vector<FoundTexture>> among(std::span<const std::byte> arguments, std::span<const Parameter> parameters);
  /// Whether texels were given a place there.
  bool holds(uint64_t address) const;
  /// Starts copies of texels. EXPECTS: holds(address).
  CUresult copy(void* to, uint64_t address, uint64_t bytes, CUstream stream) const;

 private:
  struct Array {
    CUarray handle = nullptr;
    kl_texture shape = {};  ///< `memory` is its place.
  };
  Result<kl_texture> object_of(uint64_t handle, bool surface, const CUDA_RESOURCE_DESC& resource);
  Result<kl_texture> array_of(CUarray handle);

  const CudaDriver& driver_;
  std::map<uint64_t, Array> places_;            ///< By the address that was made up.
  uint64_t next_place_ = uint64_t(0x30) << 40;  ///< Far from what drivers and Linux use.
};

}  // namespace kernelift::record
