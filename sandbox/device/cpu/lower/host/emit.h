// From a finished host module to the bytes of a shared object.
#pragma once
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <memory>
#include <vector>

#include "cmake/headers/llvm.h"
#include "core/base/result.h"

namespace kernelift::cpu {

/// `cpu` "native" is this machine.
Result<std::unique_ptr<llvm::TargetMachine>> host_machine(const std::string& cpu, int level);
/// Names and sizes of the object's functions come back by `sizes`.
Result<std::vector<char>> emit_shared_object(llvm::Module& module, llvm::TargetMachine& machine,
                                             std::map<std::string, uint64_t>& sizes);

}  // namespace kernelift::cpu
