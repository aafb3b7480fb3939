// Bytes as arguments and memory hold them, and addresses as text. Little-endian, as every supported host and GPU is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

namespace kernelift {

/// The eight bytes at `at`. EXPECTS: they lie in `bytes`.
inline uint64_t word_at(std::span<const std::byte> bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

/// "0x7f12a0".
inline std::string address_text(uint64_t address) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace kernelift
