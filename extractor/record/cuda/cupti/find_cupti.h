// Which CUPTI the recorder is to open in the application. The places are core/toolchain/cuda_libraries'; the choice is
// made here, since CUPTI, unlike other libraries, may be of any version that the driver knows: the newest one of the
// first kind of place that has one.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kernelift::record {

/// Is there a driver that could run a kernel? Only asked whether it can be opened; nothing is initialised.
bool has_nvidia_driver();
inline constexpr const char* kNoDriver =
    "no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver, or use --device cpu";
/// Whether a verb's --device is this machine's processor: it is by default where there is no driver.
inline bool is_processor(const std::string& device) {
  return device == "cpu" || (device == "auto" && !has_nvidia_driver());
}
/// CUDA's version as the driver speaks it, 13000 for 13.0; 0 without a driver.
int driver_cuda_version();

/// The newest library that is no newer than the driver (`cuda_version`; 0: any), looked for in `$KERNELIFT_CUPTI` (a
/// file or a folder) first, then among the folders that the user names for libraries, in toolkits (`roots` first), in
/// Python environments, in the system's folders.
std::optional<std::filesystem::path> find_cupti(const std::vector<std::filesystem::path>& roots, int cuda_version);

/// "…/libcupti.so.12" -> 12; "libcupti.so.2025.3.0" -> 13 by its year; 0 when it is not CUPTI's name.
int cupti_major(const std::filesystem::path& file);

}  // namespace kernelift::record
