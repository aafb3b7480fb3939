// Images of the CPU device for the compiler wrappers: a device program without the kernels that it cannot run.
#pragma once
#include <memory>

#include "core/compiler/wrappers/wrapper.h"

namespace kernelift::sandbox {

/// A kernel that uses an unsupported feature is left out and named, because an application may contain kernels that it
/// launches on GPUs only. An Error means that the module as a whole cannot be lowered.
Result<wrappers::CpuImage> make_cpu_image(std::unique_ptr<llvm::Module> module);

}  // namespace kernelift::sandbox
