// See written_facts.h.
#include "core/compiler/model/written_facts.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <set>

#include "core/compiler/model/source_line.h"

namespace kernelift {
namespace {

bool is_promise(const llvm::Instruction& instruction) {
  if (auto* assumed = llvm::dyn_cast<llvm::AssumeInst>(&instruction))
    return !llvm::isa<llvm::ConstantInt>(assumed->getArgOperand(0));
  if (!llvm::isa<llvm::UnreachableInst>(instruction)) return false;
  // Without a line it is clang's own, behind its lists of all ways out of a block.
  auto* before = llvm::dyn_cast_or_null<llvm::CallBase>(instruction.getPrevNode());
  return instruction.getDebugLoc() && !(before && before->doesNotReturn());
}

}  // namespace

WrittenFacts written_facts(const llvm::Function& kernel) {
  WrittenFacts facts;
  std::set<const llvm::Function*> seen{&kernel};
  for (std::vector<const llvm::Function*> open{&kernel}; !open.empty();) {
    auto& function = *open.back();
    open.pop_back();
    for (auto& instruction : llvm::instructions(function)) {
      if (is_promise(instruction)) facts.promises.push_back(line_of(instruction));
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      auto* callee = call ? call->getCalledFunction() : nullptr;
      if (!callee) continue;
      if (seen.insert(callee).second) open.push_back(callee);
      const std::string name = llvm::demangle(callee->getName().str());
      const std::string plain = name.substr(0, name.find('('));
      if (plain.starts_with("atomic") && plain.ends_with("_block")) facts.block_atomics.push_back(plain);
    }
  }
  std::ranges::sort(facts.block_atomics);
  return facts;
}

}  // namespace kernelift
