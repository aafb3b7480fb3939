// Case 12f: the kernel is in a shared library that the program opens late and that has a CUDA runtime of its own. A
// list of images made at the start of the process does not contain it.
//! library: 12_loaded_library_b.inc.cu
//! build: -ldl
//! launches: late == 2
//! instances: late >= 1
//! replay: late
//! breaks: after-as-before
#include <dlfcn.h>

#include "case.h"

__global__ void early(float* values) { values[threadIdx.x] += 1; }

int main() {
  auto* values = device_array(ramp(256));
  early<<<1, 256>>>(values);
  void* library = dlopen("./12_loaded_library_b.so", RTLD_NOW);
  auto* run = library ? reinterpret_cast<void (*)(float*, int)>(dlsym(library, "run_late")) : nullptr;
  if (!run) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  run(values, 256);
  run(values, 256);
  auto got = host_copy(values, 256);
  print_hash("values", got);
  return end(got[3] == ((ramp(256)[3] + 1) * 2 + 3) * 2 + 3);
}
