// Finds kernels whose threads hand each other values through memory with no barrier in between. That is a race,
// and old code that relies on a warp's lanes moving together is full of it: a loop over threads would answer wrong.
#pragma once
#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

/// Loads that may read what another thread stored since the last barrier.
struct Exchange {
  llvm::Instruction* shared = nullptr;                               ///< One of shared memory, if there are any.
  llvm::MapVector<const llvm::Value*, llvm::Instruction*> given;  ///< One of each pointer parameter's memory.
};
Exchange find_unsynchronised_exchange(llvm::Function& kernel);

/// Does this pointer lead to shared variables for sure?
bool leads_to_shared_memory(const llvm::Value* pointer);

/// Does this load or store touch a shared variable for sure?
bool is_shared_access(const llvm::Instruction& instruction);

}  // namespace kernelift::cpu
