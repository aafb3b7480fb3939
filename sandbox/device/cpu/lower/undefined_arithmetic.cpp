// What C++ leaves undefined and a GPU defines, given the GPU's meaning before an optimiser can exploit it: conversions
// of floating values out of an integer's range saturate (NaN is 0), division by zero answers all ones and leaves the
// dividend as remainder, and INT_MIN / -1 wraps. On the host the last two would stop the process.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "sandbox/device/cpu/lower/intrinsics.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kConvertedBits = 32;  // Narrower results are converted as 32-bit integers and cut, as nvcc does.

void saturate(CastInst& cast) {
  IRBuilder<> builder(&cast);
  const bool is_signed = isa<FPToSIInst>(cast);
  Type* type = cast.getType();
  Type* wide = type->getScalarSizeInBits() < kConvertedBits ? type->getWithNewBitWidth(kConvertedBits) : type;
  Value* value = builder.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                         {wide, cast.getOperand(0)->getType()}, {cast.getOperand(0)});
  cast.replaceAllUsesWith(builder.CreateTrunc(value, type));
  cast.eraseFromParent();
}

void divide_safely(BinaryOperator& division) {
  Value *a = division.getOperand(0), *b = division.getOperand(1);
  Type* type = division.getType();
  const bool is_signed = division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::SRem;
  const bool quotient = division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::UDiv;
  if (const APInt* constant;
      PatternMatch::match(b, PatternMatch::m_APInt(constant)) && !constant->isZero() && !constant->isAllOnes())
    return;
  IRBuilder<> builder(&division);
  Constant* ones = Constant::getAllOnesValue(type);
  Value* zero_divisor = builder.CreateIsNull(b);
  Value* negates = is_signed ? builder.CreateICmpEQ(b, ones) : nullptr;
  Value* special = negates ? builder.CreateOr(zero_divisor, negates) : zero_divisor;
  auto* safe = cast<Instruction>(division.clone());
  safe->setOperand(1, builder.CreateSelect(special, ConstantInt::get(type, 1), b));
  safe->dropPoisonGeneratingFlags();
  builder.Insert(safe);
  Value* answer = safe;  // For -1: x % 1 is 0 as x % -1 is.
  if (negates && quotient) answer = builder.CreateSelect(negates, builder.CreateNeg(a), answer);
  answer = builder.CreateSelect(zero_divisor, quotient ? static_cast<Value*>(ones) : a, answer);
  division.replaceAllUsesWith(answer);
  division.eraseFromParent();
}

}  // namespace

void define_arithmetic(DeviceModule& device) {
  for (Function& function : *device.module)
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      if (isa<FPToSIInst>(instruction) || isa<FPToUIInst>(instruction)) saturate(cast<CastInst>(instruction));
      else if (instruction.isIntDivRem()) divide_safely(cast<BinaryOperator>(instruction));
    }
}

}  // namespace kernelift::cpu
