// What C++ leaves undefined and a GPU defines, given the GPU's meaning before an optimiser can exploit it: conversions
// of floating values out of an integer's range saturate, shifts by the register's width or more leave only the sign,
// division by zero answers all ones and leaves the dividend as remainder, and INT_MIN / -1 wraps. On the host the last
// two would stop the process. Conversions of double to the 16-bit formats, for which the host has no instruction, round
// once, and so does bfloat16's arithmetic: few hosts have it, theirs loses denormals, and C libraries lack the
// functions.
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include "sandbox/device/cpu/lower/intrinsics.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kConvertedBits = 32;  // Narrower results are converted as 32-bit integers and cut, as nvcc does.

void replace(Instruction& old, Value* value) {
  old.replaceAllUsesWith(value);
  old.eraseFromParent();
}

/// The half-precision types' own conversions go straight to narrow integers.
void saturate(CastInst& cast) {
  IRBuilder<> builder(&cast);
  Type* type = cast.getType();
  const bool cut = type->getScalarSizeInBits() < kConvertedBits && cast.getSrcTy()->getScalarSizeInBits() > 16;
  Value* value = convert_to_integer(builder, cast.getOperand(0), cut ? type->getWithNewBitWidth(kConvertedBits) : type,
                                    isa<FPToSIInst>(cast));
  replace(cast, builder.CreateTrunc(value, type));
}

/// A float to a 16-bit format, to nearest even; for bfloat16 by its bits, NaN as the GPU's.
Value* narrowed(IRBuilderBase& builder, Value* value, Type* type) {
  if (!type->getScalarType()->isBFloatTy()) return builder.CreateFPTrunc(value, type);
  Type* word = value->getType()->getWithNewType(builder.getInt32Ty());
  Value* bits = builder.CreateBitCast(value, word);
  Value* last = builder.CreateAnd(builder.CreateLShr(bits, 16), ConstantInt::get(word, 1));
  Value* nearest = builder.CreateAdd(builder.CreateAdd(bits, ConstantInt::get(word, 0x7fff)), last);
  Value* kept = builder.CreateSelect(builder.CreateFCmpUNO(value, value), ConstantInt::get(word, 0x7fff0000), nearest);
  return builder.CreateBitCast(
      builder.CreateTrunc(builder.CreateLShr(kept, 16), word->getWithNewType(builder.getInt16Ty())), type);
}

/// A bfloat16 is the upper half of a float.
Value* widened(IRBuilderBase& builder, Value* value) {
  Type* word = value->getType()->getWithNewType(builder.getInt32Ty());
  Value* bits =
      builder.CreateZExt(builder.CreateBitCast(value, value->getType()->getWithNewType(builder.getInt16Ty())), word);
  return builder.CreateBitCast(builder.CreateShl(bits, 16), value->getType()->getWithNewType(builder.getFloatTy()));
}

/// Through a float whose last bit says whether anything was lost: the nearest 16-bit value of it is the double's own.
Value* rounded_once(IRBuilderBase& builder, Value* exact, Type* type) {
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
  return narrowed(builder, odd, type);
}

/// An integer to convert: of one with more bits than a double has, the lowest that it has says whether more are set.
Value* rounded_to_odd_for_double(IRBuilderBase& builder, CastInst& cast) {
  Value* value = cast.getOperand(0);
  Type* type = value->getType();
  if (type->getScalarSizeInBits() != 64) return value;
  auto number = [&](uint64_t bits) { return ConstantInt::get(type, bits); };
  const bool is_signed = isa<SIToFPInst>(cast);
  Value* fits = builder.CreateICmpULT(is_signed ? builder.CreateAdd(value, number(1ull << 53)) : value,
                                      number(is_signed ? 1ull << 54 : 1ull << 53));
  Value* rest = builder.CreateIsNotNull(builder.CreateAnd(value, number(0x7ff)));
  Value* coarse = builder.CreateOr(builder.CreateAnd(value, number(~0x7ffull)),
                                   builder.CreateSelect(rest, number(0x800), number(0)));
  return builder.CreateSelect(fits, value, coarse);
}

