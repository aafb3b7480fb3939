// Functions of the host without what their launches are configured by: two that differ only in how grids, blocks and
// shared bytes are computed become equal.
#pragma once

namespace llvm {
class Module;
}

namespace kernelift {

/// Puts zeros in the place of grid, block and shared bytes at every launch in the module, and drops what only computed
/// them and does nothing else: arithmetic, and calls of functions without side effects. Anything else stays, so that a
/// configuration whose computation writes memory, calls the outside or might not end still differs.
void cut_launches(llvm::Module& module);

}  // namespace kernelift
