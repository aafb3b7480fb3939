// Kernels that are written in a line or two. Rules put loops around statements and declarations in front of them, a
// line each, and leave alone what shares its line with something else.
#pragma once
#include <optional>
#include <string>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift {

/// The text with each of the kernel's outermost statements on a line of its own; nullopt where they are, or a macro
/// wrote some of them.
std::optional<std::string> on_own_lines(const KernelSource& source, const std::string& kernel);

}  // namespace kernelift
