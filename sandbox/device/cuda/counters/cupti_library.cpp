// See cupti_library.h. The library is never closed, because CUPTI installs hooks in the driver that would remain.
#include "sandbox/device/cuda/counters/cupti_library.h"

#include <cuda.h>
#include <dlfcn.h>

#include "core/toolchain/cuda_libraries.h"

namespace kernelift::sandbox {

Result<const CuptiLibrary*> CuptiLibrary::open() {
  static const auto opened = []() -> Result<CuptiLibrary> {
    CuptiLibrary library;
    KERNELIFT_ASSIGN(library.path_, find_cuda_library("libcupti.so", CUDA_VERSION / 1000));
    library.handle_ = dlopen(library.path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library.handle_) return environment_error("cannot open " + library.path_.string() + ": " + dlerror());
    return library;
  }();
  if (!opened.ok()) return opened.error();
  return &*opened;
}

void* CuptiLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

Status CuptiLibrary::check(CUptiResult result, const char* what) const {
  if (result == CUPTI_SUCCESS) return done();
  const char* text = nullptr;
  if (auto describe = reinterpret_cast<decltype(&cuptiGetResultString)>(symbol("cuptiGetResultString")))
    describe(result, &text);
  return environment_error(std::string("CUPTI cannot ") + what + ": " + (text ? text : std::to_string(result)));
}

}  // namespace kernelift::sandbox
