// See cpu_image.h.
#include "sandbox/compile/cpu_image.h"

#include <llvm/IR/Module.h>

#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::sandbox {

Result<wrappers::CpuImage> make_cpu_image(std::unique_ptr<llvm::Module> module) {
  cpu::LowerOptions options;
  options.leave_out_refused = true;
  KERNELIFT_ASSIGN(cpu::LoweredImage lowered, cpu::lower(std::move(module), options));
  wrappers::CpuImage image;
  image.elf = std::move(lowered.elf);
  for (cpu::LoweredKernel& kernel : lowered.kernels)
    if (kernel.mode == "refused") image.refused.push_back({kernel.name, kernel.mode_reason});
  return image;
}

}  // namespace kernelift::sandbox
