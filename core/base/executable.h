// The running program, where it has to be started once more.
#pragma once
#include <filesystem>

#include "core/base/result.h"

namespace kernelift {

/// Of this process; an Error where the file was replaced or removed since: another version would go on with our work.
Result<std::filesystem::path> executable();
/// The same, of a link such as /proc/PID/exe.
Result<std::filesystem::path> executable_of(const std::filesystem::path& link);

}  // namespace kernelift
