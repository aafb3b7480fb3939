// The part of an application's nvcc command that concerns its device code. Options for files, linking and architectures
// are removed; all others stay as they are spelled and in their order, because dropping an option that is not known
// here could change the code silently.
#pragma once
#include <string>
#include <vector>

namespace kernelift {

/// The options of `command` that concern device code. EXPECTS: `command` begins with the compiler's name and its
/// response files are expanded. Options that are left out are appended to `left_out`, with a remark if they change
/// device code.
std::vector<std::string> device_arguments(const std::vector<std::string>& command, std::vector<std::string>& left_out);

}  // namespace kernelift
