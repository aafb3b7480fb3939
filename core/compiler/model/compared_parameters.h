// What a kernel's branches ask of its parameters, and of members of structures that it gets by value.
#pragma once
#include <llvm/IR/Function.h>

#include "core/model/kernel/kernel_model.h"

namespace kernelift {

/// EXPECTS: `kernel` went through prepare_for_model().
KernelModel::Compared compared_parameters(llvm::Function& kernel);

}  // namespace kernelift
