// The blob that our compiler wrappers embed in an application in place of a fatbin: device bitcode and lowered images,
// side by side. clang passes it to __cudaRegisterFatBinary (-fcuda-include-gpubinary); the CPU device's CUDA runtime
// library reads it.
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
  std::string flags;  ///< The front end's flags, separated by newlines, so that tuning can repeat them.
  std::span<const char> bytes;
};

std::vector<char> write_fat_blob(const std::vector<FatEntry>& entries);
/// Entries point into `blob`; every offset is checked.
Result<std::vector<FatEntry>> read_fat_blob(std::span<const char> blob);
/// The number of bytes to pass to read_fat_blob(), because only a pointer is registered at run time: the blob's length
/// from its head. If the head is damaged or of another version, only the head's length, so that no byte after it is
/// read and read_fat_blob() reports what is wrong. 0 if it is not a blob. EXPECTS: kFatBlobHeadBytes at `head`.
uint64_t fat_blob_size(const void* head);

}  // namespace kernelift
