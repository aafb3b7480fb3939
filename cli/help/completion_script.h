// What a shell needs to complete kernelift's command lines, made from the options of the verbs as they are parsed.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "core/base/result.h"

namespace kernelift::cli {

/// A script for `shell`: bash, zsh or fish (a usage error for any other). `program` holds one subcommand per verb, with
/// all its options; those without a group are hidden, as in --help.
Result<std::string> completion_script(const CLI::App& program, const std::string& shell);

}  // namespace kernelift::cli
