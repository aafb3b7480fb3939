// See compared_parameters.h.
#include "core/compiler/model/compared_parameters.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "core/compiler/model/value_reader.h"

namespace kernelift {
namespace {

/// The integer parameter that the value is, perhaps in another width or some of its bits.
std::optional<std::string> integer_parameter(llvm::Value* value, std::optional<int64_t>& mask) {
  for (;;) {
    if (auto name = parameter_name(value)) return value->getType()->isIntegerTy() ? name : std::nullopt;
    auto* step = llvm::dyn_cast<llvm::Instruction>(value);
    const bool keeps =
        step && (llvm::isa<llvm::ZExtInst, llvm::SExtInst, llvm::TruncInst, llvm::FreezeInst>(step) ||
                 (step->getOpcode() == llvm::Instruction::And && llvm::isa<llvm::ConstantInt>(step->getOperand(1))));
    if (!keeps) return std::nullopt;
    if (auto* bits =
            llvm::dyn_cast_or_null<llvm::ConstantInt>(step->getNumOperands() > 1 ? step->getOperand(1) : nullptr);
        bits && bits->getBitWidth() <= 64)
      mask = bits->getSExtValue();
    value = step->getOperand(0);
  }
}

/// The number of floating point that the value is, perhaps in another precision.
std::optional<std::string> number_parameter(llvm::Value* value) {
  while (llvm::isa<llvm::FPExtInst, llvm::FPTruncInst, llvm::FreezeInst>(value))
    value = llvm::cast<llvm::Instruction>(value)->getOperand(0);
  return value->getType()->isFloatingPointTy() ? parameter_name(value) : std::nullopt;
}

constexpr int64_t kFalse = 0;  // A flag is compared with it.

class Comparisons {
 public:
  void note(llvm::Value* value, int64_t constant) {
    std::optional<int64_t> mask;
    const auto parameter = integer_parameter(value, mask);
    if (!parameter) return;
    auto& all = found.integers[*parameter];
    all.insert(constant);
    if (mask) all.insert(*mask);  // All of the bits that are asked for.
  }

  void note(llvm::Value* value, const llvm::ConstantInt& constant) {
    if (constant.getBitWidth() <= 64) note(value, constant.getSExtValue());
  }

  void note(llvm::CmpInst& compare) {
    for (unsigned side : {0u, 1u}) {
      llvm::Value *value = compare.getOperand(side), *with = compare.getOperand(1 - side);
      if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(with)) note(value, *constant);
      if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(with)) note(value, *constant);
      if (llvm::isa<llvm::ConstantPointerNull>(with->stripPointerCasts()))
        if (auto* pointer = llvm::dyn_cast<llvm::Argument>(value->stripPointerCasts()))
          found.pointers.insert(pointer->getArgNo());
    }
  }

  void note(llvm::Value* value, const llvm::ConstantFP& constant) {
    const auto parameter = number_parameter(value);
    llvm::APFloat number = constant.getValueAPF();
    bool rounded = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &rounded);
    if (parameter && number.isFinite()) found.numbers[*parameter].insert(number.convertToDouble());
  }

  KernelModel::Compared found;
};

}  // namespace

KernelModel::Compared compared_parameters(llvm::Function& kernel) {
  Comparisons comparisons;
  for (auto& argument : kernel.args())
    if (argument.getType()->isIntegerTy(1) && !argument.use_empty()) comparisons.note(&argument, kFalse);
  for (auto& instruction : llvm::instructions(kernel)) {
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
      comparisons.note(*compare);
    } else if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
      for (auto& one : choice->cases()) comparisons.note(choice->getCondition(), *one.getCaseValue());
    } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      // max(scale, 0.5f) and the like.
      for (unsigned side : {0u, 1u})
        if (llvm::is_contained(
                {llvm::Intrinsic::maxnum, llvm::Intrinsic::minnum, llvm::Intrinsic::maximum, llvm::Intrinsic::minimum},
                call->getIntrinsicID()))
          if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(call->getArgOperand(1 - side)))
            comparisons.note(call->getArgOperand(side), *constant);
    } else if (instruction.getType()->isIntegerTy(1) && llvm::isa<llvm::TruncInst>(instruction)) {
      comparisons.note(&instruction, kFalse);
    }
  }
  return std::move(comparisons.found);
}

}  // namespace kernelift
