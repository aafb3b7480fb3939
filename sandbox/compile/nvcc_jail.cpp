// See nvcc_jail.h.
#include "sandbox/compile/nvcc_jail.h"

#include "sandbox/jail/jail.h"

namespace kernelift::sandbox {

NvccOptions confined(NvccOptions options, uint64_t memory_bytes) {
  options.confine = [memory_bytes](const std::vector<std::filesystem::path>& readable,
                                   const std::filesystem::path& folder) {
    JailSpec jail;
    jail.kind = JailKind::Toolchain, jail.readable = readable, jail.writable = folder;
    jail.extra_memory_bytes = memory_bytes;
    return enter_jail(jail);
  };
  return options;
}

}  // namespace kernelift::sandbox
