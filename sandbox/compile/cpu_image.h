// What the compiler wrappers ask of the CPU device: a device program as an image, kernels that it cannot run left out.
#pragma once
#include <memory>

#include "core/compiler/wrappers/wrapper.h"

namespace kernelift {

/// A kernel that reaches something unsupported is left out by name: an application may hold kernels that it launches on
/// GPUs only. What is wrong with the module as a whole is an Error.
Result<wrappers::CpuImage> make_cpu_image(std::unique_ptr<llvm::Module> module);

}  // namespace kernelift
