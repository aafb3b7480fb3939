// Finds threads of a block that cannot differ: a kernel that never reads threadIdx.y does the same for every y.
#pragma once
#include <set>

#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Sets kernel.identical_along: the coordinates (0 x, 1 y, 2 z) along which the kernel's threads are identical, if one
/// of them may stand for all. `reached`: every function that the kernel may run, the kernel among them.
void find_identical_threads(Kernel& kernel, const std::set<llvm::Function*>& reached);

}  // namespace kernelift::cpu
