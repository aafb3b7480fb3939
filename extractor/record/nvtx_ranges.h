// The ranges that the application marks by NVTX, as far as the recording is for one of them (--region). NVTX itself has
// no code: the headers of version 3, and the library of version 2, load the library that NVTX_INJECTION64_PATH names
// and hand their calls to it; both recorders are such libraries.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kernelift::record {

/// All ranges of this process. Nothing here throws; where memory is short a range is not seen.
class NvtxRanges {
 public:
  /// "NAME" is a range of that name in any domain, "NAME@DOMAIN" one of that domain. The first call counts.
  static void watch(const std::string& region) noexcept;
  static bool watching() noexcept;
  /// Number of the occurrence of the range that this thread is in now, from 1 on; 0: in none. Ranges that are pushed
  /// belong to their thread, ranges that are started to all of the process.
  static uint64_t occurrence() noexcept;
  static std::string title() noexcept;  ///< "the NVTX range 'step'"
  /// That nothing was launched in the range, and which others there are.
  static std::string missed() noexcept;

  /// What NVTX calls. `domain`: as made by new_domain(), null for the default one. `name` may be null.
  static void push(const void* domain, const char* name) noexcept;
  static void pop(const void* domain) noexcept;
  static uint64_t start(const void* domain, const char* name) noexcept;
  static void end(uint64_t id) noexcept;
  static void* new_domain(const char* name) noexcept;
};

}  // namespace kernelift::record
