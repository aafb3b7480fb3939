// Optimises device code on its way to being cut: everything that can be is inlined into its kernel and simplified, so
// that barriers sit in the kernel itself and few values live across them.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace llvm {
class TargetMachine;
}

namespace kernelift::cpu {

/// `keep_threads`: functions keep their thread parameter even where nothing in them needs it yet.
void prepare(DeviceModule& device, llvm::TargetMachine& machine, bool keep_threads = false);

/// The host's own -O pipeline (vectorisers included), after kernels have become loops over threads.
void optimize_for_host(llvm::Module& module, llvm::TargetMachine& machine, int level, bool vectorize);

}  // namespace kernelift::cpu
