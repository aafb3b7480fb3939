// See find_cupti.h.
#include "extractor/record/cuda/cupti/find_cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "core/base/process.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr std::string_view kStem = "libcupti.so";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

struct Best {
  std::optional<fs::path> path;
  int major = 0, most = 0;

  void look_at(const fs::path& file) {
    int found = cupti_major(file);
    if (found > major && (most == 0 || found <= most)) path = file, major = found;
  }
  void look_into(const fs::path& folder) {
    std::error_code code;
    for (auto& entry : fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, code))
      look_at(entry.path());
  }
  /// site-packages/nvidia/<package>/lib
  void look_into_packages(const fs::path& site) {
    std::error_code code;
    for (auto& entry : fs::directory_iterator(site / "nvidia", fs::directory_options::skip_permission_denied, code))
      look_into(entry.path() / "lib");
  }
  /// lib/python3.x/{site,dist}-packages of an installation's root.
  void look_into_python(const fs::path& prefix) {
    std::error_code code;
    for (auto& entry : fs::directory_iterator(prefix / "lib", fs::directory_options::skip_permission_denied, code)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (auto* packages : {"site-packages", "dist-packages"}) look_into_packages(entry.path() / packages);
    }
  }
};

}  // namespace

bool has_nvidia_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library) dlclose(library);
  return library != nullptr;
}

int driver_cuda_version() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return 0;
  auto ask = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (!ask || ask(&version) != 0) version = 0;
  dlclose(library);
  return version;
}

int cupti_major(const fs::path& file) {
  std::string name = file.filename().string();
  if (!name.starts_with(kStem) || name.size() < kStem.size() + 2 || name[kStem.size()] != '.') return 0;
  int number = std::atoi(name.c_str() + kStem.size() + 1);
  // The files behind the links are named by year: 2022 and later were CUDA 12's (11.8's too), 2025.3 and later 13's.
  constexpr int kFirstYear = 2000, kLastYearOf12 = 2024;
  if (number < kFirstYear) return number;
  return number > kLastYearOf12 ? 13 : 12;
}

std::optional<fs::path> find_cupti(const std::vector<fs::path>& roots, int cuda_version) {
  std::error_code code;
  Best best;
  if (fs::path own = variable("KERNELIFT_CUPTI"); !own.empty()) {
    if (fs::is_directory(own, code)) best.look_into(own);
    else if (fs::exists(own, code)) return own;
    if (best.path) return best.path;
  }
  best.most = cuda_version / 1000;
  std::vector<fs::path> toolkits = roots;
  for (auto* name : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"})
    if (auto value = variable(name); !value.empty()) toolkits.emplace_back(value);
  toolkits.emplace_back("/usr/local/cuda");
  for (auto& root : toolkits)
    for (auto* folder : {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", "lib"})
      best.look_into(root / folder);
  if (best.path) return best.path;
  std::vector<fs::path> pythons = {"/usr", "/usr/local"};
  if (auto value = variable("VIRTUAL_ENV"); !value.empty()) pythons.insert(pythons.begin(), value);
  if (auto value = variable("HOME"); !value.empty()) pythons.push_back(fs::path(value) / ".local");
  if (auto python = find_program("python3")) pythons.insert(pythons.begin(), python->parent_path().parent_path());
  for (auto& prefix : pythons) best.look_into_python(prefix);
  if (best.path) return best.path;
  for (auto* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu"}) best.look_into(folder);
  return best.path;
}

}  // namespace kernelift
