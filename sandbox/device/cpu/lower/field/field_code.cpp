// See field_code.h.
#include "sandbox/device/cpu/lower/field/field_code.h"

#include "sandbox/device/cpu/lower/field/function_field.h"

namespace kernelift::cpu {

void insert_field_code(DeviceModule& device, NumberKind numbers) {
  for (llvm::Function& function : *device.module)
    if (DeviceModule::has_thread(function)) FunctionField(device, function, numbers).insert();
}

}  // namespace kernelift::cpu
