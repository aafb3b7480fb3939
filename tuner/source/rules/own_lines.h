// Kernels that are written in a line or two. Rules insert loops and declarations as whole lines, and do not rewrite a
// statement that shares its line with another one.
#pragma once
#include <optional>
#include <string>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

/// The text with each statement of the kernel's blocks on its own line; nullopt if it is so already, or if a macro
/// spells one of the outermost statements. Blocks of which a macro spells a part stay as they are.
std::optional<std::string> on_own_lines(const KernelSource& source, const std::string& kernel);

}  // namespace kernelift::tuner
