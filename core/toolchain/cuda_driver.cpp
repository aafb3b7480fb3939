// See cuda_driver.h. RTLD_NOLOAD is tried first: inside a user's process the driver is loaded already, from any path.
#include "core/toolchain/cuda_driver.h"

#include <dlfcn.h>

namespace kernelift {
namespace {

#define KL_TEXT_OF(name) #name
#define KL_TEXT(name) KL_TEXT_OF(name)

Result<CudaDriver> open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return environment_error(
        "no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver, or use --device cpu");
  CudaDriver driver;
#define KL_CUDA_LOOK_UP(name) driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, KL_TEXT(name)));
  KL_CUDA_REQUIRED(KL_CUDA_LOOK_UP)
  KL_CUDA_OPTIONAL(KL_CUDA_LOOK_UP)
#undef KL_CUDA_LOOK_UP
#define KL_CUDA_DEMAND(name) \
  if (!driver.name)          \
    return environment_error("the NVIDIA driver is too old: it has no " KL_TEXT(name) "; update it to 525 or newer");
  KL_CUDA_REQUIRED(KL_CUDA_DEMAND)
#undef KL_CUDA_DEMAND
  return driver;
}

}  // namespace

Result<const CudaDriver*> CudaDriver::open() {
  static const Result<CudaDriver> driver = open_driver();
  if (!driver.ok()) return driver.error();
  return &*driver;
}

std::string cuda_error_text(const CudaDriver& driver, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  return std::string(name ? name : "unknown CUDA error") + ": " + (text ? text : std::to_string(int(result)));
}

}  // namespace kernelift
