// Candidates for a GPU under NVIDIA's compute-sanitizer, where it is installed: memcheck, racecheck and synccheck look
// at the machine code that is to be patched in, instructions among it that the CPU device's check mode does not know.
// A tool reports what a launch of the original does as well (threads that return before a barrier, warps that need no
// barrier); that is not held against a candidate.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/model/mep.h"
#include "sandbox/evaluate/cuda/sanitizer_log.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

class DeviceSanitizer {
 public:
  /// Runs one launch under a tool; its complete log, or an Error: why there is none.
  using Run = std::function<Result<SanitizerLog>(const std::string& tool, const RunnableCode& code)>;
  explicit DeviceSanitizer(Run run) : run_(std::move(run)) {}

  /// A right verdict with Verdict::sanitized, or as wrong. `original`: launched as recorded.
  Verdict judged(Verdict verdict, const RunnableCode& candidate, const RunnableCode& original);

 private:
  Result<SanitizerLog> of_original(const std::string& tool, const RunnableCode& original);
  Run run_;
  std::map<std::string, SanitizerLog> originals_;  ///< By tool. EXPECTS: one original.
};

/// The program, on PATH or in the CUDA toolkit; nullopt: it is not installed.
std::optional<std::filesystem::path> find_compute_sanitizer();
/// Launches in a process of this program's own on the MEP's recorded input that takes the least memory.
DeviceSanitizer::Run sanitized_launches(const std::filesystem::path& sanitizer, const Mep& mep,
                                        const std::filesystem::path& folder, int ordinal);

}  // namespace kernelift::sandbox
