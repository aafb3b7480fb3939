// One compiler command for the CPU device, carried out: device pass, lowering, host pass in this process; linking by
// the system's compiler.
#pragma once
#include <filesystem>

#include "core/base/result.h"
#include "core/compiler/wrappers/wrapper.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::wrappers {

/// Warnings go to stderr, output of -E and the like to stdout or the command's output. An Error's message is what a
/// compiler would print.
Status run_for_cpu(const CompilerCommand& command, const WrapperConfig& config);

/// Answers --version, --help and CMake's questions. True if `command` was one.
bool answer_query(const CompilerCommand& command, const WrapperConfig& config);
/// What -Xcompiler asks of the host compiler, which then answers and compiles nothing: --version, -dumpversion….
std::vector<std::string> host_queries(const CompilerCommand& command);
/// What the compiler prints under -v and --dryrun: nvcc its commands, from which CMake learns how to link, clang its
/// version.
void print_dry_run(const CompilerCommand& command, const WrapperConfig& config);

}  // namespace kernelift::wrappers
