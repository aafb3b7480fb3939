// The installed layout is bin/ beside lib/kernelift/; a build tree makes the same layout by links
// (cmake/KerneliftTargets). KERNELIFT_DATA names lib/kernelift outright, for programs that run us from elsewhere.
#include "core/compiler/paths.h"

#include <cstdlib>

#include "core/base/file.h"
#include "core/base/process.h"

namespace kernelift {
namespace fs = std::filesystem;

static fs::path data_folder() {
  if (const char* given = std::getenv("KERNELIFT_DATA"); given && *given) return given;
  return executable_folder().parent_path() / "lib" / "kernelift";
}

fs::path lean_headers() { return data_folder() / "headers"; }
fs::path clang_resource_folder() { return data_folder() / "clang"; }
fs::path runtime_library_folder() { return data_folder() / "runtime"; }
fs::path template_folder() { return data_folder() / "templates"; }

/// A folder counts as a toolkit if it has the runtime header and libdevice; the look-alike that `kernelift build` makes
/// for a build has neither of NVIDIA's, and says so by a marker file.
static bool is_toolkit(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "include" / "cuda_runtime.h", ignored) &&
         fs::exists(folder / "nvvm" / "libdevice" / "libdevice.10.bc", ignored) &&
         !fs::exists(folder / "kernelift-toolkit", ignored);
}

std::optional<fs::path> cuda_toolkit() {
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable); value && *value && is_toolkit(value)) return fs::path(value);
  if (auto nvcc = find_program("nvcc")) {
    std::error_code error;
    fs::path real = fs::canonical(*nvcc, error);
    if (!error && is_toolkit(real.parent_path().parent_path())) return real.parent_path().parent_path();
  }
  if (is_toolkit("/usr/local/cuda")) return fs::path("/usr/local/cuda");
  return std::nullopt;
}

std::optional<fs::path> cuda_cxx_libraries() {
  auto toolkit = cuda_toolkit();
  std::error_code ignored;
  if (!toolkit || !fs::exists(*toolkit / "include" / "cccl", ignored)) return std::nullopt;
  return *toolkit / "include" / "cccl";
}

}  // namespace kernelift
