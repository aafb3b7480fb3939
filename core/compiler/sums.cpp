// See sums.h. The partial sums s0 … s7 are rotated: each iteration adds to s0, and then s0 takes s1's value, s1 takes
// s2's, …, and s7 takes the new s0.
#include "core/compiler/sums.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <set>

namespace kernelift {
namespace {

constexpr int kPartialSums = 8;

/// The operand of `user` to which `user` adds or from which it subtracts, or null if `sum` occurs in it other than
/// once.
llvm::Value* passed_on(llvm::Instruction* user, llvm::Value* sum) {
  llvm::Value* through = nullptr;
  if (user->getOpcode() == llvm::Instruction::FAdd) through = user->getOperand(user->getOperand(0) == sum ? 0 : 1);
  if (user->getOpcode() == llvm::Instruction::FSub) through = user->getOperand(0);
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::fma:
      case llvm::Intrinsic::fmuladd:
      case llvm::Intrinsic::nvvm_fma_rn_f:
      case llvm::Intrinsic::nvvm_fma_rn_ftz_f:
      case llvm::Intrinsic::nvvm_fma_rn_d: through = call->getArgOperand(2); break;
      default: break;
    }
  }
  if (!through || std::count(user->operands().begin(), user->operands().end(), sum) != 1) return nullptr;
  return through;
}

/// The value of `phi` after an iteration of `loop`, or null if `phi` cannot be a sum.
llvm::Value* after_an_iteration(llvm::PHINode& phi, llvm::Loop& loop) {
  llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!latch || !loop.getLoopPredecessor() || phi.getNumIncomingValues() != 2 || !phi.getType()->isFPOrFPVectorTy())
    return nullptr;
  llvm::Value* next = phi.getIncomingValueForBlock(latch);
  return next == &phi ? nullptr : next;
}

/// All values that hold the sum during an iteration; empty if `phi` is used for anything but a sum.
std::set<llvm::Value*> holders_of(llvm::PHINode& phi, llvm::Loop& loop) {
  std::set<llvm::Value*> holders{&phi};
  std::vector<llvm::Value*> fresh{&phi};
  while (!fresh.empty()) {
    llvm::Value* sum = fresh.back();
    fresh.pop_back();
    for (llvm::User* user : sum->users()) {
      auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (!loop.contains(instruction) || holders.contains(instruction)) continue;
      bool carries = llvm::isa<llvm::PHINode>(instruction) ||
                     (llvm::isa<llvm::SelectInst>(instruction) && instruction->getOperand(0) != sum) ||
                     passed_on(instruction, sum) == sum;
      if (!carries) return {};
      holders.insert(instruction), fresh.push_back(instruction);
    }
  }
  // Every operand of a phi or select must hold the sum, and the sum must not be added to itself.
  auto holds = [&](llvm::Value* value) { return holders.contains(value); };
  for (llvm::Value* value : holders) {
    auto* instruction = llvm::cast<llvm::Instruction>(value);
    if (value == &phi) continue;
    if (auto* choice = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      if (!std::all_of(choice->incoming_values().begin(), choice->incoming_values().end(), holds)) return {};
    } else if (llvm::isa<llvm::SelectInst>(instruction)) {
      if (!holds(instruction->getOperand(1)) || !holds(instruction->getOperand(2)) || holds(instruction->getOperand(0)))
        return {};
    } else if (std::count_if(instruction->operands().begin(), instruction->operands().end(), holds) != 1) {
      return {};
    }
  }
  return holders;
}

