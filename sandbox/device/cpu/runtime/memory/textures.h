// CUDA arrays, and texture and surface objects. An array is memory of the arena, row after row without padding. An
// object is a kl_texture (core/model/texture_object.h) in the arena, and its handle is that address: kernels, the
// recorder and a replay find it, and what it leads to, as they find all memory.
#pragma once
#include "core/model/texture_object.h"
#include "sandbox/device/cpu/runtime/abi_textures.h"

namespace kernelift::cudart {

/// An array's texels: of the shape only what memory, size and format say is set.
struct Array {
  kl_texture shape = {};
  cudaChannelFormatDesc format = {};
  size_t texel_bytes() const { return size_t(shape.channels) * shape.bits / 8; }
  size_t bytes() const { return shape.layer_bytes * (shape.depth ? shape.depth : 1); }
};

/// All functions below: EXPECTS State::mutex is held.
Array* find_array(const Array* handle);  ///< nullptr: no live array.
cudaError_t make_array(Array** array, const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned flags);
cudaError_t free_array(Array* array);

struct TextureObject {
  cudaResourceDesc resource;
  cudaTextureDesc description;
};
/// The object of a handle that was made for this use; nullptr: none.
const TextureObject* find_object(unsigned long long handle, kl_texture_use use);
/// `description` is null for a surface. What is not supported is said by name on stderr.
cudaError_t make_object(unsigned long long* handle, const cudaResourceDesc& resource,
                        const cudaTextureDesc* description);
bool free_object(unsigned long long handle, kl_texture_use use);

}  // namespace kernelift::cudart
