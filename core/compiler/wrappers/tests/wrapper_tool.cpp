// The wrappers without the rest of kernelift, for this folder's tests: started through a link named nvcc it is the
// compiler; under its own name it makes a look-alike: kernelift-wrapper ROOT STATE DEVICE.
#include <cstdio>

#include "core/base/file.h"
#include "core/compiler/wrappers/wrapper.h"
#include "sandbox/compile/cpu_image.h"

int main(int argc, char** argv) {
  using namespace kernelift;
  if (is_wrapper_name(argv[0])) return wrapper_main(argc, argv, sandbox::make_cpu_image);
  if (argc != 4) return 2;
  Status made = wrappers::create_toolkit({argv[1], argv[2], argv[3]}, std::filesystem::read_symlink("/proc/self/exe"));
  if (!made.ok()) std::fprintf(stderr, "%s\n", made.error().message.c_str());
  return made.ok() ? 0 : 1;
}
