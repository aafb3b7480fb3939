// The device library: CUDA's arithmetic (`__nv_*`) and NVVM's (`__nvvm_*`) written in C (devicelib/), compiled for this
// architecture at build time and linked into each image as bitcode, so that it inlines and vectorises.
#pragma once
#include "cmake/llvm_headers.h"
#include "core/base/result.h"

namespace kernelift::cpu {

/// The library's function for llvm.nvvm.NAME, "" if it has none. Flush-to-zero variants answer like the plain ones.
std::string device_library_name(llvm::StringRef nvvm_name);

/// Links what the module calls, as internal functions. Refuses functions the library lacks and mistyped calls.
Status link_device_library(llvm::Module& module);

}  // namespace kernelift::cpu
