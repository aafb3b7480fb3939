// Whether two prepared kernels are the same code: a hash of all that decides what a launch does.
#pragma once
#include <optional>
#include <string>

#include "core/model/launch/geometry.h"

namespace llvm {
class Function;
}  // namespace llvm

namespace kernelift {

/// Of instructions with their operands, and of the variables and types that they use. Left out is what does not change
/// what the code does: names of values, lines, hints to the optimiser, bounds of the launch that `block` is within, and
/// `noalias` of arguments (KernelModel::needs_different_memory). Empty: it uses something else, such as a function that
/// could not be inlined. Names of values and notes of instructions are lost.
std::string whole_code(llvm::Function& kernel, const std::optional<Dim3>& block);

}  // namespace kernelift
