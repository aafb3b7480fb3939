// See texture_objects.h.
#include "sandbox/device/cuda/texture_objects.h"

#include <algorithm>
#include <cstring>

#include "core/base/bytes.h"
#include "core/model/texture.h"

namespace kernelift::sandbox {
namespace {

CUarray_format format_of(const kl_texture& texture) {
  if (texture.format == KL_TEXEL_FLOAT) return texture.bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
  const bool is_signed = texture.format == KL_TEXEL_SIGNED;
  switch (texture.bits) {
    case 8: return is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
    case 16: return is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
    default: return is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
  }
}

Error refuses(const CudaDriver& driver, const char* what, CUresult result) {
  return environment_error(std::string("the driver does not make ") + what + ": " + cuda_error_text(driver, result));
}

}  // namespace

Status TextureObjects::make(const std::vector<DeviceTexture>& wanted) {
  auto same = [](const DeviceTexture& a, const DeviceTexture& b) {
    return a.handle == b.handle && std::memcmp(&a.object, &b.object, sizeof a.object) == 0;
  };
  if (std::ranges::equal(wanted, made_, same)) return done();
  forget();
  if (!driver_.cuTexObjectCreate || !driver_.cuSurfObjectCreate || !driver_.cuArray3DCreate || !driver_.cuMemcpy3DAsync)
    return environment_error("the NVIDIA driver is too old to make texture objects");
  std::vector<DeviceTexture> ordered = wanted;
  std::ranges::sort(ordered, {}, &DeviceTexture::handle);
  constexpr uint64_t kMostHandles = 1 << 20;
  for (auto& [recorded, texture] : ordered) {
    CUDA_RESOURCE_DESC resource{};
    if (texture.resource == KL_RESOURCE_ARRAY) {
      resource.resType = CU_RESOURCE_TYPE_ARRAY;
      KERNELIFT_ASSIGN(resource.res.array.hArray, array_of(texture));
    } else if (texture.resource == KL_RESOURCE_LINEAR) {
      resource.resType = CU_RESOURCE_TYPE_LINEAR;
      resource.res.linear = {texture.memory, format_of(texture), texture.channels,
                             texture.width * texel_bytes(texture)};
    } else {
      resource.resType = CU_RESOURCE_TYPE_PITCH2D;
      resource.res.pitch2D = {texture.memory, format_of(texture), texture.channels,
                              texture.width,  texture.height,     texture.row_bytes};
    }
    const bool surface = texture.use == KL_SURFACE;
    std::vector<uint64_t> fillers;  // Until the driver's count has come to the recorded handle.
    KERNELIFT_ASSIGN(uint64_t handle, object_of(texture, resource));
    while (recorded < kMostHandles && handle < recorded) {
      fillers.push_back(handle);
      auto next = object_of(texture, resource);
      if (!next.ok()) break;
      handle = *next;
    }
    for (uint64_t filler : fillers) drop(filler, surface);
    objects_.push_back({recorded, handle, surface});
    if (recorded < kMostHandles && handle != recorded)
      return environment_error("the driver does not give the handle " + std::to_string(recorded) +
                               " that a texture or surface object had");
  }
  made_ = wanted;
  return done();
}

Result<CUarray> TextureObjects::array_of(const kl_texture& texture) {
  for (auto& known : arrays_)
    if (known.shape.memory == texture.memory) {
      known.written |= texture.use == KL_SURFACE;
      return known.handle;
    }
  CUDA_ARRAY3D_DESCRIPTOR wanted{};
  wanted.Width = texture.width, wanted.Height = texture.height, wanted.Depth = texture.depth;
  wanted.Format = format_of(texture), wanted.NumChannels = texture.channels, wanted.Flags = texture.array_flags;
  Array array{texture, nullptr, texture.use == KL_SURFACE};
  if (CUresult result = driver_.cuArray3DCreate(&array.handle, &wanted))
    return refuses(driver_, "an array as the application had it", result);
  arrays_.push_back(array);
  return array.handle;
}

Result<uint64_t> TextureObjects::object_of(const kl_texture& texture, const CUDA_RESOURCE_DESC& resource) const {
  unsigned long long handle = 0;
  if (texture.use == KL_SURFACE) {
    if (CUresult result = driver_.cuSurfObjectCreate(&handle, &resource))
      return refuses(driver_, "a surface object", result);
    return uint64_t(handle);
  }
  CUDA_TEXTURE_DESC how{};
  for (int i = 0; i < 3; ++i) how.addressMode[i] = static_cast<CUaddress_mode>(texture.address[i]);
  how.filterMode = texture.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  const bool integers = texture.format != KL_TEXEL_FLOAT && !texture.as_float;
  how.flags = (integers ? CU_TRSF_READ_AS_INTEGER : 0) | (texture.normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0);
  std::memcpy(how.borderColor, texture.border, sizeof how.borderColor);
  if (CUresult result = driver_.cuTexObjectCreate(&handle, &resource, &how, nullptr))
    return refuses(driver_, "a texture object", result);
  return uint64_t(handle);
}

CUresult TextureObjects::copy(const Array& array, bool in, CUstream stream) const {
  const kl_texture& shape = array.shape;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = in ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_ARRAY;
  copy.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
  const size_t rows = std::max(shape.height, 1u);
  if (in) {
    copy.srcDevice = shape.memory, copy.srcPitch = shape.row_bytes, copy.srcHeight = rows;
    copy.dstArray = array.handle;
  } else {
    copy.dstDevice = shape.memory, copy.dstPitch = shape.row_bytes, copy.dstHeight = rows;
    copy.srcArray = array.handle;
  }
  copy.WidthInBytes = shape.width * texel_bytes(shape), copy.Height = rows, copy.Depth = std::max(shape.depth, 1u);
  return driver_.cuMemcpy3DAsync(&copy, stream);
}

CUresult TextureObjects::upload(CUstream stream) const {
  for (auto& array : arrays_)
    if (CUresult result = copy(array, true, stream)) return result;
  return CUDA_SUCCESS;
}
CUresult TextureObjects::download(CUstream stream) const {
  for (auto& array : arrays_)
    if (CUresult result = array.written ? copy(array, false, stream) : CUDA_SUCCESS) return result;
  return CUDA_SUCCESS;
}

void TextureObjects::rewrite(std::span<std::byte> arguments) const {
  for (auto& object : objects_)
    for (size_t at = 0; object.handle != object.recorded && at + sizeof(uint64_t) <= arguments.size();
         at += sizeof(uint64_t))
      if (word_at(arguments, at) == object.recorded) std::memcpy(&arguments[at], &object.handle, sizeof object.handle);
}

bool TextureObjects::writes() const { return std::ranges::any_of(arrays_, &Array::written); }

void TextureObjects::drop(uint64_t handle, bool surface) const {
  if (surface) driver_.cuSurfObjectDestroy(handle);
  else driver_.cuTexObjectDestroy(handle);
}

void TextureObjects::forget() {
  for (auto& object : objects_) drop(object.handle, object.surface);
  for (auto& array : arrays_) driver_.cuArrayDestroy(array.handle);
  objects_.clear(), arrays_.clear(), made_.clear();
}

}  // namespace kernelift::sandbox