/// Splits the sum that `phi`, in the header of `loop`, holds. Returns the values that held it; empty if `phi` is no
/// sum.
std::set<llvm::Value*> split(llvm::PHINode& phi, llvm::Loop& loop) {
  llvm::Value* next = after_an_iteration(phi, loop);
  std::set<llvm::Value*> holders;
  if (!next || !(holders = holders_of(phi, loop)).contains(next)) return {};

  llvm::BasicBlock *latch = loop.getLoopLatch(), *before = loop.getLoopPredecessor();
  std::vector<llvm::PHINode*> others;
  for (int s = 1; s < kPartialSums; ++s)
    others.push_back(llvm::PHINode::Create(phi.getType(), 2, phi.getName() + ".partial", phi.getIterator()));
  phi.setIncomingValueForBlock(latch, others.front());
  for (size_t s = 0; s < others.size(); ++s) {
    others[s]->addIncoming(llvm::ConstantFP::getNegativeZero(phi.getType()), before);
    others[s]->addIncoming(s + 1 < others.size() ? others[s + 1] : next, latch);
  }
  for (llvm::Value* holder : holders) {
    std::vector<llvm::Use*> outside;
    for (llvm::Use& use : holder->uses())
      if (!loop.contains(llvm::cast<llvm::Instruction>(use.getUser()))) outside.push_back(&use);
    if (outside.empty()) continue;
    auto* instruction = llvm::cast<llvm::Instruction>(holder);
    auto at = llvm::isa<llvm::PHINode>(instruction) ? instruction->getParent()->getFirstInsertionPt()
                                                    : std::next(instruction->getIterator());
    llvm::Value* whole = holder;
    for (llvm::PHINode* other : others)
      whole = llvm::BinaryOperator::Create(llvm::Instruction::FAdd, whole, other, phi.getName() + ".whole", at);
    for (llvm::Use* use : outside) use->set(whole);
  }
  return holders;
}

/// The addition whose result a compare-and-swap stores, or null.
llvm::Instruction* swapped_in(llvm::AtomicCmpXchgInst& swap) {
  auto* bits = llvm::dyn_cast<llvm::BitCastInst>(swap.getNewValOperand());
  auto* sum = bits ? llvm::dyn_cast<llvm::BinaryOperator>(bits->getOperand(0)) : nullptr;
  bool adds = sum && (sum->getOpcode() == llvm::Instruction::FAdd || sum->getOpcode() == llvm::Instruction::FSub);
  return adds ? sum : nullptr;
}

/// Expands atomic additions of floats to loops around a compare-and-swap, which contain the addition as an instruction.
void open_atomic_sums(llvm::Function& function) {
  std::vector<llvm::AtomicRMWInst*> atomics;
  for (auto& block : function)
    for (auto& instruction : block)
      if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
        if (auto op = atomic->getOperation(); op == llvm::AtomicRMWInst::FAdd || op == llvm::AtomicRMWInst::FSub)
          atomics.push_back(atomic);
  for (auto* atomic : atomics) {
    if (!atomic->getType()->isFloatTy() && !atomic->getType()->isDoubleTy()) continue;
    llvm::expandAtomicRMWToCmpXchg(
        atomic, [](llvm::IRBuilderBase& builder, llvm::Value* at, llvm::Value* loaded, llvm::Value* made,
                   llvm::Align align, llvm::AtomicOrdering order, llvm::SyncScope::ID scope, llvm::Value*& success,
                   llvm::Value*& now, llvm::Instruction*) {
          llvm::Type* bits = builder.getIntNTy(loaded->getType()->getPrimitiveSizeInBits());
          auto* pair = builder.CreateAtomicCmpXchg(at, builder.CreateBitCast(loaded, bits),
                                                   builder.CreateBitCast(made, bits), align, order,
                                                   llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
          success = builder.CreateExtractValue(pair, 1);
          now = builder.CreateBitCast(builder.CreateExtractValue(pair, 0), loaded->getType());
        });
  }
}

/// Whether the loop's iterations all compute the same address: from what is made outside of it, without a memory
/// access.
bool is_one_place(llvm::Value* address, const llvm::Loop& loop) {
  constexpr size_t kMost = 64;
  std::set<llvm::Value*> seen{address};
  std::vector<llvm::Value*> open{address};
  while (!open.empty() && seen.size() < kMost) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.back());
    open.pop_back();
    if (!instruction || !loop.contains(instruction)) continue;
    if (!llvm::isa<llvm::GetElementPtrInst, llvm::CastInst, llvm::BinaryOperator>(instruction)) return false;
    for (llvm::Value* operand : instruction->operands())
      if (seen.insert(operand).second) open.push_back(operand);
  }
  return open.empty();
}

/// What a store in a loop adds to a sum that stays in memory (`out[row] += a[k] * b[k]`), or null.
llvm::Instruction* added_in_place(llvm::StoreInst& store, const llvm::LoopInfo& loops) {
  const llvm::Loop* loop = loops.getLoopFor(store.getParent());
  auto* sum = llvm::dyn_cast<llvm::Instruction>(store.getValueOperand());
  if (!loop || !sum || !store.isSimple() || !loop->contains(sum)) return nullptr;
  const bool adds = std::ranges::any_of(sum->operands(), [&](llvm::Value* operand) {
    auto* old = llvm::dyn_cast<llvm::LoadInst>(operand);
    return old && old->isSimple() && old->getPointerOperand() == store.getPointerOperand() &&
           passed_on(sum, old) == old;
  });
  return adds && is_one_place(store.getPointerOperand(), *loop) ? sum : nullptr;
}

