// XXH3-128 from libxxhash behind our Hash; see hash.h.
#include "core/base/hash.h"

#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kernelift {

std::string Hash::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

std::optional<Hash> Hash::from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  uint64_t words[2] = {0, 0};
  for (size_t i = 0; i < 32; ++i) {
    char c = text[i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    words[i / 16] = words[i / 16] << 4 | static_cast<uint64_t>(digit);
  }
  return Hash{words[0], words[1]};
}

Hash hash_bytes(std::span<const std::byte> bytes) {
  XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

Hash hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text.data(), text.size()))); }

Hasher& Hasher::add(std::string_view field) {
  add(static_cast<uint64_t>(field.size()));
  buffer_.append(field);
  return *this;
}

Hasher& Hasher::add(uint64_t field) {
  char bytes[sizeof field];
  std::memcpy(bytes, &field, sizeof field);
  buffer_.append(bytes, sizeof bytes);
  return *this;
}

}  // namespace kernelift
