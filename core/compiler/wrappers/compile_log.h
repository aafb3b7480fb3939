// The log of compile commands, a compilation database that scan reads: one entry per source file and output, the newest
// replaces older ones. The compilers of a parallel build write it at the same time.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::wrappers {

/// Logs `argv`, with response files expanded and argv[0] without its folder, for each source that `command` compiles.
Status log_command(const std::filesystem::path& state, const std::filesystem::path& folder,
                   const std::vector<std::string>& argv, const CompilerCommand& command);

}  // namespace kernelift::wrappers
