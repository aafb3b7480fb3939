// The shims without the rest of the command line, for this room's tests: through a link named nvcc it is the compiler;
// under its own name it makes a look-alike: kernelift-shim ROOT STATE DEVICE.
#include <cstdio>

#include "core/base/file.h"
#include "sandbox/shim/shim.h"

int main(int argc, char** argv) {
  using namespace kernelift;
  if (is_shim_name(argv[0])) return shim_main(argc, argv);
  if (argc != 4) return 2;
  Status made = shim::create_toolkit({argv[1], argv[2], argv[3]}, std::filesystem::read_symlink("/proc/self/exe"));
  if (!made.ok()) std::fprintf(stderr, "%s\n", made.error().message.c_str());
  return made.ok() ? 0 : 1;
}
