// Where this machine has NVIDIA's CUPTI, which the recorder opens in the application: in a toolkit, beside the compiler
// (pip's and conda's packages bring it too), or wherever the loader finds it.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

namespace kernelift {

/// Is there a driver that could run a kernel? Only asked whether it can be opened; nothing is initialised.
bool has_nvidia_driver();
/// CUDA's version as the driver speaks it, 13000 for 13.0; 0 without a driver.
int driver_cuda_version();

/// The newest library that is no newer than the driver (`cuda_version`; 0: any), looked for in `$KERNELIFT_CUPTI` (a
/// file or a folder) first, then in `roots` (toolkits), then in the usual places.
std::optional<std::filesystem::path> find_cupti(const std::vector<std::filesystem::path>& roots, int cuda_version);

/// "…/libcupti.so.12" -> 12; "libcupti.so.2025.3.0" -> 13 by its year; 0 when it is not CUPTI's name.
int cupti_major(const std::filesystem::path& file);

}  // namespace kernelift
