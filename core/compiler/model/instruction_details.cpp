// See instruction_details.h.
#include "core/compiler/model/instruction_details.h"

#include <llvm/IR/Instructions.h>
#include <llvm/Support/raw_ostream.h>

namespace kernelift {

std::string instruction_details(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto list = [&](const auto& numbers) {
    for (auto number : numbers) stream << ' ' << number;
  };
  stream << *instruction.getType();
  if (instruction.getNumOperands() > 0) stream << ' ' << *instruction.getOperand(0)->getType();
  if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) stream << ' ' << compare->getPredicate();
  if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    stream << ' ' << llvm::AtomicRMWInst::getOperationName(atomic->getOperation());
  if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
    stream << ' ' << *address->getSourceElementType();
  if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) list(shuffle->getShuffleMask());
  if (auto* member = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) list(member->getIndices());
  if (auto* member = llvm::dyn_cast<llvm::InsertValueInst>(&instruction)) list(member->getIndices());
  return text;
}

}  // namespace kernelift
