// What shuffles and votes order, which are no barriers of memory: a load whose value goes into one has been made before
// any lane stores something that depends on its result.
#pragma once
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/LoopInfo.h>

#include <vector>

#include "core/model/kernel/kernel_model.h"

namespace kernelift {

/// By instruction, the indices of its accesses, or of its barrier.
using AccessesOf = llvm::MapVector<const llvm::Instruction*, std::vector<size_t>>;
using BarriersOf = llvm::MapVector<const llvm::Instruction*, size_t>;

/// Notes KernelModel::Access::exchanges. `exchanges`: those that order no memory.
void note_exchange_order(const AccessesOf& accesses, const BarriersOf& exchanges, const llvm::LoopInfo& loops,
                         KernelModel& model);

}  // namespace kernelift
