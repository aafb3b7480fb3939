// Where the lanes of a warp must be together, in code that hands values over through shared memory with no barrier.
#pragma once
#include <functional>

#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

struct LockstepRules {
  std::function<bool(const llvm::Instruction&)> is_exchange;  ///< Is this load or store part of such an exchange?
  bool is_kernel = false;                                     ///< Lanes start together.
  bool every_access = false;  ///< A point before each: code that spins may meet any of them.
};

/// Puts a call of kl.lockstep before every access that other lanes' earlier ones must come before, with site 0.
/// Returns how many.
unsigned place_lockstep_points(llvm::Function& function, const LockstepRules& rules);

}  // namespace kernelift::cpu
