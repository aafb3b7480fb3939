// What a kernel prints, as texts that are equal where two kernels print the same under the same launch.
#pragma once
#include <llvm/IR/Function.h>

#include <set>
#include <string>

#include "core/compiler/model/value_reader.h"

namespace kernelift {

bool is_print(const llvm::Function& callee);

/// Of each print of the kernel, KernelModel::kPrint with its format and a hash of what it prints and when. One of which
/// that is not known becomes a gap of the model. EXPECTS: ValueReader::settle_terms() was called.
std::set<std::string> print_texts(llvm::Function& kernel, ValueReader& values, KernelModel& model);

}  // namespace kernelift
