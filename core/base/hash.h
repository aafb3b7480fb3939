// Content hashes: 128-bit XXH3, printed as 32 hex digits. They name blobs, sources and candidates; they are
// not meant to withstand an attacker.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kernelift {

struct Hash {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Hash&) const = default;
  std::string hex() const;                                ///< 32 lower-case hex digits, high word first.
  static std::optional<Hash> from_hex(std::string_view);  ///< nullopt unless exactly 32 hex digits.
};

Hash hash_bytes(std::span<const std::byte> bytes);
Hash hash_text(std::string_view text);

/// Hashes a sequence of fields so that ("ab","c") and ("a","bc") differ.
class Hasher {
 public:
  Hasher& add(std::string_view field);
  Hasher& add(uint64_t field);
  Hash finish() const { return hash_text(buffer_); }

 private:
  std::string buffer_;
};

}  // namespace kernelift
