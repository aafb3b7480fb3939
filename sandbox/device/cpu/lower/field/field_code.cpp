// See field_code.h.
#include "sandbox/device/cpu/lower/field/field_code.h"

#include <llvm/IR/InstIterator.h>

#include <algorithm>

#include "core/toolchain/image_abi.h"
#include "sandbox/device/cpu/lower/field/function_field.h"

namespace kernelift::cpu {

namespace {

/// Some function has an access by which blocks can tell what others have done.
bool orders_blocks(llvm::Module& module) {
  return std::ranges::any_of(module, [](llvm::Function& function) {
    return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
      return instruction.isAtomic() || instruction.isVolatile();
    });
  });
}

}  // namespace

void insert_field_code(DeviceModule& device, NumberKind numbers) {
  if (orders_blocks(*device.module))
    for (Kernel& kernel : device.kernels) kernel.flags |= KL_ORDERS_BLOCKS;
  for (llvm::Function& function : *device.module)
    if (DeviceModule::has_thread(function)) FunctionField(device, function, numbers).insert();
}

}  // namespace kernelift::cpu
