// A table of texts in compilers' messages; each feature is explained once. Features that Kernelift itself finds (inline
// PTX, intrinsics, textures through our header) are refused by name where they are found.
#include "core/compiler/wrappers/unsupported.h"

#include <set>
#include <string_view>

namespace kernelift::wrappers {

namespace {

struct Feature {
  std::string_view contains, also;  ///< Texts that the line contains.
  std::string_view name, instead;   ///< The feature's name, and what to do instead.
};

constexpr std::string_view kMissing = "file not found",
                           kOnGpu = "build and record this program on a machine with its GPU";
constexpr std::string_view kAmd =
    "HIP programs run on the CPU device alone; where the program has a CUDA form, record that on a machine with an "
    "NVIDIA GPU";
constexpr std::string_view kFromToolkit = "with the CUDA toolkit's headers it is: apt-get install cuda-toolkit-13-0";
constexpr std::string_view kUndeclared = "undeclared identifier",
                           kLaunchOnDevice = "a launch from device code (dynamic parallelism)";
constexpr std::string_view kDriver = "the driver API (cu…)", kByRuntime = "call the runtime API and launch with <<<>>>";
constexpr Feature kFeatures[] = {
    {"'cub/", kMissing, "the library cub", kFromToolkit},
    {"'thrust/", kMissing, "the library thrust", kFromToolkit},
    {"'cuda/", kMissing, "CUDA's C++ library libcu++", kFromToolkit},
    {"'nv/", kMissing, "CUDA's C++ library libcu++", kFromToolkit},
    {"'mma.h'", kMissing, "the interface of tensor cores (wmma)", kOnGpu},
    {"'cuda_fp8.h", kMissing, "a number of 8 bits (cuda_fp8.h)", kOnGpu},
    {"'cuda_fp6.h", kMissing, "a number of 6 bits (cuda_fp6.h)", kOnGpu},
    {"'cuda_fp4.h", kMissing, "a number of 4 bits (cuda_fp4.h)", kOnGpu},
    {"'cuda_awbarrier", kMissing, "an asynchronous barrier (cuda_awbarrier.h)", kOnGpu},
    {"'cuda_gl_interop.h", kMissing, "OpenGL", kOnGpu},
    {"'curand", kMissing, "the host interface of the library cuRAND",
     "generate numbers in kernels (curand_kernel.h), or build and record this program on a machine with its GPU"},
    {"'cublas", kMissing, "the library cuBLAS", kOnGpu},
    {"'cusparse", kMissing, "the library cuSPARSE", kOnGpu},
    {"'cusolver", kMissing, "the library cuSOLVER", kOnGpu},
    {"'cufft", kMissing, "the library cuFFT", kOnGpu},
    {"'cudnn", kMissing, "the library cuDNN", kOnGpu},
    {"'nccl", kMissing, "the library NCCL", kOnGpu},
    {"'npp", kMissing, "the library NPP", kOnGpu},
    {"'nvjpeg", kMissing, "the library nvJPEG", kOnGpu},
    {"'nvml", kMissing, "the library NVML", kOnGpu},
    {"'cupti", kMissing, "the library CUPTI", kOnGpu},
    {"'optix", kMissing, "ray tracing (OptiX)", kOnGpu},
    {"'cute/", kMissing, "the library CUTLASS's tensor-core code", kOnGpu},
    {"'nvrtc", kMissing, "compilation at run time (NVRTC)", kOnGpu},
    {"'cutlass/", kMissing, "the library CUTLASS's tensor-core code", kOnGpu},
    {"'hipcub/", kMissing, "the library hipCUB", kAmd},
    {"'rocprim/", kMissing, "the library rocPRIM", kAmd},
    {"'hiprand", kMissing, "the library hipRAND", kAmd},
    {"'rocrand", kMissing, "the library rocRAND", kAmd},
    {"'rocblas", kMissing, "the library rocBLAS", kAmd},
    {"'hipblas", kMissing, "the library hipBLAS", kAmd},
    {"'hipsparse", kMissing, "the library hipSPARSE", kAmd},
    {"'hipfft", kMissing, "the library hipFFT", kAmd},
    {"'hip/hip_fp8.h", kMissing, "a number of 8 bits (hip_fp8.h)", kAmd},
    {"kernel launch from __device__ or __global__ function", "error", kLaunchOnDevice, "launch from host code"},
    {"cudaLaunchDevice", kUndeclared, kLaunchOnDevice, "launch from host code"},
    {"'cuInit'", kUndeclared, kDriver, kByRuntime},
    {"'cuDevice", kUndeclared, kDriver, kByRuntime},
    {"'cuCtx", kUndeclared, kDriver, kByRuntime},
    {"'cuMem", kUndeclared, kDriver, kByRuntime},
    {"'cuStream", kUndeclared, kDriver, kByRuntime},
    {"'cuModule", kUndeclared, kDriver, kByRuntime},
    {"'cuLaunch", kUndeclared, kDriver, kByRuntime},
    {"'hipModule", "", "a module loaded at run time (hipModule…)", kByRuntime},
    {"'hipCtx", "", "a context of one's own (hipCtx…)", "leave the contexts to the runtime: hipSetDevice"},
    {"'__builtin_amdgcn_", kUndeclared, "this builtin of AMD's compiler", "use HIP's functions"},
    {"'texture'", "no template named", "a texture reference (CUDA 12 removed them)", "read global memory"},
    {"'surface'", "no template named", "a surface reference (CUDA 12 removed them)", "write global memory"},
    {"'this_cluster'", "no member named", "a thread block cluster", kOnGpu},
    {"'cluster_group'", "no type named", "a thread block cluster", kOnGpu},
};

/// "file.cu:3:10" of "file.cu:3:10: fatal error: …".
std::string_view position_of(std::string_view line) {
  for (std::string_view mark : {": fatal error: ", ": error: "})
    if (size_t at = line.find(mark); at != line.npos) return line.substr(0, at);
  return {};
}

}  // namespace

std::string name_unsupported(const std::string& diagnostics) {
  std::string text;
  std::set<std::string_view> named;
  for (size_t begin = 0; begin < diagnostics.size();) {
    const size_t end = std::min(diagnostics.find('\n', begin), diagnostics.size());
    const std::string_view line = std::string_view(diagnostics).substr(begin, end - begin);
    begin = end + 1;
    const std::string_view position = position_of(line);
    if (position.empty()) continue;
    for (const Feature& feature : kFeatures) {
      if (line.find(feature.contains) == line.npos || line.find(feature.also) == line.npos) continue;
      if (!named.insert(feature.name).second) continue;
      text += std::string(position) + ": error: " + std::string(feature.name) +
              " is not supported by Kernelift's CPU device; " + std::string(feature.instead) + "\n";
    }
  }
  return text;
}

std::string name_unsupported_libraries(const std::vector<std::string>& link_flags) {
  std::string text;
  for (const std::string& flag : link_flags)
    for (const Feature& feature : kFeatures)
      if (feature.also == kMissing && !feature.contains.ends_with('/') &&
          flag.starts_with("-l" + std::string(feature.contains.substr(1)))) {
        text += flag + ": " + std::string(feature.name) + " is not supported by Kernelift's CPU device; " +
                std::string(feature.instead) + "\n";
        break;
      }
  return text;
}

}  // namespace kernelift::wrappers
