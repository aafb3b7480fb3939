// What of an application's nvcc command concerns its device code. It is filtered by what is taken out, not by what is
// let in: whatever is not about files, linking or architectures stays, in its own words and order, because a flag that
// we did not know would change the code silently.
#pragma once
#include <string>
#include <vector>

namespace kernelift {

/// `command` with the compiler's name before its options; response files expanded. What is left out goes to `left_out`,
/// by name, with a remark where it changes device code all the same.
std::vector<std::string> device_arguments(const std::vector<std::string>& command, std::vector<std::string>& left_out);

}  // namespace kernelift
