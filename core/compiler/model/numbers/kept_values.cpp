// See kept_values.h.
#include "core/compiler/model/numbers/kept_values.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include "core/compiler/model/position.h"

namespace kernelift {
namespace {

constexpr const char* kMark = "kernelift.kept";  ///< Of the freezes.
constexpr unsigned kHalf = 32, kWhole = 64;
constexpr uint64_t kLeastOfHash = 1 << 15;     ///< A larger constant of 32 bits is no stride.
constexpr unsigned kLeastBitsOfWideHash = 31;  ///< Of 64 bits: strides have fewer.

/// Something in memory is part of it, or what a call returns, or a value that is kept.
bool reads_memory(const llvm::Value* of) {
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  llvm::SmallVector<const llvm::Value*> open{of};
  while (!open.empty()) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
    if (!instruction || !seen.insert(instruction).second) continue;
    if (is_kept(*instruction)) return true;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      auto* argument = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(load->getPointerOperand()));
      if (!argument || !argument->hasByValAttr()) return true;
      continue;
    }
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
    if (intrinsic && position(*intrinsic)) continue;
    if (instruction->mayReadOrWriteMemory() ||
        (llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::MinMaxIntrinsic>(instruction)))
      return true;
    for (auto& operand : instruction->operands())
      if (operand->getType()->isIntegerTy() && operand->getType()->getIntegerBitWidth() > 1) open.push_back(operand);
  }
  return false;
}

/// It multiplies a value in memory by a constant, again: a hash.
bool is_hash(const llvm::Instruction& product) {
  constexpr int kDeepest = 8;
  bool loads = false, multiplies = false;
  auto walk = [&](auto& self, const llvm::Value* value, int depth) -> void {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || depth > kDeepest) return;
    loads |= llvm::isa<llvm::LoadInst>(instruction);
    multiplies |= instruction != &product && instruction->getOpcode() == llvm::Instruction::Mul &&
                  !instruction->hasNoSignedWrap() && llvm::isa<llvm::ConstantInt>(instruction->getOperand(1));
    if (!llvm::isa<llvm::PHINode, llvm::LoadInst, llvm::CallBase>(instruction))
      for (auto& operand : instruction->operands()) self(self, operand, depth + 1);
  };
  walk(walk, &product, 0);
  return loads && multiplies;
}

/// What is lost above its bits matters: sums, products and addresses are right without.
bool is_compared_or_divided(const llvm::Instruction& product) {
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  llvm::SmallVector<const llvm::Instruction*> open{&product};
  while (!open.empty()) {
    auto* value = open.pop_back_val();
    if (!seen.insert(value).second) continue;
    for (auto* user : value->users()) {
      auto* instruction = llvm::cast<llvm::Instruction>(user);
      switch (instruction->getOpcode()) {
        case llvm::Instruction::Add:
        case llvm::Instruction::Sub:
        case llvm::Instruction::Mul:
        case llvm::Instruction::Shl:
        case llvm::Instruction::And:
        case llvm::Instruction::Or:
        case llvm::Instruction::Xor:
        case llvm::Instruction::PHI:
        case llvm::Instruction::Select:
        case llvm::Instruction::Freeze: open.push_back(instruction); break;
        case llvm::Instruction::Trunc:
        case llvm::Instruction::GetElementPtr:
        case llvm::Instruction::IntToPtr:
        case llvm::Instruction::Store:
        case llvm::Instruction::AtomicRMW: break;
        default: return true;
      }
    }
  }
  return false;
}

/// A product that is no sum of what it is made of.
bool wraps(const llvm::Instruction& product) {
  const bool shifts = product.getOpcode() == llvm::Instruction::Shl;
  if ((product.getOpcode() != llvm::Instruction::Mul && !shifts) || product.hasNoSignedWrap()) return false;
  auto* by = llvm::dyn_cast<llvm::ConstantInt>(product.getOperand(1));
  if (!by) return false;
  if (product.getType()->isIntegerTy(kHalf))
    return !shifts && (by->getValue().abs().uge(kLeastOfHash) || is_hash(product));
  if (!product.getType()->isIntegerTy(kWhole) || product.hasNoUnsignedWrap()) return false;
  auto is_shifted_back = [](auto* user) {
    return llvm::cast<llvm::Instruction>(user)->getOpcode() == llvm::Instruction::AShr;
  };
  if (shifts && llvm::all_of(product.users(), is_shifted_back)) return false;  // takes_bits() sees that.
  const bool spreads =
      shifts ? by->getValue().uge(kLeastBitsOfWideHash) : by->getValue().abs().getActiveBits() > kLeastBitsOfWideHash;
  return spreads || (reads_memory(product.getOperand(0)) && is_compared_or_divided(product));
}

