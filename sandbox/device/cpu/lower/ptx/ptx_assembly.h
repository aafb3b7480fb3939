// Inline PTX assembly, translated statement by statement into IR and calls of the intrinsics it spells out.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Refuses functions, with its text and place, for assembly that is not understood.
void lower_assembly(DeviceModule& device);

}  // namespace kernelift::cpu
