// Compilers report a missing header or an unknown name; these functions add that the CPU device lacks the library.
#pragma once
#include <string>
#include <vector>

namespace kernelift::wrappers {

/// For each line of `diagnostics` that is caused by a feature which the CPU device lacks: a further line with the
/// position, the feature's name and what to do. Empty if there is none.
std::string name_unsupported(const std::string& diagnostics);

/// The same for the libraries that a failed link named by -l: one line each.
std::string name_unsupported_libraries(const std::vector<std::string>& link_flags);

}  // namespace kernelift::wrappers
