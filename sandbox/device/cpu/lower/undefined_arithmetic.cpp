// What C++ leaves undefined and a GPU defines, given the GPU's meaning before an optimiser can exploit it: conversions
// of floating values out of an integer's range saturate, shifts by the register's width or more leave only the sign,
// division by zero answers all ones and leaves the dividend as remainder, and INT_MIN / -1 wraps. On the host the last
// two would stop the process. Conversions of double to the 16-bit formats, for which the host has no instruction, round
// once.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "sandbox/device/cpu/lower/intrinsics.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kConvertedBits = 32;  // Narrower results are converted as 32-bit integers and cut, as nvcc does.

/// The half-precision types' own conversions go straight to narrow integers.
void saturate(CastInst& cast) {
  IRBuilder<> builder(&cast);
  Type* type = cast.getType();
  const bool cut = type->getScalarSizeInBits() < kConvertedBits && cast.getSrcTy()->getScalarSizeInBits() > 16;
  Value* value = convert_to_integer(builder, cast.getOperand(0), cut ? type->getWithNewBitWidth(kConvertedBits) : type,
                                    isa<FPToSIInst>(cast));
  cast.replaceAllUsesWith(builder.CreateTrunc(value, type));
  cast.eraseFromParent();
}

/// Through a float whose last bit says whether anything was lost: the nearest 16-bit value of it is the double's own.
void round_once(CastInst& cast) {
  IRBuilder<> builder(&cast);
  Value* exact = cast.getOperand(0);
  Type* single = exact->getType()->getWithNewType(builder.getFloatTy());
  Type* word = exact->getType()->getWithNewType(builder.getInt32Ty());
  Value* nearest = builder.CreateFPTrunc(exact, single);
  Value* back = builder.CreateFPExt(nearest, exact->getType());
  Value* bits = builder.CreateBitCast(nearest, word);
  Value* nearer_zero = builder.CreateFCmpOLT(builder.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                             builder.CreateUnaryIntrinsic(Intrinsic::fabs, exact));
  Value* neighbour = builder.CreateAdd(
      bits, builder.CreateSelect(nearer_zero, ConstantInt::get(word, 1), Constant::getAllOnesValue(word)));
  Value* moves = builder.CreateAnd(builder.CreateFCmpONE(back, exact),
                                   builder.CreateIsNull(builder.CreateAnd(bits, ConstantInt::get(word, 1))));
  Value* odd = builder.CreateBitCast(builder.CreateSelect(moves, neighbour, bits), single);
  cast.replaceAllUsesWith(builder.CreateFPTrunc(odd, cast.getType()));
  cast.eraseFromParent();
}

/// Hosts' vector shifts do the same, and LLVM knows it.
void clamp_shift(BinaryOperator& shift) {
  Type* type = shift.getType();
  Value* amount = shift.getOperand(1);
  const unsigned width = type->getScalarSizeInBits();
  if (const APInt* constant; PatternMatch::match(amount, PatternMatch::m_APInt(constant)) && constant->ult(width)) return;
  IRBuilder<> builder(&shift);
  if (shift.getOpcode() == Instruction::AShr) {
    shift.setOperand(1, builder.CreateBinaryIntrinsic(Intrinsic::umin, amount, ConstantInt::get(type, width - 1)));
    shift.setIsExact(false);
    return;
  }
  auto* within = cast<Instruction>(shift.clone());
  builder.Insert(within);
  shift.replaceAllUsesWith(builder.CreateSelect(builder.CreateICmpULT(amount, ConstantInt::get(type, width)), within,
                                                Constant::getNullValue(type)));
  shift.eraseFromParent();
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

bool rounds_twice(const Instruction& instruction) {
  return isa<FPTruncInst>(instruction) && instruction.getType()->getScalarSizeInBits() == 16 &&
         instruction.getOperand(0)->getType()->getScalarType()->isDoubleTy();
}

}  // namespace

Value* convert_to_integer(IRBuilderBase& builder, Value* value, Type* type, bool is_signed) {
  const unsigned bits = type->getScalarSizeInBits();
  if (value->getType()->getScalarSizeInBits() == 16)
    value = builder.CreateFPExt(value, value->getType()->getWithNewType(builder.getFloatTy()));
  Value* saturated = builder.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                             {type, value->getType()}, {value});
  if (bits <= 32 && !value->getType()->getScalarType()->isDoubleTy()) return saturated;
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value),
                              ConstantInt::get(type, APInt::getSignMask(bits)), saturated);
}

void define_arithmetic(DeviceModule& device) {
  for (Function& function : *device.module)
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      if (isa<FPToSIInst>(instruction) || isa<FPToUIInst>(instruction)) saturate(cast<CastInst>(instruction));
      else if (rounds_twice(instruction)) round_once(cast<CastInst>(instruction));
      else if (instruction.isShift()) clamp_shift(cast<BinaryOperator>(instruction));
      else if (instruction.isIntDivRem()) divide_safely(cast<BinaryOperator>(instruction));
    }
}

}  // namespace kernelift::cpu
