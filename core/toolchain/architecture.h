// Which GPU architecture a source is read for: __CUDA_ARCH__ picks the lines of it that count, and an application is
// often built for several, for an older one than its GPU (the driver translates then), or for "native".
#pragma once
#include <string>
#include <string_view>

#include "core/toolchain/nvcc_command.h"

namespace kernelift {

/// 90 of "sm_90", "sm_90a" and "compute_90"; 0 of anything else: "native", "all", "gfx90a".
int compute_capability(std::string_view architecture);

/// What the CPU device takes a command for: the newest that it names from sm_50 to sm_90, as far as our headers go,
/// which is also what "native" and "all" are there; CUDA 13's default (sm_75) if it names none.
std::string newest_architecture(const CompilerCommand& command);

/// What the code that ran was compiled for, as the command spells it ("sm_90a"). `ptx_version` is the driver's word for
/// that (90); 0, where nobody knows: newest_architecture().
std::string architecture_that_ran(const CompilerCommand& command, int ptx_version);

/// How a source becomes code for one GPU.
struct TargetArchitecture {
  std::string source = "sm_90";   ///< What __CUDA_ARCH__ says.
  std::string machine = "sm_90";  ///< What the code is for. Never older than `source`.

  /// A source that is compiled for `source` in the application (empty: not known), on the GPU `machine`.
  static TargetArchitecture of(const std::string& source, const std::string& machine);
  /// "-arch=sm_90", "-gencode=arch=compute_75,code=sm_90"
  std::string nvcc_flag() const;
};

}  // namespace kernelift
