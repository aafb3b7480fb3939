// See data_reader.h.
#include "core/compiler/model/data_reader.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>

#include "core/base/hash.h"
#include "core/compiler/model/instruction_details.h"
#include "core/compiler/model/position.h"
#include "core/compiler/model/source_line.h"

namespace kernelift {
namespace {

/// Arithmetic that ValueReader may follow: what it makes of integers is seen by what uses the result.
bool is_arithmetic(const llvm::Instruction& instruction) {
  if (!instruction.getType()->isIntegerTy() || instruction.getType()->isIntegerTy(1)) return false;
  return llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::SelectInst, llvm::FreezeInst, llvm::PHINode>(
             instruction) &&
         !llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst, llvm::BitCastInst>(instruction);
}

class Data {
 public:
  Data(ValueReader& values, KernelModel& model) : values_(values), model_(model) {}

  void visit(llvm::Instruction& instruction) {
    note_exchange(instruction);
    if (is_arithmetic(instruction) && !followed_.contains(&instruction)) return;
    note_code(instruction);
    for (auto& operand : instruction.operands()) {
      auto* value = llvm::dyn_cast<llvm::Instruction>(operand.get());
      if (!value || !value->getType()->isIntegerTy() || value->getType()->isIntegerTy(1)) continue;
      auto* where = instruction.getParent();
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) where = phi->getIncomingBlock(operand);
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      add(*value, *where, line_of(instruction), store && store->getValueOperand() == value);
    }
  }

  std::string code() const { return code_.finish().hex(); }

 private:
  void add(llvm::Instruction& value, llvm::BasicBlock& where, unsigned line, bool stored) {
    Expression expression = values_.integer_in(&value, &where);
    auto known = [&](const std::string& name) {
      auto* term = model_.term(name);
      return !name.starts_with("term.") || (term && term->repeats);
    };
    auto variables = expression.variables();
    if (!std::ranges::all_of(variables, known)) {
      // What the value is made of, in its place. A value that was read from memory is known by its address.
      if (is_arithmetic(value) && followed_.insert(&value).second) visit(value);
      return;
    }
    model_.data.push_back({line, std::move(expression), values_.reached(&where), stored});
  }

  /// All of the instruction but the integers that it computes with, which are data.
  void note_code(const llvm::Instruction& instruction) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << instruction.getOpcodeName() << ' ' << number_of(instruction.getParent()) << ' ' << number_of(&instruction)
           << ' ' << instruction_details(instruction);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
      for (auto* from : phi->blocks()) stream << ' ' << number_of(from);
    for (auto& operand : instruction.operands()) {
      auto* type = operand->getType();
      stream << ' ';
      if (auto* argument = llvm::dyn_cast<llvm::Argument>(operand.get())) stream << "argument " << argument->getArgNo();
      else if (llvm::isa<llvm::Constant>(operand.get())) operand->printAsOperand(stream, /*PrintType=*/true);
      else if (!type->isIntegerTy() || type->isIntegerTy(1)) stream << '%' << number_of(operand.get());
    }
    code_.add(text);
  }
  /// Values and blocks are numbered as they are met.
  size_t number_of(const llvm::Value* value) { return numbers_.try_emplace(value, numbers_.size()).first->second; }

  void note_exchange(llvm::Instruction& instruction) {
    auto exchange = [&](std::string what) { model_.exchanges.push_back({line_of(instruction), std::move(what)}); };
    if (instruction.isAtomic() && !instruction.use_empty()) return exchange("the result of an atomic operation");
    if (instruction.isVolatile()) return exchange("a volatile access");
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || position(*call)) return;
    const auto name = call->getCalledFunction()->getName();
    if (call->isConvergent() || name.contains("sreg") || (name.contains("atomic") && !call->use_empty()))
      exchange(name.str());
  }

  ValueReader& values_;
  KernelModel& model_;
  Hasher code_;
  std::set<const llvm::Instruction*> followed_;
  std::map<const llvm::Value*, size_t> numbers_;
};

}  // namespace

void read_data(llvm::Function& kernel, ValueReader& values, KernelModel& model) {
  Data data(values, model);
  for (auto& instruction : llvm::instructions(kernel)) data.visit(instruction);
  model.code = data.code();
}

}  // namespace kernelift
