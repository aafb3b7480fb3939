// Which values of a function are needed at the start of given blocks.
#pragma once
#include <map>

#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

/// For each of `starts`, the instructions (allocas excepted) whose value is defined before it and used after it,
/// in function order, so that two runs give frames the same layout.
std::map<const llvm::BasicBlock*, llvm::SmallVector<llvm::Instruction*, 8>> live_values_at(
    llvm::Function& function, const llvm::SmallPtrSetImpl<llvm::BasicBlock*>& starts);

/// Instructions to compute `value` again from parameters and the context, in order, or empty if that is not cheap
/// (or not the same value any more).
llvm::SmallVector<llvm::Instruction*, 8> recomputation_of(llvm::Instruction* value);

}  // namespace kernelift::cpu
