// Device IR in the form from which a kernel model is read: one function without calls of its own code, values in
// registers, and loops with one entry and one back edge.
#pragma once
#include <optional>
#include <vector>

#include "core/model/launch/geometry.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace kernelift {

/// Returns the lines of accesses beyond the end of a thread's own array: having no meaning, they are lost on the way.
std::vector<unsigned> prepare_for_model(llvm::Module& module, llvm::Function& kernel, const std::optional<Dim3>& block);

}  // namespace kernelift
