// Finds kernels whose threads hand each other values through memory with no barrier in between. That is a race,
// and old code that relies on a warp's lanes moving together is full of it: a loop over threads would answer wrong.
#pragma once
#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

/// Loads that may read what another thread stored since the last barrier.
struct Exchange {
  llvm::Instruction* shared = nullptr;                                 ///< One of shared memory, if there are any.
  llvm::MapVector<const llvm::Value*, llvm::Instruction*> parameters;  ///< One of each pointer parameter's memory.
};
Exchange find_unsynchronised_exchange(llvm::Function& kernel);

/// Right behind a barrier all warps read the same shared elements, and some threads overwrite one before the next
/// barrier:
/// `__syncthreads(); mean = s[0]; … if (lane == 0) s[warp] = …;`. That is a race too, but one that a GPU hardly ever
/// loses, since its warps leave a barrier together; threads that run one after another always would. Puts another
/// barrier behind such reads, where all threads get there together. Programs without races have none.
void fence_overwritten_reads(llvm::Function& function);

/// Does this pointer lead to shared variables for sure?
bool leads_to_shared_memory(const llvm::Value* pointer);

/// Does this load or store touch a shared variable for sure?
bool is_shared_access(const llvm::Instruction& instruction);

}  // namespace kernelift::cpu