/// Functions of numbers whose float result, rounded once more, is the bfloat16 one: hosts' libraries have no such
/// functions, nor the conversions that LLVM would call around them.
bool is_float_function(const IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::trunc:
    case Intrinsic::rint:
    case Intrinsic::nearbyint:
    case Intrinsic::round:
    case Intrinsic::roundeven:
    case Intrinsic::sqrt:
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::minnum:
    case Intrinsic::maxnum:
    case Intrinsic::minimum:
    case Intrinsic::maximum:
    case Intrinsic::minimumnum:
    case Intrinsic::maximumnum: return true;
    default: return false;
  }
}

/// Atomic arithmetic of bfloat16 as the loop that it is, whose arithmetic is then defined like any other.
void unroll_atomics(Function& function) {
  std::vector<AtomicRMWInst*> found;
  for (Instruction& instruction : instructions(function))
    if (auto* atomic = dyn_cast<AtomicRMWInst>(&instruction);
        atomic && atomic->isFloatingPointOperation() && atomic->getType()->isBFloatTy())
      found.push_back(atomic);
  auto exchange = [](IRBuilderBase& builder, Value* address, Value* loaded, Value* wanted, Align align,
                     AtomicOrdering order, SyncScope::ID scope, Value*& success, Value*& seen, Instruction*) {
    auto bits = [&](Value* value) { return builder.CreateBitCast(value, builder.getInt16Ty()); };
    Value* pair = builder.CreateAtomicCmpXchg(address, bits(loaded), bits(wanted), align, order,
                                              AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
    success = builder.CreateExtractValue(pair, 1);
    seen = builder.CreateBitCast(builder.CreateExtractValue(pair, 0), loaded->getType());
  };
  for (AtomicRMWInst* atomic : found) expandAtomicRMWToCmpXchg(atomic, exchange);
}

/// Products of bfloat16 are exact in double, and so are sums as far as they can lie between two of its values.
bool define_bfloat(Instruction& instruction) {
  Type* type = instruction.getType();
  auto is_bfloat = [](const Value* value) { return value->getType()->getScalarType()->isBFloatTy(); };
  if (auto* compared = dyn_cast<FCmpInst>(&instruction); compared && is_bfloat(compared->getOperand(0))) {
    IRBuilder<> builder(&instruction);
    for (Use& operand : compared->operands()) operand = widened(builder, operand);
    return true;
  }
  if (auto* extended = dyn_cast<FPExtInst>(&instruction); extended && is_bfloat(extended->getOperand(0))) {
    IRBuilder<> builder(&instruction);
    Value* single = widened(builder, extended->getOperand(0));
    replace(instruction, type->getScalarType()->isFloatTy() ? single : builder.CreateFPExt(single, type));
    return true;
  }
  if (!type->getScalarType()->isBFloatTy()) return false;
  IRBuilder<> builder(&instruction);
  auto wide = [&](unsigned operand, Type* element) {
    Value* single = widened(builder, instruction.getOperand(operand));
    return element->isFloatTy() ? single : builder.CreateFPExt(single, type->getWithNewType(element));
  };
  Type* word = type->getWithNewType(builder.getInt16Ty());
  auto bits = [&](unsigned operand, uint64_t mask) {
    return builder.CreateAnd(builder.CreateBitCast(instruction.getOperand(operand), word),
                             ConstantInt::get(word, mask));
  };
  constexpr uint64_t kSign = 0x8000, kRest = 0x7fff;
  if (isa<UnaryOperator>(instruction)) {
    replace(instruction,
            builder.CreateBitCast(builder.CreateXor(bits(0, kSign | kRest), ConstantInt::get(word, kSign)), type));
    return true;
  }
  if (auto* operation = dyn_cast<BinaryOperator>(&instruction)) {
    Type* single = builder.getFloatTy();
    replace(instruction,
            narrowed(builder, builder.CreateBinOp(operation->getOpcode(), wide(0, single), wide(1, single)), type));
    return true;
  }
  if (isa<SIToFPInst>(instruction) || isa<UIToFPInst>(instruction)) {
    Value* exact = builder.CreateCast(Instruction::CastOps(instruction.getOpcode()),
                                      rounded_to_odd_for_double(builder, cast<CastInst>(instruction)),
                                      type->getWithNewType(builder.getDoubleTy()));
    replace(instruction, rounded_once(builder, exact, type));
    return true;
  }
  auto* call = dyn_cast<IntrinsicInst>(&instruction);
  if (call && is_float_function(*call)) {
    std::vector<Value*> operands;
    for (unsigned i = 0; i < call->arg_size(); ++i) operands.push_back(wide(i, builder.getFloatTy()));
    Value* single =
        builder.CreateIntrinsic(call->getIntrinsicID(), {type->getWithNewType(builder.getFloatTy())}, operands);
    replace(instruction, narrowed(builder, single, type));
    return true;
  }
  if (call && (call->getIntrinsicID() == Intrinsic::fabs || call->getIntrinsicID() == Intrinsic::copysign)) {
    Value* sign = call->getIntrinsicID() == Intrinsic::fabs ? ConstantInt::get(word, 0) : bits(1, kSign);
    replace(instruction, builder.CreateBitCast(builder.CreateOr(bits(0, kRest), sign), type));
    return true;
  }
  if (!call || call->getIntrinsicID() != Intrinsic::fma) return false;
  Type* twice = builder.getDoubleTy();
  Value* sum = builder.CreateFAdd(builder.CreateFMul(wide(0, twice), wide(1, twice)), wide(2, twice));
  replace(instruction, rounded_once(builder, sum, type));
  return true;
}

/// Hosts' vector shifts do the same, and LLVM knows it.
void clamp_shift(BinaryOperator& shift) {
  Type* type = shift.getType();
  Value* amount = shift.getOperand(1);
  const unsigned width = type->getScalarSizeInBits();
  if (const APInt* constant; PatternMatch::match(amount, PatternMatch::m_APInt(constant)) && constant->ult(width))
    return;
  IRBuilder<> builder(&shift);
  if (shift.getOpcode() == Instruction::AShr) {
    shift.setOperand(1, builder.CreateBinaryIntrinsic(Intrinsic::umin, amount, ConstantInt::get(type, width - 1)));
    shift.setIsExact(false);
    return;
  }
  auto* within = cast<Instruction>(shift.clone());
  builder.Insert(within);
  replace(shift, builder.CreateSelect(builder.CreateICmpULT(amount, ConstantInt::get(type, width)), within,
                                      Constant::getNullValue(type)));
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
  replace(division, answer);
}

bool narrow(Instruction& instruction) {
  Type* type = instruction.getType();
  if (!isa<FPTruncInst>(instruction) || type->getScalarSizeInBits() != 16) return false;
  IRBuilder<> builder(&instruction);
  Value* value = instruction.getOperand(0);
  const bool from_double = value->getType()->getScalarType()->isDoubleTy();
  replace(instruction, from_double ? rounded_once(builder, value, type) : narrowed(builder, value, type));
  return true;
}

}  // namespace

