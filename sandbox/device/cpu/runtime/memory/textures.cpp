// See textures.h. What may be made of what is CUDA's documentation of cudaMalloc3DArray and cudaCreateTextureObject.
#include "sandbox/device/cpu/runtime/memory/textures.h"

#include <cstring>
#include <map>
#include <memory>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/memory/ranges.h"
#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {
namespace {

struct Made {
  std::map<const Array*, std::unique_ptr<Array>> arrays;
  std::map<unsigned long long, std::pair<kl_texture_use, TextureObject>> objects;
};
Made& made() {
  static Made& only = *new Made;
  return only;
}

/// 1, 2 or 4 channels of one width: false for any other format.
bool read_format(const cudaChannelFormatDesc& format, kl_texture& shape) {
  const int widths[] = {format.x, format.y, format.z, format.w};
  int channels = 0;
  while (channels < 4 && widths[channels] != 0) ++channels;
  for (int i = 0; i < 4; ++i)
    if (widths[i] != (i < channels ? format.x : 0)) return false;
  const bool wide = format.x == 16 || format.x == 32;
  if ((channels != 1 && channels != 2 && channels != 4) || !(wide || format.x == 8)) return false;
  if (format.f == cudaChannelFormatKindFloat && !wide) return false;
  shape.channels = static_cast<unsigned char>(channels), shape.bits = static_cast<unsigned char>(format.x);
  shape.format = static_cast<unsigned char>(format.f);
  return true;
}

/// Formats after cudaChannelFormatKindFloat: NV12, normalised ones, compressed blocks.
cudaError_t check_format(const cudaChannelFormatDesc& format, kl_texture& shape) {
  if (format.f < 0 || format.f > cudaChannelFormatKindFloat)
    return not_supported("a texture format other than signed, unsigned and float channels");
  return read_format(format, shape) ? cudaSuccess : cudaErrorInvalidValue;
}

size_t texel_bytes(const kl_texture& shape) { return size_t(shape.channels) * shape.bits / 8; }

cudaError_t read_resource(const cudaResourceDesc& resource, kl_texture& shape) {
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const Array* array = find_array(resource.res.array.array);
      if (!array) return cudaErrorInvalidResourceHandle;
      shape = array->shape;
      return cudaSuccess;
    }
    case cudaResourceTypeLinear: {
      auto& linear = resource.res.linear;
      if (cudaError_t error = check_format(linear.desc, shape)) return error;
      if (linear.sizeInBytes / texel_bytes(shape) == 0 || linear.sizeInBytes / texel_bytes(shape) > UINT32_MAX)
        return cudaErrorInvalidValue;
      if (cudaError_t error = check_device(linear.devPtr, linear.sizeInBytes)) return error;
      shape.resource = KL_RESOURCE_LINEAR, shape.memory = reinterpret_cast<uint64_t>(linear.devPtr);
      shape.width = static_cast<unsigned>(linear.sizeInBytes / texel_bytes(shape));
      shape.row_bytes = shape.layer_bytes = linear.sizeInBytes;
      return cudaSuccess;
    }
    case cudaResourceTypePitch2D: {
      auto& rows = resource.res.pitch2D;
      if (cudaError_t error = check_format(rows.desc, shape)) return error;
      const size_t row = rows.width * texel_bytes(shape);
      if (rows.width == 0 || rows.height == 0 || rows.width > UINT32_MAX || rows.height > UINT32_MAX ||
          row > rows.pitchInBytes)
        return cudaErrorInvalidValue;
      if (cudaError_t error = check_device(rows.devPtr, rows_span(rows.pitchInBytes, row, rows.height))) return error;
      shape.resource = KL_RESOURCE_PITCHED, shape.memory = reinterpret_cast<uint64_t>(rows.devPtr);
      shape.width = static_cast<unsigned>(rows.width), shape.height = static_cast<unsigned>(rows.height);
      shape.row_bytes = rows.pitchInBytes, shape.layer_bytes = rows.pitchInBytes * rows.height;
      return cudaSuccess;
    }
    case cudaResourceTypeMipmappedArray: return not_supported("a texture over a mipmapped array");
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t read_description(const cudaTextureDesc& description, kl_texture& shape) {
  if (description.sRGB) return not_supported("a texture with sRGB conversion");
  const bool floats = shape.format == KL_TEXEL_FLOAT;
  shape.as_float = !floats && description.readMode == cudaReadModeNormalizedFloat;
  if (shape.as_float && shape.bits == 32) return cudaErrorInvalidValue;
  // Linear memory is fetched by whole numbers alone, and its filter and addressing are ignored.
  const bool linear = shape.resource != KL_RESOURCE_LINEAR && description.filterMode == cudaFilterModeLinear;
  if (linear && !floats && !shape.as_float) return cudaErrorInvalidValue;
  shape.linear = linear;
  shape.normalized = description.normalizedCoords != 0;
  for (int i = 0; i < 3; ++i) {
    if (description.addressMode[i] < 0 || description.addressMode[i] > cudaAddressModeBorder)
      return cudaErrorInvalidValue;
    shape.address[i] = static_cast<unsigned char>(description.addressMode[i]);
  }
  std::memcpy(shape.border, description.borderColor, sizeof shape.border);
  return cudaSuccess;
}

}  // namespace

