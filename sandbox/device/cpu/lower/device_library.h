// The device library: CUDA's arithmetic (`__nv_*`) and NVVM's (`__nvvm_*`) written in C (devicelib/), compiled for this
// architecture at build time and linked into each image as bitcode, so that it inlines and vectorises.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// The library's function for llvm.nvvm.NAME, "" if it has none. Flush-to-zero variants answer like the plain ones.
std::string device_library_name(llvm::StringRef nvvm_name);

/// Refuses the functions that call mathematics which the library lacks.
void refuse_unknown_mathematics(DeviceModule& device);

/// Links what the module calls and is `wanted`, as internal functions. An Error for mistyped calls.
Status link_device_library(
    llvm::Module& module,
    llvm::function_ref<bool(const llvm::Function&)> wanted = [](const llvm::Function&) { return true; });

}  // namespace kernelift::cpu
