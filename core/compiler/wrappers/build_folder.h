// Build folders that CMake has configured: which compiler a folder is bound to. A folder that one compiler configured
// cannot be built by another: CMake keeps the first one's path, and its objects stay.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::wrappers {

/// Which compilers a build uses.
enum class Compilers { Own, LoggingWrappers, CpuWrappers };

/// A Usage error if `command`, run in `folder`, would go on in a build folder that other compilers have configured. The
/// folders are those that the words of the command name, or the words of a shell's -c; a command that removes a folder
/// or configures it afresh (rm, cmake --fresh) is not refused.
Status check_build_folders(const std::vector<std::string>& command, const std::filesystem::path& folder,
                           Compilers compilers);

}  // namespace kernelift::wrappers