Array* find_array(const Array* handle) {
  auto found = made().arrays.find(handle);
  return found == made().arrays.end() ? nullptr : found->second.get();
}

cudaError_t make_array(Array** handle, const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned flags) {
  if (flags & kArrayCubemap) return not_supported("a cubemap array");
  if (flags & ~unsigned(kArrayLayered | kArraySurfaceLoadStore | kArrayTextureGather))
    return not_supported("a sparse or deferred array");
  const bool layered = flags & kArrayLayered;
  const bool possible = extent.width > 0 && (layered ? extent.depth > 0 : extent.height > 0 || extent.depth == 0) &&
                        extent.width <= UINT32_MAX && extent.height <= UINT32_MAX && extent.depth <= UINT32_MAX;
  auto array = std::make_unique<Array>();
  kl_texture& shape = array->shape;
  if (cudaError_t error = check_format(format, shape)) return error;
  if (!possible) return cudaErrorInvalidValue;
  array->format = format;
  shape.resource = KL_RESOURCE_ARRAY, shape.layered = layered, shape.array_flags = static_cast<unsigned char>(flags);
  shape.width = static_cast<unsigned>(extent.width), shape.height = static_cast<unsigned>(extent.height);
  shape.depth = static_cast<unsigned>(extent.depth);
  shape.row_bytes = shape.width * array->texel_bytes();
  shape.layer_bytes = shape.row_bytes * (shape.height ? shape.height : 1);
  shape.memory = state().arena.allocate(array->bytes(), KL_MEMORY_ARRAY);
  if (!shape.memory) return cudaErrorMemoryAllocation;
  *handle = array.get();
  made().arrays.emplace(array.get(), std::move(array));
  return cudaSuccess;
}

cudaError_t free_array(Array* handle) {
  Array* array = find_array(handle);
  if (!array) return cudaErrorInvalidValue;
  state().arena.release(array->shape.memory);
  made().arrays.erase(handle);
  return cudaSuccess;
}

const TextureObject* find_object(unsigned long long handle, kl_texture_use use) {
  auto found = made().objects.find(handle);
  return found == made().objects.end() || found->second.first != use ? nullptr : &found->second.second;
}

cudaError_t make_object(unsigned long long* handle, const cudaResourceDesc& resource,
                        const cudaTextureDesc* description) {
  kl_texture object = {};
  if (cudaError_t error = read_resource(resource, object)) return error;
  object.use = description ? KL_TEXTURE : KL_SURFACE;
  if (description) {
    if (cudaError_t error = read_description(*description, object)) return error;
  } else if (object.resource != KL_RESOURCE_ARRAY || !(object.array_flags & kArraySurfaceLoadStore)) {
    return cudaErrorInvalidValue;
  }
  const uint64_t address = state().arena.allocate(sizeof object, KL_MEMORY_TEXTURE);
  if (!address) return cudaErrorMemoryAllocation;
  std::memcpy(reinterpret_cast<void*>(address), &object, sizeof object);
  made().objects[address] = {description ? KL_TEXTURE : KL_SURFACE,
                             {resource, description ? *description : cudaTextureDesc{}}};
  *handle = address;
  return cudaSuccess;
}

bool free_object(unsigned long long handle, kl_texture_use use) {
  if (!find_object(handle, use)) return false;
  state().arena.release(handle);
  made().objects.erase(handle);
  return true;
}

void forget_textures() { made().arrays.clear(), made().objects.clear(); }

}  // namespace kernelift::cudart
