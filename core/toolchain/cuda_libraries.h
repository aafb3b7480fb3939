// Where NVIDIA's user-space libraries lie that are not the driver's: CUPTI, nvJitLink. They come with a toolkit or with
// pip's nvidia-* wheels and are opened at run time; this says which file to open. Needs no CUDA header.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// Where such libraries lie, by what put them there. Folders that do not exist are left out.
struct CudaLibraryFolders {
  std::vector<std::filesystem::path>
      named;  ///< $KERNELIFT_CUDA_LIBRARIES and what the dynamic linker is told to look in.
  std::vector<std::filesystem::path>
      toolkits;  ///< `roots`, $CUDA_PATH, $CUDA_HOME, the nvcc on the PATH, /usr/local/cuda*.
  std::vector<std::filesystem::path> wheels;  ///< pip's and conda's, of the Python environments that a shell would use.
  std::vector<std::filesystem::path> system;  ///< The distribution's own.
};
CudaLibraryFolders cuda_library_folders(const std::vector<std::filesystem::path>& roots = {});

/// The newest library of this stem ("libcupti.so", "libnvJitLink.so") with major version `major`, looked for in the
/// groups above in the order named, toolkits, system, wheels. An Environment error names the library, where it was
/// looked for, and how to get it.
Result<std::filesystem::path> find_cuda_library(const std::string& stem, int major);

}  // namespace kernelift
