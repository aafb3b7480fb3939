// Where NVIDIA's user-space libraries lie that are not the driver's: CUPTI, nvJitLink. They come with a toolkit or with
// pip's nvidia-* wheels and are opened at run time; this says which file to open. Needs no CUDA header.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// The newest library of this stem ("libcupti.so", "libnvJitLink.so") with major version `major`, looked for in this order:
/// $KERNELIFT_CUDA_LIBRARIES (folders, ':' between), what the dynamic linker finds, the toolkit of $CUDA_PATH and
/// $CUDA_HOME, the one whose nvcc is on the PATH, /usr/local/cuda*, pip wheels of the active Python environment. An
/// Environment error names the library, where it was looked for, and how to get it.
Result<std::filesystem::path> find_cuda_library(const std::string& stem, int major);

/// The folders that are searched, in order; those that do not exist are left out.
std::vector<std::filesystem::path> cuda_library_folders();

}  // namespace kernelift
