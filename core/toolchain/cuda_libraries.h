// Finds NVIDIA's user-space libraries that do not come with the driver: CUPTI, nvJitLink. They come with a toolkit or
// with pip's nvidia-* wheels and are opened at run time. Needs no CUDA header.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// Existing folders that may hold such libraries.
struct CudaLibraryFolders {
  std::vector<std::filesystem::path> named;     ///< From $KERNELIFT_CUDA_LIBRARIES and $LD_LIBRARY_PATH.
  std::vector<std::filesystem::path> toolkits;  ///< Of `roots`, $CUDA_PATH, $CUDA_HOME, $CONDA_PREFIX, the nvcc on PATH
                                                ///< and /usr/local/cuda*.
  std::vector<std::filesystem::path> wheels;    ///< Of pip's wheels in the Python environments that a shell would use.
  std::vector<std::filesystem::path> system;    ///< The distribution's library folders.
};
/// `roots`: folders of toolkits that are searched before others.
CudaLibraryFolders cuda_library_folders(const std::vector<std::filesystem::path>& roots = {});

/// The file of the library with this stem ("libcupti.so", "libnvJitLink.so") and major version `major`, in the first
/// folder that holds one; the groups above are searched in the order named, toolkits, system, wheels. An Environment
/// error names the library, the folders that were searched, and how to get it.
Result<std::filesystem::path> find_cuda_library(const std::string& stem, int major);

}  // namespace kernelift
