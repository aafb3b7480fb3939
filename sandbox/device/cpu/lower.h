// Lowers device IR (as clang makes it for NVPTX) to a kernel image for this machine's CPU. What the CPU device cannot
// do is refused by the construct's name and source place, never compiled to something else.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace llvm {
class Module;
}

namespace kernelift::cpu {

struct LowerOptions {
  std::string cpu = "native";  ///< LLVM CPU name.
  int host_level = 3;          ///< 0..3: how much the host pipeline optimises after the cut; candidates use 3.
  bool vectorize = true;
  bool force_fibers = false;  ///< Tests and benchmarks: run every kernel in fiber mode.
  /// A kernel that reaches something unsupported is left out by name (mode "refused") and the others are made. For
  /// whole applications, which may hold kernels that they launch on other GPUs only. Else it is an Error.
  bool leave_out_refused = false;
};

/// Facts about one lowered kernel, for verdict counters and reports.
struct LoweredKernel {
  std::string name;
  std::string mode, mode_reason;
  uint64_t code_bytes = 0;
};

struct LoweredImage {
  std::vector<char> elf;  ///< A shared object that exports kernelift_image (image_abi.h).
  std::vector<LoweredKernel> kernels;
};

/// Consumes the module. Module variables stay external and are listed in the image. Error exit is Refused when a
/// construct is not supported, named with its place. What is wrong with the module as a whole (a function that nobody
/// defines) is an Error whatever the options say.
Result<LoweredImage> lower(std::unique_ptr<llvm::Module> device_ir, const LowerOptions& options = {});

}  // namespace kernelift::cpu