Value* convert_to_integer(IRBuilderBase& builder, Value* value, Type* type, bool is_signed) {
  const unsigned bits = type->getScalarSizeInBits();
  if (value->getType()->getScalarSizeInBits() == 16)
    value = builder.CreateFPExt(value, value->getType()->getWithNewType(builder.getFloatTy()));
  Value* saturated = builder.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                             {type, value->getType()}, {value});
  if (bits <= 32 && !value->getType()->getScalarType()->isDoubleTy()) return saturated;
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value), ConstantInt::get(type, APInt::getSignMask(bits)),
                              saturated);
}

void define_arithmetic(DeviceModule& device) {
  for (Function& function : *device.module) {
    unroll_atomics(function);
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      if (isa<FPToSIInst>(instruction) || isa<FPToUIInst>(instruction)) saturate(cast<CastInst>(instruction));
      else if (narrow(instruction) || define_bfloat(instruction)) continue;
      else if (instruction.isShift()) clamp_shift(cast<BinaryOperator>(instruction));
      else if (instruction.isIntDivRem()) divide_safely(cast<BinaryOperator>(instruction));
    }
  }
}

void define_bfloats(Module& module) {
  for (Function& function : module)
    for (Instruction& instruction : make_early_inc_range(instructions(function)))
      if (!narrow(instruction)) define_bfloat(instruction);
}

}  // namespace kernelift::cpu
