// Inline PTX assembly, translated statement by statement into IR and calls of the intrinsics it spells out.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Refuses, with its text and place, assembly that is not understood.
Status lower_assembly(DeviceModule& device);

}  // namespace kernelift::cpu
