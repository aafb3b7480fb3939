// Check mode's record of which code of the source was run: a byte for each basic block of the main file, which the
// block sets (kl_image::reached).
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

class Coverage {
 public:
  /// Marks the blocks, by calls: before anything optimises, so that the blocks are those of the source.
  explicit Coverage(DeviceModule& device);
  /// The marks become stores: behind AccessChecks::insert(), for which they would be accesses of the kernel.
  void insert();

 private:
  DeviceModule& device_;
  llvm::Function* mark_ = nullptr;
};

}  // namespace kernelift::cpu
