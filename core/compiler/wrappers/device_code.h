// Device code as the wrappers make it: a source's fat blob, and the device link of relocatable objects.
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
/// The device pass over one source. With relocatable code the blob holds bitcode for the link, else bitcode and an
/// image.
Result<DeviceCode> compile_device_code(const CompilerCommand& command, const SourceInput& input,
                                       MakeCpuImage make_image);

/// Links the relocatable device code of object files and archives; an empty blob if there is none.
Result<DeviceCode> link_device_code(const std::vector<std::string>& files, MakeCpuImage make_image);

/// The cuid that both passes of a source are given, so that they agree on the names of static variables.
std::string compilation_unit_id(const CompilerCommand& command, const SourceInput& input);

}  // namespace kernelift::wrappers
