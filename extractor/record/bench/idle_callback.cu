// The least that any recorder costs which CUPTI tells of launches: an injected library whose callback does nothing.
// Built as a shared library (nvcc -shared); CUPTI_LIBRARY says where CUPTI is.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("CUPTI_LIBRARY");
  void* library = dlopen(path ? path : "libcupti.so", RTLD_NOW);
  if (!library) return 0;
  auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  auto enable = reinterpret_cast<decltype(&cuptiEnableCallback)>(dlsym(library, "cuptiEnableCallback"));
  CUpti_SubscriberHandle handle;
  if (subscribe(&handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr) != CUPTI_SUCCESS)
    return 0;
  return enable(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) == CUPTI_SUCCESS;
}
