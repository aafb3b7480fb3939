// See carried_bits.h.
#include "sandbox/device/cpu/lower/field/carried_bits.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kShuffledOperand = 3;  // Of kl.warp: the value.

bool moves_whole_words(const Instruction& shift) {
  const auto* by = dyn_cast<ConstantInt>(shift.getOperand(1));
  return by && by->getValue().urem(kWordBits) == 0;
}

bool keeps_whole_words(const Instruction& mask) {
  const auto* kept = dyn_cast<ConstantInt>(mask.getOperand(1));
  if (!kept) return false;
  for (unsigned at = 0; at < kept->getBitWidth(); at += kWordBits) {
    const APInt word = kept->getValue().extractBits(kWordBits, at);
    if (!word.isZero() && !word.isAllOnes()) return false;
  }
  return true;
}

}  // namespace

bool is_shuffle(const Instruction& instruction) {
  if (!is_service(instruction, Service::warp)) return false;
  const auto* op = dyn_cast<ConstantInt>(instruction.getOperand(1));
  return op && op->getZExtValue() >= KL_WARP_SHFL_IDX && op->getZExtValue() <= KL_WARP_SHFL_BFLY;
}

unsigned CarriedBits::words(const Type* type) {
  const Type* element = type->getScalarType();
  if (!element->isIntegerTy() || element->getIntegerBitWidth() % kWordBits != 0 || isa<ScalableVectorType>(type))
    return 0;
  const auto* vector = dyn_cast<FixedVectorType>(type);
  return element->getIntegerBitWidth() / kWordBits * (vector ? vector->getNumElements() : 1);
}

/// Its result holds words of its operands.
bool CarriedBits::is_carrier(const Instruction& instruction) {
  if (words(instruction.getType()) == 0) return false;
  switch (instruction.getOpcode()) {
    case Instruction::PHI:
    case Instruction::Select:
    case Instruction::Freeze:
    case Instruction::Trunc:
    case Instruction::ZExt:
    case Instruction::Or:
    case Instruction::ShuffleVector: return true;
    case Instruction::BitCast: return words(instruction.getOperand(0)->getType()) != 0;
    case Instruction::And: return keeps_whole_words(instruction);
    case Instruction::LShr:
    case Instruction::Shl: return !instruction.getType()->isVectorTy() && moves_whole_words(instruction);
    case Instruction::ExtractElement: return isa<ConstantInt>(instruction.getOperand(1));
    case Instruction::InsertElement: return isa<ConstantInt>(instruction.getOperand(2));
    default: return is_shuffle(instruction);
  }
}

bool CarriedBits::is_source(const Instruction& instruction) const {
  if (words(instruction.getType()) == 0) return false;
  if (isa<LoadInst>(instruction)) return true;
  if (const auto* change = dyn_cast<AtomicRMWInst>(&instruction)) return change->getOperation() == AtomicRMWInst::Xchg;
  if (isa<BitCastInst>(instruction)) return instruction.getOperand(0)->getType()->isFPOrFPVectorTy();
  const auto* part = dyn_cast<ExtractValueInst>(&instruction);
  return part && isa<AtomicCmpXchgInst>(part->getAggregateOperand());
}

/// A use by which bits are stored, or floats again.
bool CarriedBits::is_target(const Use& use) {
  const auto* user = cast<Instruction>(use.getUser());
  if (isa<StoreInst>(user)) return use.getOperandNo() == 0;
  if (const auto* change = dyn_cast<AtomicRMWInst>(user))
    return change->getOperation() == AtomicRMWInst::Xchg && use.getOperandNo() == 1;
  if (isa<AtomicCmpXchgInst>(user)) return use.getOperandNo() > 0;
  return isa<BitCastInst>(user) && user->getType()->isFPOrFPVectorTy();
}

CarriedBits::CarriedBits(Function& function) {
  // What is stored or cast, and what that was made of; and of that, what comes from floats or memory.
  DenseSet<const Value*> wanted, made;
  SmallVector<const Instruction*, 32> work;
  auto want = [&](const Instruction& instruction) {
    if (words(instruction.getType()) != 0 && wanted.insert(&instruction).second) work.push_back(&instruction);
  };
  for (Instruction& instruction : instructions(function))
    if (any_of(instruction.uses(), is_target)) want(instruction);
  while (!work.empty()) {
    const Instruction* instruction = work.pop_back_val();
    if (is_carrier(*instruction))
      for (const Value* operand : instruction->operands())
        if (auto* source = dyn_cast<Instruction>(operand)) want(*source);
  }
  auto make = [&](const Instruction& instruction) {
    if (wanted.contains(&instruction) && made.insert(&instruction).second) work.push_back(&instruction);
  };
  for (Instruction& instruction : instructions(function))
    if (is_source(instruction)) make(instruction);
  while (!work.empty())
    for (const User* user : work.pop_back_val()->users())
      if (auto* carrier = cast<Instruction>(user); is_carrier(*carrier)) make(*carrier);
  carried_ = std::move(made);
}

bool CarriedBits::is_used(const Value* value) const {
  SmallPtrSet<const Value*, 16> seen{value};
  SmallVector<const Value*, 16> work{value};
  while (!work.empty())
    for (const Use& use : work.pop_back_val()->uses()) {
      const auto* user = cast<Instruction>(use.getUser());
      if (is_target(use)) continue;
      if (!carries(user)) return true;
      const bool data = isa<SelectInst>(user) ? use.getOperandNo() > 0
                        : is_shuffle(*user)   ? use.getOperandNo() == kShuffledOperand
                        : user->isShift()     ? use.getOperandNo() == 0
                                              : true;
      if (!data) return true;
      if (seen.insert(user).second) work.push_back(user);
    }
  return false;
}

}  // namespace kernelift::cpu
