// The integers by which a thread's behaviour differs from another's: KernelModel::data and KernelModel::exchanges.
#pragma once
#include "core/compiler/model/value_reader.h"

namespace kernelift {

void read_data(llvm::Function& kernel, ValueReader& values, KernelModel& model);

}  // namespace kernelift
