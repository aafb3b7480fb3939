// See cuda_libraries.h. Only file names are examined: a library of the wrong version, once loaded, would stay in this
// process.
#include "core/toolchain/cuda_libraries.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

std::vector<fs::path> split_folders(const char* list) {
  std::vector<fs::path> folders;
  std::istringstream words(list ? list : "");
  for (std::string word; std::getline(words, word, ':');)
    if (!word.empty()) folders.emplace_back(word);
  return folders;
}

void add(std::vector<fs::path>& to, const fs::path& folder) {
  std::error_code code;
  fs::path real = fs::canonical(folder, code);
  if (!code && fs::is_directory(real, code) && std::find(to.begin(), to.end(), real) == to.end()) to.push_back(real);
}

/// Toolkits for cross-compilation hold libraries for several machines.
#if defined(__aarch64__)
constexpr const char *kTarget = "targets/sbsa-linux/lib", *kSystem = "/usr/lib/aarch64-linux-gnu";
#else
constexpr const char *kTarget = "targets/x86_64-linux/lib", *kSystem = "/usr/lib/x86_64-linux-gnu";
#endif

void add_toolkit(std::vector<fs::path>& to, const fs::path& root) {
  for (const char* part : {"lib64", kTarget, "extras/CUPTI/lib64", "lib"}) add(to, root / part);
}

/// /usr/local/cuda first, then the versioned ones, newest first ("cuda-13.0" before "cuda-9.2").
std::vector<fs::path> installed_toolkits() {
  std::vector<fs::path> found;
  for (auto& path : paths_in("/usr/local"))
    if (path.filename().string().starts_with("cuda")) found.push_back(path);
  auto version = [](const fs::path& path) {
    std::string name = path.filename();
    size_t dash = name.find('-');
    return dash == std::string::npos ? 1e9 : std::atof(name.c_str() + dash + 1);
  };
  std::sort(found.begin(), found.end(), [&](auto& a, auto& b) { return version(a) > version(b); });
  return found;
}

/// lib/python3.x/{site,dist}-packages/nvidia/{cu13,cuda_cupti,nvjitlink}/lib
void add_wheels(std::vector<fs::path>& to) {
  std::vector<fs::path> roots;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* root = std::getenv(name)) roots.emplace_back(root);
  for (auto& folder : split_folders(std::getenv("PATH"))) {
    std::error_code code;
    if (fs::exists(folder / "python3", code)) roots.push_back(folder.parent_path());
  }
  if (const char* home = std::getenv("HOME")) roots.push_back(fs::path(home) / ".local");
  roots.insert(roots.end(), {"/usr/local", "/usr"});
  for (auto& root : roots)
    for (auto& python : paths_in(root / "lib")) {
      if (!python.filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (auto& wheel : paths_in(python / packages / "nvidia")) add(to, wheel / "lib");
    }
}

bool is_version(const std::string& file, const std::string& stem, int major) {
  return file == stem + "." + std::to_string(major) || file.starts_with(stem + "." + std::to_string(major) + ".");
}

}  // namespace

CudaLibraryFolders cuda_library_folders(const std::vector<fs::path>& roots) {
  CudaLibraryFolders folders;
  for (const char* list : {"KERNELIFT_CUDA_LIBRARIES", "LD_LIBRARY_PATH"})
    for (auto& folder : split_folders(std::getenv(list))) add(folders.named, folder);
  for (auto& root : roots) add_toolkit(folders.toolkits, root);
  // A conda environment has the layout of a toolkit.
  for (const char* name : {"CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"})
    if (const char* root = std::getenv(name)) add_toolkit(folders.toolkits, root);
  for (auto& folder : split_folders(std::getenv("PATH"))) {
    std::error_code code;
    fs::path nvcc = fs::canonical(folder / "nvcc", code);
    if (!code) add_toolkit(folders.toolkits, nvcc.parent_path().parent_path());
  }
  for (auto& toolkit : installed_toolkits()) add_toolkit(folders.toolkits, toolkit);
  add_wheels(folders.wheels);
  for (const char* folder : {kSystem, "/usr/lib64", "/usr/lib"}) add(folders.system, folder);
  return folders;
}

Result<fs::path> find_cuda_library(const std::string& stem, int major) {
  auto groups = cuda_library_folders();
  std::vector<fs::path> folders;
  for (auto* group : {&groups.named, &groups.toolkits, &groups.system, &groups.wheels})
    folders.insert(folders.end(), group->begin(), group->end());
  for (auto& folder : folders) {
    std::error_code code;
    // Of "libX.so.13" and "libX.so.13.0.85" the first in order is the shorter one, the soname.
    for (auto& path : paths_in(folder))
      if (is_version(path.filename(), stem, major) && fs::exists(path, code)) return path;
  }
  std::string where;
  for (auto& folder : folders) where += (where.empty() ? "" : ", ") + folder.string();
  std::string wheel = stem.starts_with("libcupti") ? "nvidia-cuda-cupti" : "nvidia-nvjitlink";
  return environment_error("no " + stem + "." + std::to_string(major) + " in " +
                           (where.empty() ? "any usual place" : where) + "; install the CUDA toolkit " +
                           std::to_string(major) + ", or: pip install " + wheel +
                           ", or name its folder in KERNELIFT_CUDA_LIBRARIES");
}

}  // namespace kernelift
