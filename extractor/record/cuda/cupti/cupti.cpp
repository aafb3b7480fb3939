// See cupti.h.
#include "extractor/record/cuda/cupti/cupti.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "extractor/record/cuda/cupti/detour.h"

namespace kernelift {
namespace {

/// Path of a CUPTI that the process has loaded already, or empty.
std::string loaded_cupti() {
  std::string path;
  dl_iterate_phdr(
      [](struct dl_phdr_info* object, size_t, void* into) -> int {
        const char* name = object->dlpi_name ? std::strrchr(object->dlpi_name, '/') : nullptr;
        if (!name || std::strncmp(name, "/libcupti.so", 12) != 0) return 0;
        *static_cast<std::string*>(into) = object->dlpi_name;
        return 1;
      },
      &path);
  return path;
}

}  // namespace

Result<Cupti> Cupti::open(const std::string& path) {
  std::string own = loaded_cupti();
  const std::string& used = own.empty() ? path : own;
  if (used.empty()) return environment_error("no CUPTI library was named");
  void* library = dlopen(used.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return environment_error("CUPTI cannot be opened: " + std::string(dlerror()));
  Cupti cupti;
#define KL_CUPTI_LOOK_UP(name)                                                \
  cupti.name = reinterpret_cast<decltype(cupti.name)>(dlsym(library, #name)); \
  if (!cupti.name) return environment_error(used + " has no " #name "; CUPTI 11.4 or newer is needed");
  KL_CUPTI_FUNCTIONS(KL_CUPTI_LOOK_UP)
#undef KL_CUPTI_LOOK_UP
  cupti.cuptiSubscribe_v2 = dlsym(library, "cuptiSubscribe_v2");
  return cupti;
}

std::string Cupti::text(CUptiResult result) const {
  const char* name = nullptr;
  cuptiGetResultString(result, &name);
  return name ? name : "CUPTI error " + std::to_string(int(result));
}

bool Cupti::records_are_taken() const {
  return cuptiActivityFlushAll(0) == CUPTI_SUCCESS;  // Else it is refused as an invalid operation.
}

bool Cupti::before_others_use_it(void (*tell)()) const {
  bool good = detour_once(reinterpret_cast<void*>(cuptiSubscribe), tell);
  if (cuptiSubscribe_v2) good &= detour_once(cuptiSubscribe_v2, tell);
  return detour_once(reinterpret_cast<void*>(cuptiActivityRegisterCallbacks), tell) && good;
}

}  // namespace kernelift