/// Every addition to a sum, in program order.
std::vector<llvm::Instruction*> additions(llvm::Function& function) {
  std::set<llvm::Value*> wanted;
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder())
    for (llvm::PHINode& phi : loop->getHeader()->phis())
      if (llvm::Value* next = after_an_iteration(phi, *loop)) {
        std::set<llvm::Value*> holders = holders_of(phi, *loop);
        if (holders.contains(next)) wanted.merge(holders);
      }
  for (auto& block : function)
    for (auto& instruction : block)
      if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) wanted.insert(swapped_in(*swap));
      else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        wanted.insert(added_in_place(*store, loops));
  std::vector<llvm::Instruction*> found;
  for (auto& block : function)
    for (auto& instruction : block) {
      bool scalar = instruction.getType()->isFloatTy() || instruction.getType()->isDoubleTy();
      if (scalar && wanted.contains(&instruction) && !llvm::isa<llvm::PHINode, llvm::SelectInst>(instruction))
        found.push_back(&instruction);
    }
  return found;
}

/// 64 pseudo-random bits that depend on `a`, `b` and `seed`.
llvm::Value* mixed(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, uint64_t seed) {
  constexpr uint64_t kFactors[] = {0x9e3779b97f4a7c15ull, 0xbf58476d1ce4e5b9ull, 0x94d049bb133111ebull};
  llvm::Value* mix = builder.CreateAdd(builder.CreateMul(a, builder.getInt64(kFactors[0])),
                                       builder.CreateMul(b, builder.getInt64(kFactors[1])));
  mix = builder.CreateAdd(mix, builder.getInt64(seed * kFactors[2]));
  for (uint64_t factor : {kFactors[1], kFactors[2]}) {
    mix = builder.CreateXor(mix, builder.CreateLShr(mix, 30));
    mix = builder.CreateMul(mix, builder.getInt64(factor));
  }
  return builder.CreateXor(mix, builder.CreateLShr(mix, 31));
}

/// Rounds the double `wide` to a float, up with a probability given by the digits that a float cannot hold.
llvm::Value* to_float_at_random(llvm::IRBuilder<>& builder, llvm::Value* wide, llvm::Value* random) {
  constexpr uint64_t kMore = (1ull << 29) - 1;  // The bits that a double's mantissa has beyond a float's.
  llvm::Value* bits = builder.CreateBitCast(wide, builder.getInt64Ty());
  bits = builder.CreateAdd(bits, builder.CreateAnd(random, kMore));
  return builder.CreateFPTrunc(builder.CreateBitCast(builder.CreateAnd(bits, ~kMore), builder.getDoubleTy()),
                               builder.getFloatTy());
}

/// a + b as a double, or its neighbour on the other side of the exact sum.
llvm::Value* add_at_random(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, llvm::Value* random) {
  // Knuth's TwoSum: the exact error of the rounded sum.
  llvm::Value* sum = builder.CreateFAdd(a, b);
  llvm::Value* of_b = builder.CreateFSub(sum, a);
  llvm::Value* lacking =
      builder.CreateFAdd(builder.CreateFSub(a, builder.CreateFSub(sum, of_b)), builder.CreateFSub(b, of_b));
  llvm::Value* zero = llvm::ConstantFP::get(sum->getType(), 0);
  llvm::Value* outward = builder.CreateICmpEQ(builder.CreateFCmpOGT(lacking, zero), builder.CreateFCmpOGT(sum, zero));
  llvm::Value* bits = builder.CreateBitCast(sum, builder.getInt64Ty());
  llvm::Value* other =
      builder.CreateAdd(bits, builder.CreateSelect(outward, builder.getInt64(1), builder.getInt64(-1)));
  other = builder.CreateBitCast(other, sum->getType());
  // |lacking| > share * |other - sum|, with a share in [0, 1).
  llvm::Value* share = builder.CreateFMul(builder.CreateUIToFP(builder.CreateLShr(random, 11), sum->getType()),
                                          llvm::ConstantFP::get(sum->getType(), 0x1p-53));
  llvm::Value* gap = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, builder.CreateFSub(other, sum));
  llvm::Value* moves = builder.CreateFCmpOGT(builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, lacking),
                                             builder.CreateFMul(share, gap));
  return builder.CreateSelect(moves, other, sum);
}

