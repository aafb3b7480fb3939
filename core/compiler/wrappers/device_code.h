// The wrappers' device code: a source's fat blob, and the device link of relocatable objects.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compiler/wrappers/wrapper.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::wrappers {

struct DeviceCode {
  std::vector<char> blob;  ///< core/toolchain/fat_blob.h
  std::string warnings;    ///< A line for each kernel that was left out because the CPU device cannot run it.
};
/// The device pass over one source. The blob holds bitcode for the link if the code is relocatable, else bitcode and an
/// image.
Result<DeviceCode> compile_device_code(const CompilerCommand& command, const SourceInput& input,
                                       MakeCpuImage make_image);

/// Links the relocatable device code of object files and archives; an empty blob if there is none.
Result<DeviceCode> link_device_code(const std::vector<std::string>& files, MakeCpuImage make_image);

/// The -cuid for both passes of a source, so that they use the same names for static variables.
std::string compilation_unit_id(const CompilerCommand& command, const SourceInput& input);

}  // namespace kernelift::wrappers
