// Check mode's instrumentation: every access to global or shared memory, and every barrier of the source, tells the
// executor (executor/check) of itself, with the place where the source has it.
#pragma once
#include <llvm/ADT/DenseSet.h>

#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Made before choose_modes(), which adds barriers of its own and takes `volatile` away; insert() comes after it, so
/// that a checked kernel runs in the mode in which it runs unchecked.
class AccessChecks {
 public:
  explicit AccessChecks(DeviceModule& device);
  void insert();

 private:
  DeviceModule& device_;
  llvm::DenseSet<const llvm::Instruction*> barriers_, volatile_;
};

}  // namespace kernelift::cpu
