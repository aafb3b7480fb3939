// See product_width.h.
#include "core/compiler/model/product_width.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace kernelift {
namespace {

constexpr int kDeepest = 20;

void add_parameters(const llvm::Value* value, std::set<std::string>& found, int depth = 0) {
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
    found.insert("arg.a" + std::to_string(argument->getArgNo()));
  } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
    // A member of a parameter; an element of memory is as much a factor as the pointer to it.
    add_parameters(load->getPointerOperand(), found, depth + 1);
  } else if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value); instruction && depth < kDeepest) {
    if (llvm::isa<llvm::PHINode, llvm::CallBase>(instruction)) return;
    for (auto& operand : instruction->operands()) add_parameters(operand, found, depth + 1);
  }
}

}  // namespace

ProductWidths product_widths(const llvm::Function& kernel) {
  ProductWidths widths;
  for (auto& instruction : llvm::instructions(kernel)) {
    if (instruction.getOpcode() != llvm::Instruction::Mul || !instruction.getType()->isIntegerTy() ||
        llvm::isa<llvm::Constant>(instruction.getOperand(1)))
      continue;
    std::set<std::string> parameters;
    add_parameters(&instruction, parameters);
    std::string text;
    for (auto& name : parameters) text += (text.empty() ? "" : " * ") + name;
    if (text.empty()) continue;
    (instruction.getType()->getIntegerBitWidth() <= 32 ? widths.narrow : widths.wide).insert(text);
  }
  return widths;
}

}  // namespace kernelift
