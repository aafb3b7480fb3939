// Whether two kernels are the same: a comparison of two functions of two modules, and of everything they reach, over a
// map that pairs values in the order of the walk. Names of locals and internal functions do not matter; everything that
// changes a result, or how the code may be optimised, does. LLVM's own comparators are for one module
// (FunctionComparator), ignore flags (StructuralHash), or print a diff for people (LLVMDiff).
#pragma once
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace llvm {
class Function;
}

namespace kernelift::extractor {

/// Nothing if equal; else the first difference found, as a sentence that names the function and both sides.
/// EXPECTS: both modules live in one LLVMContext.
std::optional<std::string> first_difference(const llvm::Function& left, const llvm::Function& right);

/// The demangled name, with the original name of the application's main where a whole unit renamed it.
std::string plain_name(llvm::StringRef mangled);

}  // namespace kernelift::extractor
