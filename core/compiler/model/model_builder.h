// Device IR to a KernelModel (core/model/kernel_model.h). Nothing here reads source text.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/launch/geometry.h"

namespace llvm {
class Module;
}

namespace kernelift {

/// The model of the kernel with the mangled name `kernel` in unoptimised device IR with line tables. With `block`,
/// ntid is these numbers, which turns loops over a block's threads into ones that are understood. The module is
/// changed: calls are inlined, and loops brought into a canonical form. Refused if there is no such kernel.
Result<KernelModel> build_kernel_model(llvm::Module& module, const std::string& kernel,
                                       const std::optional<Dim3>& block = {});

}  // namespace kernelift
