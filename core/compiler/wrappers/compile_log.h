// The log of compile commands, a compilation database that scan reads: one entry per source file and output, the newest
// replaces older ones. The compilers of a parallel build write it at the same time.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::wrappers {

/// A compiler's command, as it was started.
struct StartedCompiler {
  std::filesystem::path folder;              ///< Its working folder.
  std::vector<std::string> words;            ///< Response files need not be expanded.
  CompilerCommand command;                   ///< `words`, parsed.
  std::optional<std::string> built_by = {};  ///< build_tool_above(), where that is known.
};

/// `argv` and the options and folders that the compiler takes from environment variables: later readers of the log have
/// another environment. `variables`: kWatchedVariables (watch_format.h) that are set.
std::vector<std::string> with_variables(std::vector<std::string> argv,
                                        const std::map<std::string, std::string>& variables);

/// Logs the commands in their order, with response files expanded, for each source that they compile.
Status log_commands(const std::filesystem::path& state, const std::vector<StartedCompiler>& started);

}  // namespace kernelift::wrappers
