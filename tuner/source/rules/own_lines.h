// Kernels that are written in a line or two. Rules insert loops and declarations as whole lines, and do not rewrite a
// statement that shares its line with another one.
#pragma once
#include <optional>
#include <string>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

/// The text with each of the kernel's outermost statements on its own line; nullopt if it is so already, or if a macro
/// spells one of the statements.
std::optional<std::string> on_own_lines(const KernelSource& source, const std::string& kernel);

}  // namespace kernelift::tuner
