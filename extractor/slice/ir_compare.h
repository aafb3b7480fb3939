// Are two kernels the same? A comparison of two functions of two modules, and of all that they reach, over a map that
// pairs values as they are met: names of locals and internal functions do not matter, everything that changes what is
// computed or how it may be optimised does. LLVM's own comparators are for one module (FunctionComparator), forget
// flags (StructuralHash), or print a diff for people (LLVMDiff).
#pragma once
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace llvm {
class Function;
}

namespace kernelift {

/// Nothing when equal; else the first difference found, as a sentence that names the function and both sides.
/// EXPECTS: both modules live in one LLVMContext.
std::optional<std::string> first_difference(const llvm::Function& left, const llvm::Function& right);

/// Text of a mangled name, with the application's main under its own name again where a whole unit renamed it.
std::string plain_name(llvm::StringRef mangled);

}  // namespace kernelift
