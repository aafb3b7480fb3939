// See nvml.h.
#include "sandbox/device/cuda/nvml/nvml.h"

#include <dlfcn.h>

#include <cstdio>

namespace kernelift::sandbox {

Nvml::Nvml() {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  auto init = function<int (*)()>("nvmlInit_v2");
  initialised_ = init && init() == 0;
}

Nvml::~Nvml() {
  if (auto shutdown = function<int (*)()>("nvmlShutdown"); shutdown && initialised_) shutdown();
  if (library_) dlclose(library_);
}

void* Nvml::symbol(const char* name) const { return library_ ? dlsym(library_, name) : nullptr; }

void* Nvml::device(const unsigned char (&uuid)[16]) const {
  auto by_uuid = function<int (*)(const char*, void**)>("nvmlDeviceGetHandleByUUID");
  if (!ok() || !by_uuid) return nullptr;
  char text[64] = "GPU-";
  int at = 4;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    at += std::snprintf(text + at, sizeof text - at, "%02x", uuid[i]);
  }
  void* device = nullptr;
  return by_uuid(text, &device) == 0 ? device : nullptr;
}

std::string Nvml::text(int code) const {
  auto describe = function<const char* (*)(int)>("nvmlErrorString");
  const char* words = describe ? describe(code) : nullptr;
  return words ? words : "code " + std::to_string(code);
}

}  // namespace kernelift::sandbox
