// What a device has room for and allows, in one line for a person or a model.
#pragma once
#include <string>

#include "sandbox/device/device.h"

namespace kernelift::sandbox {

/// "132 multiprocessors, each with room for 2048 threads …; a block: at most 1024 threads …". What is not known is left
/// out.
std::string limits_text(const DeviceFacts& facts);

}  // namespace kernelift::sandbox
