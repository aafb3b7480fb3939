// The GPU architecture for which a source is compiled: __CUDA_ARCH__ selects lines of it, and an application is often
// built for several architectures, for an older one than its GPU (the driver then translates), or for "native".
#pragma once
#include <string>
#include <string_view>

#include "core/toolchain/nvcc_command.h"

namespace kernelift {

/// 90 for "sm_90", "sm_90a" and "compute_90"; 0 for any other text: "native", "all", "gfx90a".
int compute_capability(std::string_view architecture);

/// The architecture that the CPU device compiles for: the newest one in the command, limited to the range that our
/// headers support, sm_50 to sm_90; sm_90 for "native" and "all"; CUDA 13's default (sm_75) if the command names none.
std::string newest_architecture(const CompilerCommand& command);

/// The architecture for which the code that ran was compiled, as the command spells it ("sm_90a"). `ptx_version` is the
/// driver's figure for it (90); if it is 0, not known, the result is newest_architecture().
std::string architecture_that_ran(const CompilerCommand& command, int ptx_version);

/// The architectures with which a source is compiled for one GPU.
struct TargetArchitecture {
  std::string source = "sm_90";   ///< The value of __CUDA_ARCH__.
  std::string machine = "sm_90";  ///< The GPU that the code is for. Never older than `source`.

  /// For a source that the application compiles for `source` (empty: not known), on the GPU `machine`.
  static TargetArchitecture of(const std::string& source, const std::string& machine);
  /// "-arch=sm_90", "-gencode=arch=compute_75,code=sm_90"
  std::string nvcc_flag() const;
};

}  // namespace kernelift
