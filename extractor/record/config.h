// What the recorder is asked to do. The verb cannot call into the user's process, so it says it by environment
// variables; writer and reader of them are side by side here.
//
//   KERNELIFT_RECORDER             path of libkernelift_record.so; the runtime loads it when this is set
//   KERNELIFT_RECORD_FOLDER        where each process writes a folder process-<pid>; without it nothing is recorded
//   KERNELIFT_RECORD_KERNEL        regular expression (ECMAScript, searched) on canonical and mangled names; empty: all
//   KERNELIFT_RECORD_INSTANCES     most instances kept per kernel
//   KERNELIFT_RECORD_SKIP          launches of each kernel that are let pass before the first is captured
//   KERNELIFT_RECORD_PROFILE_ONLY  1: count and time launches, capture nothing
//   KERNELIFT_RECORD_REGION        NVTX range whose launches alone are recorded; empty: all
//   KERNELIFT_RECORD_RANK          the process that takes images, by its rank or order; empty: process_rank.h
//   KERNELIFT_RECORD_ALL_MEMORY    1: images of all live memory, not only of what the kernel can be seen to reach
//   KERNELIFT_RECORD_BYTES         most bytes of memory in one instance; a larger one is left out by name
//   KERNELIFT_RECORD_PATIENCE      most seconds that the application is held up for a captured launch to end
//
// NVIDIA's driver and NVTX are told by variables of their own, CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH, which
// library to load; KERNELIFT_CUPTI names the CUPTI that it is to open.
#pragma once
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace kernelift::record {

struct RecordConfig {
  std::string folder;
  std::string kernel;
  std::string region;            ///< NvtxRanges::watch()
  std::optional<uint64_t> rank;  ///< for_this_process()
  uint64_t instances = 4;
  uint64_t skip = 0;
  bool profile_only = false;
  bool all_memory = false;
  uint64_t instance_bytes = uint64_t(8) << 30;
  uint64_t patience_seconds = 30;  ///< How long the application may be held up for a captured launch to end.

  /// nullopt when the environment does not ask for a recording.
  static std::optional<RecordConfig> from_environment();
  std::vector<std::pair<std::string, std::string>> to_environment(const std::string& library) const;
};

/// Of --kernel: the library's other way to match needs stack by the length of a name, which may be 50 KB, and matching
/// is done on the application's threads.
inline constexpr auto kPatternSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

/// Which kernels are to be captured, by canonical or mangled name.
class KernelPattern {
 public:
  explicit KernelPattern(const RecordConfig& config);
  bool wants(const std::string& key, const std::string& mangled) const;
  bool broken() const { return broken_; }  ///< No regular expression; the verb has checked it, others may not have.
  bool wants_nothing() const { return nothing_; }

 private:
  std::optional<std::regex> pattern_;
  bool nothing_ = false, broken_ = false;
};

}  // namespace kernelift::record
