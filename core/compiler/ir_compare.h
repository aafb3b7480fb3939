// Whether two programs are the same: a comparison of two functions of two modules and of everything they reach, or of
// two whole modules symbol by symbol, over a map that pairs values in the order of the walk. Names of locals and
// internal functions do not matter; everything that changes a result, or how the code may be optimised, does. LLVM's
// own comparators are for one module (FunctionComparator), ignore flags (StructuralHash), or print a diff for people
// (LLVMDiff).
#pragma once
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace kernelift {

/// Nothing if equal; else the first difference found, as a sentence that names the function and both sides.
/// EXPECTS: both modules live in one LLVMContext.
std::optional<std::string> first_difference(const llvm::Function& left, const llvm::Function& right);

/// A symbol in which two modules differ.
struct SymbolDifference {
  enum class Kind { Changed, Added, Removed } kind = Kind::Changed;
  std::string symbol;  ///< As the modules name it; empty: something of the module as a whole.
  std::string what;    ///< What differs, with both sides; empty for a symbol that only one module has.
};

/// Every definition in which the two modules differ. Symbols are paired by name; constants without a name, such as
/// string literals, by their content where they are used. Declarations that only one module has are no difference:
/// they mean something only where they are used.
/// EXPECTS: both modules live in one LLVMContext.
std::vector<SymbolDifference> differing_symbols(const llvm::Module& left, const llvm::Module& right);

/// The demangled name, with the original name of the application's main where a whole unit renamed it.
std::string plain_name(llvm::StringRef mangled);

}  // namespace kernelift
