// See find_cupti.h.
#include "extractor/record/cuda/cupti/find_cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "core/base/file.h"
#include "core/toolchain/cuda_libraries.h"

namespace fs = std::filesystem;

namespace kernelift::record {
namespace {

constexpr std::string_view kStem = "libcupti.so";

struct Best {
  std::optional<fs::path> path;
  int major = 0, most = 0;

  void look_at(const fs::path& file) {
    int found = cupti_major(file);
    if (found > major && (most == 0 || found <= most)) path = file, major = found;
  }
  void look_into(const fs::path& folder) {
    for (auto& path : paths_in(folder)) look_at(path);
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
  if (const char* own = std::getenv("KERNELIFT_CUPTI"); own && *own) {
    if (fs::is_directory(own, code)) best.look_into(own);
    else if (fs::exists(own, code)) return own;
    if (best.path) return best.path;
  }
  best.most = cuda_version / 1000;
  auto groups = cuda_library_folders(roots);
  for (auto* group : {&groups.named, &groups.toolkits, &groups.wheels, &groups.system}) {
    for (auto& folder : *group) best.look_into(folder);
    if (best.path) break;
  }
  return best.path;
}

}  // namespace kernelift::record
