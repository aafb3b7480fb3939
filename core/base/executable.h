// The path of the running program, for steps that start it once more.
#pragma once
#include <filesystem>

#include "core/base/result.h"

namespace kernelift {

/// This process's program file. An Error if the file was replaced or removed since the start, because another version
/// would then continue this one's work.
Result<std::filesystem::path> executable();
/// The same for a link such as /proc/PID/exe.
Result<std::filesystem::path> executable_of(const std::filesystem::path& link);

}  // namespace kernelift
