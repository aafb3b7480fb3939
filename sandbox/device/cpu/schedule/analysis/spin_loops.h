// Finds loops that may wait for another thread: whose exit depends on what an atomic operation, a volatile load or a
// load beside a fence returned. On fibers such loops must yield, or the thread they wait for never runs.
#pragma once
#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

/// Puts a yield on every back edge of such loops and returns one of them (for the mode's reason), or nullptr.
llvm::Instruction* yield_in_spin_loops(llvm::Function& function);

}  // namespace kernelift::cpu