void round_at_random(llvm::Instruction& addition, uint64_t seed) {
  llvm::IRBuilder<> builder(&addition);
  bool narrow = addition.getType()->isFloatTy();
  auto wide = [&](unsigned operand) {
    llvm::Value* value = addition.getOperand(operand);
    return narrow ? builder.CreateFPExt(value, builder.getDoubleTy()) : value;
  };
  // The product of two floats is exact in a double, and their sum nearly so.
  bool fused = llvm::isa<llvm::CallInst>(addition);
  llvm::Value* a = fused ? builder.CreateFMul(wide(0), wide(1)) : wide(0);
  llvm::Value* b = wide(fused ? 2 : 1);
  if (addition.getOpcode() == llvm::Instruction::FSub) b = builder.CreateFNeg(b);
  auto bits = [&](llvm::Value* value) { return builder.CreateBitCast(value, builder.getInt64Ty()); };
  llvm::Value* random = mixed(builder, bits(a), bits(b), seed);
  addition.replaceAllUsesWith(narrow ? to_float_at_random(builder, builder.CreateFAdd(a, b), random)
                                     : add_at_random(builder, a, b, random));
  addition.eraseFromParent();
}

}  // namespace

int round_sums_at_random(llvm::Function& function, uint64_t seed) {
  if (function.isDeclaration()) return 0;
  open_atomic_sums(function);
  std::vector<llvm::Instruction*> found = additions(function);
  for (llvm::Instruction* addition : found) round_at_random(*addition, seed);
  return static_cast<int>(found.size());
}

int reverse_block_order(llvm::Module& module) {
  constexpr std::pair<llvm::Intrinsic::ID, llvm::Intrinsic::ID> kNumbers[] = {
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y},
      {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z}};
  std::vector<std::pair<llvm::IntrinsicInst*, llvm::Intrinsic::ID>> numbers;
  int sums = 0;
  for (auto& function : module) {
    if (function.isDeclaration()) {
      if (function.getName().contains("cluster") && !function.use_empty()) return 0;
      continue;
    }
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (auto& instruction : llvm::instructions(function)) {
      if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
        sums +=
            atomic->getOperation() == llvm::AtomicRMWInst::FAdd || atomic->getOperation() == llvm::AtomicRMWInst::FSub;
      else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) sums += swapped_in(*swap) != nullptr;
      else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
               load && !load->isSimple() && loops.getLoopFor(load->getParent()))
        return 0;  // The loop may wait until the value changes.
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      // Inline PTX may read the block's number itself, or wait.
      if (call && call->isInlineAsm()) return 0;
      if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        for (auto [number, count] : kNumbers)
          if (intrinsic->getIntrinsicID() == number) numbers.emplace_back(intrinsic, count);
    }
  }
  if (sums == 0 || numbers.empty()) return 0;
  for (auto [number, count] : numbers) {
    llvm::IRBuilder<> builder(number->getNextNode());
    llvm::Value* last = builder.CreateSub(builder.CreateIntrinsic(count, {}), builder.getInt32(1));
    auto* reversed = llvm::cast<llvm::Instruction>(builder.CreateSub(last, number));
    number->replaceUsesWithIf(reversed, [&](llvm::Use& use) { return use.getUser() != reversed; });
  }
  return sums;
}

int split_sums(llvm::Function& function, PartialSums partial_sums) {
  if (function.isDeclaration() || partial_sums == PartialSums::None) return 0;
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  int count = 0;
  std::set<llvm::Value*> taken;  // The phis of inner loops that belong to a sum that was split by an outer loop.
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (partial_sums == PartialSums::Innermost && !loop->isInnermost()) continue;
    std::vector<llvm::PHINode*> phis;
    for (llvm::PHINode& phi : loop->getHeader()->phis()) phis.push_back(&phi);
    for (llvm::PHINode* phi : phis) {
      if (taken.contains(phi)) continue;
      std::set<llvm::Value*> holders = split(*phi, *loop);
      count += !holders.empty();
      taken.merge(holders);
    }
  }
  return count;
}

}  // namespace kernelift
