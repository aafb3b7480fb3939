// Kernels of one parsed unit: functions and the template instances that the unit launches or instantiates, with what a
// person and a patch need to know about each. Kernels of the system's headers (a library's) are not the user's to tune.
#pragma once
#include <string>
#include <vector>

#include "extractor/source/closure.h"

namespace clang {
class NamedDecl;
}

namespace kernelift {

struct FoundKernel {
  ScannedKernel kernel;
  const clang::FunctionDecl* function = nullptr;  ///< As compiled: an instance for a template.
};

std::vector<FoundKernel> find_kernels(const ParsedUnit& unit, const SourceItems& items);

/// As clang mangles the device function or variable.
std::string mangled_name(const ParsedUnit& unit, const clang::NamedDecl* declaration);
/// "app::smooth<float, 8>": how source text names it; scopes that nobody writes (anonymous, inline) left out.
std::string spelled_name(const ParsedUnit& unit, const clang::FunctionDecl* function);
/// The same for a type.
std::string spelled_type(const ParsedUnit& unit, clang::QualType type);
/// The same for what memory holds: "struct app::Cell"; without qualifiers, and an enumeration is its integer.
std::string element_type(const ParsedUnit& unit, clang::QualType type);

/// What the kernel and the device functions that it reaches make use of: "shared", "atomics", "shuffle"…, sorted.
std::vector<std::string> features(const ParsedUnit& unit, const clang::FunctionDecl* kernel, const Closure& closure);

}  // namespace kernelift