/// It takes some bits of a wider value, which scalar evolution reads as all of it. Those below 32 it reads as they are.
bool takes_bits(const llvm::Instruction& instruction) {
  using namespace llvm::PatternMatch;
  auto* type = instruction.getType();
  auto* of = instruction.getNumOperands() > 0 ? instruction.getOperand(0) : nullptr;
  if (instruction.getOpcode() == llvm::Instruction::Trunc) {
    const unsigned bits = type->isIntegerTy() ? type->getIntegerBitWidth() : 0;
    if (bits < kHalf) return false;
    return of->getType()->getIntegerBitWidth() > kWhole || (reads_memory(of) && !is_known_to_fit(*of, bits));
  }
  if (!type->isIntegerTy(kWhole)) return false;
  const llvm::APInt *mask = nullptr, *left = nullptr, *right = nullptr;
  if (match(&instruction, m_And(m_Value(), m_APInt(mask)))) {
    if (!mask->isShiftedMask() || mask->isNegative() || mask->popcount() < kHalf) return false;
    return !mask->isMask(kHalf) || reads_memory(of);
  }
  if (match(&instruction, m_AShr(m_Shl(m_Value(), m_APInt(left)), m_APInt(right)))) {
    if (llvm::cast<llvm::Instruction>(of)->hasNoSignedWrap()) return false;
    return *left != kHalf || *right != kHalf || reads_memory(of);
  }
  return match(&instruction, m_AShr(m_Add(m_Shl(m_Value(), m_APInt(left)), m_ConstantInt()), m_APInt(right)));
}

/// A number of 64 bits in memory, or one that wrapped around, is divided as an unsigned one: no quotient of what it is
/// made of.
bool divides_bits(const llvm::Instruction& quotient) {
  switch (quotient.getOpcode()) {
    case llvm::Instruction::UDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::LShr: break;
    default: return false;
  }
  const llvm::DataLayout& layout = quotient.getModule()->getDataLayout();
  return quotient.getType()->isIntegerTy(kWhole) && llvm::any_of(quotient.operands(), [&](auto& operand) {
           return reads_memory(operand) && !llvm::computeKnownBits(operand, layout).isNonNegative();
         });
}

}  // namespace

bool is_kept(const llvm::Instruction& instruction) {
  auto* freeze = instruction.hasOneUse() ? llvm::dyn_cast<llvm::FreezeInst>(*instruction.user_begin()) : nullptr;
  return freeze && freeze->hasMetadata(kMark);
}

bool is_known_to_fit(const llvm::Value& value, unsigned bits) {
  const unsigned all = value.getType()->getIntegerBitWidth();
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (bits >= all ||
      (instruction && llvm::ComputeNumSignBits(&value, instruction->getModule()->getDataLayout()) > all - bits))
    return true;
  const auto range = llvm::computeConstantRange(&value, /*ForSigned=*/true);
  return range.getSignedMin().isSignedIntN(bits) && range.getSignedMax().isSignedIntN(bits);
}

void keep_values(llvm::Function& kernel) {
  auto keep = [&](auto&& is_one) {
    for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
      if (!is_one(instruction)) continue;
      auto* kept = new llvm::FreezeInst(&instruction, "", std::next(instruction.getIterator()));
      kept->setDebugLoc(instruction.getDebugLoc());
      kept->setMetadata(kMark, llvm::MDNode::get(kernel.getContext(), {}));
      instruction.replaceUsesWithIf(kept, [&](llvm::Use& use) { return use.getUser() != kept; });
    }
  };
  keep(wraps), keep(takes_bits), keep(divides_bits);
}

}  // namespace kernelift
