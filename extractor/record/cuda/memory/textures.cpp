// See textures.h.
#include "extractor/record/cuda/memory/textures.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/bytes.h"

namespace kernelift::record {
namespace {

constexpr uint64_t kMostHandles = 1 << 20;  ///< The hardware has room for so many objects.

Error cannot(const std::string& what) {
  return refused("it reads or writes a texture or surface over " + what + ", which is not captured");
}

/// Channels and their type; false: another format than signed, unsigned and float numbers.
bool read_format(CUarray_format format, unsigned channels, kl_texture& into) {
  static const struct {
    CUarray_format format;
    unsigned char type, bits;
  } kFormats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, KL_TEXEL_UNSIGNED, 8},
                  {CU_AD_FORMAT_UNSIGNED_INT16, KL_TEXEL_UNSIGNED, 16},
                  {CU_AD_FORMAT_UNSIGNED_INT32, KL_TEXEL_UNSIGNED, 32},
                  {CU_AD_FORMAT_SIGNED_INT8, KL_TEXEL_SIGNED, 8},
                  {CU_AD_FORMAT_SIGNED_INT16, KL_TEXEL_SIGNED, 16},
                  {CU_AD_FORMAT_SIGNED_INT32, KL_TEXEL_SIGNED, 32},
                  {CU_AD_FORMAT_HALF, KL_TEXEL_FLOAT, 16},
                  {CU_AD_FORMAT_FLOAT, KL_TEXEL_FLOAT, 32}};
  auto found = std::ranges::find(kFormats, format, [](auto& one) { return one.format; });
  if (found == std::end(kFormats) || (channels != 1 && channels != 2 && channels != 4)) return false;
  into.format = found->type, into.bits = found->bits, into.channels = static_cast<unsigned char>(channels);
  return true;
}

}  // namespace

Result<std::vector<FoundTexture>> Textures::among(std::span<const std::byte> arguments,
                                                  std::span<const Parameter> parameters) {
  if (!driver_.cuTexObjectGetResourceDesc || !driver_.cuSurfObjectGetResourceDesc || !driver_.cuArray3DGetDescriptor ||
      !driver_.cuMemcpy3DAsync || !driver_.cuTexObjectGetTextureDesc)
    return refused("it reads or writes a texture or surface, and the driver cannot be asked which");
  std::vector<FoundTexture> found;
  for (size_t i = 0; i < parameters.size(); ++i)
    for (uint64_t at = 0; at + sizeof(uint64_t) <= parameters[i].size; at += sizeof(uint64_t)) {
      const uint64_t handle = word_at(arguments, parameters[i].offset + at);
      if (handle == 0 || handle >= kMostHandles ||
          std::ranges::any_of(found, [&](auto& one) { return one.handle == handle; }))
        continue;
      CUDA_RESOURCE_DESC resource{};
      const bool texture = driver_.cuTexObjectGetResourceDesc(&resource, handle) == CUDA_SUCCESS;
      if (!texture && driver_.cuSurfObjectGetResourceDesc(&resource, handle) != CUDA_SUCCESS) continue;
      KERNELIFT_ASSIGN(kl_texture object, object_of(handle, !texture, resource));
      found.push_back({handle, Origin::of_argument(i, at), object});
    }
  if (found.empty())
    return refused(
        "it reads or writes a texture or surface, and none of its arguments is the handle of one: handles that lie in "
        "memory are not followed");
  return found;
}

