// What our compiler shims embed in an application in a fatbin's place: device bitcode and lowered images, side by side.
// clang puts it behind __cudaRegisterFatBinary by -fcuda-include-gpubinary; the CUDA runtime library reads it back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

inline constexpr uint64_t kFatBlobMagic = 0x31424f4c4254464bull;  // "KFTBLOB1"

struct FatEntry {
  enum class Kind : uint32_t { Bitcode = 1, CpuImage = 2, RelocatableBitcode = 3 } kind = Kind::Bitcode;
  std::string name;                 ///< The source file, for errors and the recorder.
  std::string flags;                ///< The front-end flags, newline separated, so that tuning can repeat them.
  std::span<const char> bytes;
};

std::vector<char> write_fat_blob(const std::vector<FatEntry>& entries);
/// Entries point into `blob`; every offset is checked.
Result<std::vector<FatEntry>> read_fat_blob(std::span<const char> blob);
/// The blob's own length, from its head: what is registered at run time is a bare pointer. 0 if it is no blob.
uint64_t fat_blob_size(const void* head);

}  // namespace kernelift
