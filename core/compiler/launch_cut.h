// Functions of the host without what their launches are configured by: two that differ only in how grids, blocks and
// shared bytes are computed become equal.
#pragma once
#include <llvm/ADT/StringRef.h>

#include <string>

namespace llvm {
class Module;
}

namespace kernelift {

/// Puts zeros in the place of grid, block and shared bytes at every launch in the module, and drops what only computed
/// them and does nothing else: arithmetic, and calls of functions without side effects. Anything else stays, so that a
/// configuration whose computation writes memory, calls the outside or might not end still differs. A call of a
/// function that launches the kernel which it is given is a launch.
void cut_launches(llvm::Module& module);

/// Deletes the launches themselves, in both forms: launches of kernels and calls of functions in the namespace
/// `launcher`, which launch in their place. What computes their arguments stays if it does anything else.
void remove_launches(llvm::Module& module, const std::string& launcher);

/// True if the mangled name is that of a function or variable in the namespace at file scope.
bool is_in_namespace(llvm::StringRef mangled, const std::string& name);

}  // namespace kernelift