Result<kl_texture> Textures::object_of(uint64_t handle, bool surface, const CUDA_RESOURCE_DESC& resource) {
  kl_texture object{};
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      KERNELIFT_ASSIGN(object, array_of(resource.res.array.hArray));
      break;
    }
    case CU_RESOURCE_TYPE_LINEAR: {
      auto& linear = resource.res.linear;
      if (!read_format(linear.format, linear.numChannels, object)) return cannot("a packed or compressed format");
      object.resource = KL_RESOURCE_LINEAR, object.memory = linear.devPtr;
      object.width = static_cast<unsigned>(linear.sizeInBytes / texel_bytes(object));
      object.row_bytes = object.layer_bytes = linear.sizeInBytes;
      break;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      auto& rows = resource.res.pitch2D;
      if (!read_format(rows.format, rows.numChannels, object)) return cannot("a packed or compressed format");
      object.resource = KL_RESOURCE_PITCHED, object.memory = rows.devPtr;
      object.width = static_cast<unsigned>(rows.width), object.height = static_cast<unsigned>(rows.height);
      object.row_bytes = rows.pitchInBytes, object.layer_bytes = rows.pitchInBytes * rows.height;
      break;
    }
    default: return cannot("a mipmapped array");
  }
  object.use = surface ? KL_SURFACE : KL_TEXTURE;
  if (surface) return object;
  CUDA_RESOURCE_VIEW_DESC view{};
  if (driver_.cuTexObjectGetResourceViewDesc && driver_.cuTexObjectGetResourceViewDesc(&view, handle) == CUDA_SUCCESS &&
      view.format != CU_RES_VIEW_FORMAT_NONE)
    return cannot("a resource view");
  CUDA_TEXTURE_DESC how{};
  if (driver_.cuTexObjectGetTextureDesc(&how, handle) != CUDA_SUCCESS)
    return refused("it reads or writes a texture or surface, and the driver does not tell how");
  if (how.flags & CU_TRSF_SRGB) return cannot("sRGB colours");
  object.linear = object.resource != KL_RESOURCE_LINEAR && how.filterMode == CU_TR_FILTER_MODE_LINEAR;
  object.normalized = (how.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  object.as_float = object.format != KL_TEXEL_FLOAT && object.bits < 32 && !(how.flags & CU_TRSF_READ_AS_INTEGER);
  for (int i = 0; i < 3; ++i) object.address[i] = static_cast<unsigned char>(how.addressMode[i]);
  std::memcpy(object.border, how.borderColor, sizeof object.border);
  return object;
}

Result<kl_texture> Textures::array_of(CUarray handle) {
  CUDA_ARRAY3D_DESCRIPTOR told{};
  if (driver_.cuArray3DGetDescriptor(&told, handle) != CUDA_SUCCESS)
    return refused("it reads or writes a texture or surface, and the driver does not tell the size of its array");
  constexpr unsigned kKnown = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER;
  if (told.Flags & CUDA_ARRAY3D_CUBEMAP) return cannot("a cubemap");
  if (told.Flags & ~kKnown) return cannot("a sparse, deferred or depth array");
  kl_texture shape{};
  if (!read_format(told.Format, told.NumChannels, shape)) return cannot("a packed or compressed format");
  shape.resource = KL_RESOURCE_ARRAY;
  shape.layered = (told.Flags & CUDA_ARRAY3D_LAYERED) != 0, shape.array_flags = static_cast<unsigned char>(told.Flags);
  shape.width = static_cast<unsigned>(told.Width), shape.height = static_cast<unsigned>(told.Height);
  shape.depth = static_cast<unsigned>(told.Depth);
  shape.row_bytes = told.Width * texel_bytes(shape);
  shape.layer_bytes = shape.row_bytes * std::max<uint64_t>(told.Height, 1);
  for (auto& [place, array] : places_) {
    shape.memory = place;
    if (array.handle == handle && std::memcmp(&array.shape, &shape, sizeof shape) == 0) return shape;
  }
  constexpr uint64_t kGranule = 2 << 20;
  shape.memory = next_place_;
  next_place_ += (texture_span(shape) / kGranule + 2) * kGranule;
  places_[shape.memory] = {handle, shape};
  return shape;
}

bool Textures::holds(uint64_t address) const {
  auto after = places_.upper_bound(address);
  return after != places_.begin() && address - std::prev(after)->first < texture_span(std::prev(after)->second.shape);
}

CUresult Textures::copy(void* to, uint64_t address, uint64_t bytes, CUstream stream) const {
  const auto& [place, array] = *std::prev(places_.upper_bound(address));
  const kl_texture& shape = array.shape;
  const uint64_t rows = std::max(shape.height, 1u);
  auto* into = static_cast<std::byte*>(to);
  for (uint64_t at = address - place, end = at + bytes; at < end;) {
    // As many whole rows of a layer as there are, or a part of one row.
    const uint64_t row = at / shape.row_bytes, column = at % shape.row_bytes, left = end - at;
    const bool part = column > 0 || left < shape.row_bytes;
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY, copy.srcArray = array.handle;
    copy.srcXInBytes = column, copy.srcY = row % rows, copy.srcZ = row / rows;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = into, copy.dstPitch = shape.row_bytes;
    copy.WidthInBytes = part ? std::min<uint64_t>(left, shape.row_bytes - column) : shape.row_bytes;
    copy.Height = part ? 1 : std::min<uint64_t>(left / shape.row_bytes, rows - row % rows);
    copy.Depth = 1;
    if (CUresult result = driver_.cuMemcpy3DAsync(&copy, stream); result != CUDA_SUCCESS) return result;
    const uint64_t copied = copy.WidthInBytes * copy.Height;
    at += copied, into += copied;
  }
  return CUDA_SUCCESS;
}

}  // namespace kernelift::record
