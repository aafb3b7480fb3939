// dlsym of a recorded process: gives out what stands before NVRTC, and is the C library's for all else. Without
// <dlfcn.h>, where it is declared to throw nothing: a call from such a function cannot become a jump.
#include "extractor/record/nvrtc/stands.h"

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  using namespace kernelift::record;
  void* const next = reinterpret_cast<void*>(-1l);  // RTLD_NEXT
  if (handle != next && stand_for(name)) return real_dlsym()(handle, name) ? stand_for(name) : nullptr;
  // A jump: RTLD_NEXT is meant as of whoever called.
  [[clang::musttail]] return real_dlsym()(handle, name);
}
