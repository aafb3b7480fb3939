// Executes one compiler command for the CPU device: device pass, lowering and host pass in this process, linking by the
// system's compiler.
#pragma once
#include <filesystem>

#include "core/base/result.h"
#include "core/compiler/wrappers/wrapper.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::wrappers {

/// Warnings go to stderr, the output of -E and the like to stdout or the command's output file. An Error's message is
/// the text that a compiler would print.
Status run_for_cpu(const CompilerCommand& command, const WrapperConfig& config);

/// Prints the answer to --version, --help and the queries that CMake makes. True if `command` was a query.
bool answer_query(const CompilerCommand& command, const WrapperConfig& config);
/// Queries that -Xcompiler passes to the host compiler, which answers them and compiles nothing: --version,
/// -dumpversion….
std::vector<std::string> host_queries(const CompilerCommand& command);
/// Prints the output of -v and --dryrun: for nvcc its commands, from which CMake learns how to link, for clang its
/// version.
void print_dry_run(const CompilerCommand& command, const WrapperConfig& config);

}  // namespace kernelift::wrappers
