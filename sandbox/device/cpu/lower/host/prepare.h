// Optimises device code on its way to being cut: everything that can be is inlined into its kernel and simplified, so
// that barriers sit in the kernel itself and few values live across them.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace llvm {
class TargetMachine;
}

namespace kernelift::cpu {

struct PrepareOptions {
  bool keep_threads = false;  ///< Functions keep their thread parameter even where nothing in them needs it yet.
  bool inline_all = false;    ///< Whatever is not recursive.
};
void prepare(DeviceModule& device, llvm::TargetMachine& machine, const PrepareOptions& options = {});

/// An attribute of functions: to be inlined behind all else that optimize_for_host() does. Until then noinline.
inline constexpr const char* kInlineLate = "kl-inline-late";

/// The host's own -O pipeline (vectorisers included), after kernels have become loops over threads.
void optimize_for_host(llvm::Module& module, llvm::TargetMachine& machine, int level, bool vectorize);

}  // namespace kernelift::cpu
