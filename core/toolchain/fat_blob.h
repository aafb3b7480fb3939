// What our compiler wrappers embed in an application in a fatbin's place: device bitcode and lowered images, side by
// side. clang puts it behind __cudaRegisterFatBinary by -fcuda-include-gpubinary; the CUDA runtime library reads it
// back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

inline constexpr uint64_t kFatBlobMagic = 0x31424f4c4254464bull;  // "KFTBLOB1"
inline constexpr size_t kFatBlobHeadBytes = 32;

struct FatEntry {
  enum class Kind : uint32_t { Bitcode = 1, CpuImage = 2, RelocatableBitcode = 3 } kind = Kind::Bitcode;
  std::string name;   ///< The source file, for errors and the recorder.
  std::string flags;  ///< The front-end flags, newline separated, so that tuning can repeat them.
  std::span<const char> bytes;
};

std::vector<char> write_fat_blob(const std::vector<FatEntry>& entries);
/// Entries point into `blob`; every offset is checked.
Result<std::vector<FatEntry>> read_fat_blob(std::span<const char> blob);
/// How many bytes to hand to read_fat_blob(): what is registered at run time is a bare pointer. The blob's length, from
/// its head; of a head that is damaged or of another version no more than itself, so that nothing behind it is touched
/// and the reader says what is wrong. 0 if it is no blob. EXPECTS: kFatBlobHeadBytes at `head`.
uint64_t fat_blob_size(const void* head);

}  // namespace kernelift
