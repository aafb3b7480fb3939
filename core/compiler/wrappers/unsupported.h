// Compilers say that a header is missing or a name unknown; a user wants to hear that the CPU device lacks the library.
#pragma once
#include <string>
#include <vector>

namespace kernelift::wrappers {

/// For each line of `diagnostics` that is due to something the CPU device does not have: its place, the thing's name
/// and what to do, as one more line of a compiler. Empty if there is none.
std::string name_unsupported(const std::string& diagnostics);

/// The same for the libraries that a link which failed asked for by -l: one line each.
std::string name_unsupported_libraries(const std::vector<std::string>& link_flags);

}  // namespace kernelift::wrappers
