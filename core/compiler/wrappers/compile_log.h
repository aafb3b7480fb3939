// The log of compile commands, as a compilation database that scan reads: one entry per source file and output, the
// newest wins. Compilers of a parallel build write it at the same time.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::wrappers {

/// Logs `argv`'s meaning (response files expanded, argv[0] by its plain name) for each source that `command` compiles.
Status log_command(const std::filesystem::path& state, const std::filesystem::path& folder,
                   const std::vector<std::string>& argv, const CompilerCommand& command);

}  // namespace kernelift::wrappers
