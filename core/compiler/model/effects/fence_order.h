// What a kernel's memory fences leave unordered: two objects, of which one may be touched before the other without a
// fence between. A fence that stands elsewhere leaves others.
#pragma once
#include <llvm/IR/Function.h>

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace kernelift {

/// The kind of the fence that the instruction is: "llvm.nvvm.membar.gl"; nullopt: it is none.
std::optional<std::string> fence_kind(const llvm::Instruction& instruction);

/// The objects that an instruction touches and that some thread writes, by name.
using TouchedObjects = std::function<std::set<std::string>(const llvm::Instruction&)>;

/// "arg.a1, arg.a2 by llvm.nvvm.membar.gl", for each kind of fence that the kernel has.
std::set<std::string> unfenced(const llvm::Function& kernel, const TouchedObjects& touched);

}  // namespace kernelift
