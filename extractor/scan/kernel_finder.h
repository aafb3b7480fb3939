// Kernels of one parsed unit: functions and the template instances that the unit launches or instantiates, with the
// facts that a person and a patch need about each. Kernels of system headers (a library's) are left out: they are not
// the user's to tune.
#pragma once
#include <string>
#include <vector>

#include "extractor/source/closure.h"

namespace clang {
class NamedDecl;
}

namespace kernelift::extractor {

struct FoundKernel {
  ScannedKernel kernel;
  const clang::FunctionDecl* function = nullptr;  ///< The definition as compiled: for a template, the instance.
};

std::vector<FoundKernel> find_kernels(const ParsedUnit& unit, const SourceItems& items);

/// The device function's or variable's name as clang mangles it.
std::string mangled_name(const ParsedUnit& unit, const clang::NamedDecl* declaration);
/// "app::smooth<float, 8>": the name as source text spells it, without scopes that are not spelled (anonymous, inline).
std::string spelled_name(const ParsedUnit& unit, const clang::FunctionDecl* function);
/// The same for a type.
std::string spelled_type(const ParsedUnit& unit, clang::QualType type);
/// The same for the elements of memory: "struct app::Cell"; without qualifiers, and an enumeration is its integer type.
std::string element_type(const ParsedUnit& unit, clang::QualType type);

/// Features that the kernel and the device functions it reaches use: "shared", "atomics", "shuffle"…, sorted.
std::vector<std::string> features(const ParsedUnit& unit, const clang::FunctionDecl* kernel, const Closure& closure);

}  // namespace kernelift::extractor
