// See texture.h.
#include "core/model/texture.h"

#include <algorithm>
#include <cstring>

namespace kernelift {

static_assert(sizeof(kl_texture) == 72, "captures hold it as it is");

std::optional<kl_texture> read_texture(std::span<const std::byte> bytes) {
  kl_texture t;
  if (bytes.size() != sizeof t) return std::nullopt;
  std::memcpy(&t, bytes.data(), sizeof t);
  const bool known_use = t.use == KL_TEXTURE || t.use == KL_SURFACE;
  const bool known_resource =
      t.resource == KL_RESOURCE_ARRAY || t.resource == KL_RESOURCE_LINEAR || t.resource == KL_RESOURCE_PITCHED;
  const bool known_format = (t.bits == 8 || t.bits == 16 || t.bits == 32) &&
                            (t.channels == 1 || t.channels == 2 || t.channels == 4) && t.format <= KL_TEXEL_FLOAT &&
                            !(t.format == KL_TEXEL_FLOAT && t.bits == 8);
  const bool known_modes = std::ranges::all_of(t.address, [](unsigned mode) { return mode <= KL_ADDRESS_BORDER; }) &&
                           t.linear <= 1 && t.as_float <= 1 && t.normalized <= 1 && t.layered <= 1;
  // Sizes whose products fit, rows that hold their texels, layers that hold their rows.
  constexpr uint64_t kMost = uint64_t(1) << 40;
  const uint64_t rows = std::max(t.height, 1u), layers = std::max(t.depth, 1u);
  const bool sound = t.width > 0 && t.row_bytes < kMost && t.layer_bytes < kMost &&
                     t.row_bytes >= t.width * texel_bytes(t) && t.row_bytes <= kMost / rows &&
                     t.layer_bytes >= t.row_bytes * (rows - 1) && t.layer_bytes <= kMost / layers;
  if (!known_use || !known_resource || !known_format || !known_modes || !sound) return std::nullopt;
  return t;
}

std::string texel_type(const kl_texture& texture) {
  if (texture.format == KL_TEXEL_FLOAT && texture.bits == 16) return "__half";
  std::string name = texture.format == KL_TEXEL_FLOAT ? "float"
                     : texture.bits == 8              ? "char"
                     : texture.bits == 16             ? "short"
                                                      : "int";
  if (texture.format == KL_TEXEL_UNSIGNED) name = "u" + name;
  const bool plain = texture.channels == 1;
  if (plain && name[0] == 'u') return "unsigned " + name.substr(1);
  return plain ? name : name + std::to_string(texture.channels);
}

uint64_t texture_span(const kl_texture& texture) {
  const uint64_t rows = std::max(texture.height, 1u), layers = std::max(texture.depth, 1u);
  return (layers - 1) * texture.layer_bytes + (rows - 1) * texture.row_bytes + texture.width * texel_bytes(texture);
}

std::string texture_text(const kl_texture& texture) {
  std::string text = texture.use == KL_SURFACE ? "a surface" : "a texture";
  text += texture.resource == KL_RESOURCE_ARRAY    ? " over an array of "
          : texture.resource == KL_RESOURCE_LINEAR ? " over linear memory of "
                                                   : " over pitched memory of ";
  text += std::to_string(texture.width);
  if (texture.height) text += " x " + std::to_string(texture.height);
  if (texture.depth) text += (texture.layered ? " in layers: " : " x ") + std::to_string(texture.depth);
  text += " " + texel_type(texture);
  if (texture.use == KL_SURFACE) return text;
  text += texture.linear ? ", linear filter" : ", nearest texel";
  if (texture.as_float) text += ", read as fractions";
  if (texture.normalized) text += ", coordinates from 0 to 1";
  return text;
}

}  // namespace kernelift
