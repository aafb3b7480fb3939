// Numbers that a kernel computes in 32 bits and the model reads as if they never overflowed: where one is extended,
// compared or divided, what it would be without overflow has to fit. In between, sums and products are right modulo
// 2^32 whatever is lost on the way.
#pragma once
#include "core/compiler/model/value_reader.h"

namespace kernelift {

/// Adds KernelModel::narrow. Numbers that only go into stored values are none of it, nor are those of which the ranges
/// of positions and constants say that they fit, nor a loop's counter that a test of 32 bits keeps below its bound.
void read_narrow_numbers(llvm::Function& kernel, llvm::ScalarEvolution& evolution,
                         const llvm::DominatorTree& dominators, ValueReader& values, KernelModel& model);

/// KernelModel::Access::reach of an access through the pointer.
uint64_t reach_of(const llvm::Value* pointer, const llvm::DataLayout& layout);

}  // namespace kernelift
