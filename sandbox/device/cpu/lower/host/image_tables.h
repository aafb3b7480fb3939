// The image's own description (image_abi.h), written into the module as constants.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Adds `kernelift_image`, the only exported symbol; everything else becomes internal.
void add_image_tables(DeviceModule& device);

}  // namespace kernelift::cpu
