// See device_text.h.
#include "extractor/record/cuda/device_text.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

namespace kernelift::record {

std::string device_text(const CudaDriver& driver, int ordinal) {
  CUdevice device = 0;
  if (driver.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS) return "cuda";
  char name[256] = "";
  int major = 0, minor = 0, version = 0;
  driver.cuDeviceGetName(name, sizeof name, device);
  driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  driver.cuDriverGetVersion(&version);
  std::string text = "cuda " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  // libcuda.so.1 is a link to a file that is named after the driver's own version.
  Dl_info info{};
  std::error_code code;
  if (dladdr(reinterpret_cast<void*>(driver.cuInit), &info) && info.dli_fname) {
    std::string file = std::filesystem::canonical(info.dli_fname, code).filename().string();
    constexpr std::string_view kStem = "libcuda.so.";
    if (!code && file.starts_with(kStem) && file.size() > kStem.size() + 1) text = file.substr(kStem.size());
  }
  return "cuda:" + std::string(name) + ":sm_" + std::to_string(major * 10 + minor) + ":" + text;
}

}  // namespace kernelift::record
