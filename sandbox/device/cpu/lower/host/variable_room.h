// Room around module variables: the linker lays variables side by side, so that a write behind one changes the next and
// nothing shows it. With room of its own around each, such a write lands where it can be found.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Makes each variable the middle of a larger one, and sets Variable::room: the more variables, the less, so that an
/// image's room in all stays in the caches.
void give_variables_room(DeviceModule& device);

/// Where the variable itself lies.
llvm::Constant* address_of(const Variable& variable);

}  // namespace kernelift::cpu
