// What the fuzz targets share: damage to an artefact that is sound, and a property that must hold.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace kernelift::fuzz {

/// Ends the process, which the fuzzer reports with the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// `sound` with the damage that `data` describes: each four bytes are a place (two bytes, scaled to the length), an
/// action and a value. Most artefacts have checksums or a header; damage reaches the code behind these more often than
/// a text that is made up.
inline std::string damaged(std::string sound, std::string_view data) {
  for (; data.size() >= 4 && !sound.empty(); data.remove_prefix(4)) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(data[i]); };
    size_t at = (size_t(byte(0)) << 8 | byte(1)) * sound.size() >> 16;
    switch (byte(2) % 4) {
      case 0: sound[at] = static_cast<char>(byte(3)); break;
      case 1: sound[at] = static_cast<char>(sound[at] ^ (1 << byte(3) % 8)); break;
      case 2: sound.erase(at, byte(3)); break;
      case 3: sound.insert(at, sound.substr(at, byte(3))); break;
    }
  }
  return sound;
}

/// Reads and writes files without fsync, which would slow the fuzzer down.
inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void put(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc).write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace kernelift::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
