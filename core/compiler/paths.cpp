// The installed layout is bin/ beside lib/kernelift/; a build tree has the same layout made of links
// (cmake/KerneliftTargets). KERNELIFT_DATA names lib/kernelift explicitly, for executables in other folders.
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
fs::path shipped_patterns() { return data_folder() / "patterns" / "patterns.json"; }

/// A folder is a toolkit if it has the runtime's header and libdevice and lacks the marker file of the look-alike that
/// `kernelift build` makes, which has neither of NVIDIA's.
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
