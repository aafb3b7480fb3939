// Texture and surface objects as captures and MEPs hold them: a region of kind Texture is a kl_texture.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/model/texture_object.h"

namespace kernelift {

/// nullopt unless the bytes describe a texture or surface that can exist: sizes, formats and modes that are known.
std::optional<kl_texture> read_texture(std::span<const std::byte> bytes);
/// "float4", "unsigned char", "__half": the type of a texel, or of its channels.
std::string texel_type(const kl_texture& texture);
inline uint64_t texel_bytes(const kl_texture& texture) { return uint64_t(texture.channels) * texture.bits / 8; }
/// From the first texel to the end of the last.
uint64_t texture_span(const kl_texture& texture);
/// "a texture over an array of 64 x 32 float4, linear filter": for people.
std::string texture_text(const kl_texture& texture);

}  // namespace kernelift
