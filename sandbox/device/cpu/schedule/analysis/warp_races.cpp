// From every store to a shared variable, walk forward to the loads of the same variable that are reached without
// passing a barrier. Such a load is harmless if it reads the thread's own element:
//
//   s[t] = a;  … = s[t];            the same address, and the store always comes first
//   s[2*t] = a;  … = s[2*t+1];      closer than neighbouring threads' elements are
//   s[i*n + t] = a;  … = s[j*n+t];  only loops and block-wide values tell them apart
//
// Anything else (s[t] then s[t+16]; a tile written by columns and read by rows) is taken for an exchange. Being wrong
// here costs speed, never the answer: the kernel then runs on fibers in lockstep.
#include "sandbox/device/cpu/schedule/analysis/warp_races.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

/// The shared variable a pointer leads to (its address marker), nullptr if it is none for sure.
const Value* shared_variable(const Value* pointer) {
  const Value* object = getUnderlyingObject(pointer);
  const auto* call = dyn_cast<CallInst>(object);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("shared.") ? call
                                                                                                          : nullptr;
}

bool is_same_variable(const Value* a, const Value* b) {
  const auto *x = cast<CallInst>(a), *y = cast<CallInst>(b);
  return x->getCalledFunction() == y->getCalledFunction() && x->getArgOperand(1) == y->getArgOperand(1);
}

bool synchronises(const Instruction& instruction) {
  return is_service(instruction, Service::barrier) || is_service(instruction, Service::warp) ||
         is_service(instruction, Service::grid_sync) || is_service(instruction, Service::lockstep);
}

class ExchangeFinder {
 public:
  explicit ExchangeFinder(Function& function)
      : function_(function),
        dominators_(function),
        loops_(dominators_),
        assumptions_(function),
        library_impl_(function.getParent()->getTargetTriple()),
        library_(library_impl_),
        evolution_(function, library_, assumptions_, dominators_, loops_) {}

  Instruction* find() {
    for (Instruction& instruction : instructions(function_)) {
      auto* store = dyn_cast<StoreInst>(&instruction);
      const Value* variable = store ? shared_variable(store->getPointerOperand()) : nullptr;
      if (!variable) continue;
      if (Instruction* load = reached_load(*store, variable)) return load;
    }
    return nullptr;
  }

 private:
  Instruction* reached_load(StoreInst& store, const Value* variable) {
    SmallPtrSet<BasicBlock*, 16> seen;
    SmallVector<BasicBlock*, 16> work;
    auto scan = [&](BasicBlock::iterator from, BasicBlock& block) -> Instruction* {
      for (Instruction& instruction : make_range(from, block.end())) {
        if (synchronises(instruction)) return nullptr;
        auto* load = dyn_cast<LoadInst>(&instruction);
        const Value* other = load ? shared_variable(load->getPointerOperand()) : nullptr;
        if (other && is_same_variable(variable, other) && !reads_own_element(store, *load)) return load;
      }
      for (BasicBlock* next : successors(&block))
        if (seen.insert(next).second) work.push_back(next);
      return nullptr;
    };
    if (Instruction* load = scan(std::next(store.getIterator()), *store.getParent())) return load;
    while (!work.empty()) {
      BasicBlock* block = work.pop_back_val();
      if (Instruction* load = scan(block->begin(), *block)) return load;
    }
    return nullptr;
  }

  bool reads_own_element(StoreInst& store, LoadInst& load) {
    const SCEV* written = evolution_.getSCEV(store.getPointerOperand());
    const SCEV* read = evolution_.getSCEV(load.getPointerOperand());
    if (read == written) return differs_by_thread(written) || dominators_.dominates(&store, &load);
    LinearForm distance;
    add_linear(read, 1, distance);
    add_linear(written, -1, distance);
    if (distance.steps_differ_by_thread) return false;
    for (const auto& [term, factor] : distance.terms)
      if (factor != 0 && differs_by_thread(term)) return false;
    LinearForm address;
    add_linear(written, 1, address);
    return uint64_t(std::abs(distance.constant)) < element_pitch(address);
  }

  /// An address as a sum: what loops add to it, apart from their start, is only asked whether threads agree on it.
  /// Extensions are looked through, as if index arithmetic never wrapped.
  struct LinearForm {
    int64_t constant = 0;
    MapVector<const SCEV*, int64_t> terms;
    bool steps_differ_by_thread = false;
  };

  void add_linear(const SCEV* expression, int64_t factor, LinearForm& form) {
    if (const auto* constant = dyn_cast<SCEVConstant>(expression)) {
      form.constant += factor * constant->getAPInt().getSExtValue();
    } else if (const auto* extended = dyn_cast<SCEVCastExpr>(expression)) {
      add_linear(extended->getOperand(), factor, form);
    } else if (const auto* sum = dyn_cast<SCEVAddExpr>(expression)) {
      for (const SCEV* term : sum->operands()) add_linear(term, factor, form);
    } else if (const auto* recurrence = dyn_cast<SCEVAddRecExpr>(expression)) {
      form.steps_differ_by_thread |= differs_by_thread(recurrence->getStepRecurrence(evolution_));
      add_linear(recurrence->getStart(), factor, form);
    } else if (const auto* product = dyn_cast<SCEVMulExpr>(expression);
               product && product->getNumOperands() == 2 && isa<SCEVConstant>(product->getOperand(0))) {
      add_linear(product->getOperand(1), factor * cast<SCEVConstant>(product->getOperand(0))->getAPInt().getSExtValue(),
                 form);
    } else {
      form.terms[expression] += factor;
    }
  }

  /// Does the expression hold anything that threads may disagree on?
  bool differs_by_thread(const SCEV* expression) {
    return SCEVExprContains(expression, [&](const SCEV* part) {
      const auto* unknown = dyn_cast<SCEVUnknown>(part);
      return unknown && is_per_thread(unknown->getValue());
    });
  }

  bool is_per_thread(Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    if (!instruction) return false;
    if (auto known = per_thread_.find(instruction); known != per_thread_.end()) return known->second;
    per_thread_[instruction] = false;  // Cycles: whatever else feeds them decides.
    bool answer = false;
    if (auto* load = dyn_cast<LoadInst>(instruction))
      answer = !load->hasMetadata(LLVMContext::MD_invariant_load) && !is_block_pointer(*load);
    else if (auto* call = dyn_cast<CallInst>(instruction); call && !shared_variable(call))
      answer = !isa<IntrinsicInst>(call);
    for (Value* operand : instruction->operands())
      answer |= !answer && !isa<LoadInst>(instruction) && is_per_thread(operand);
    return per_thread_[instruction] = answer;
  }

  /// The thread's first field, its block, is the same for all of them.
  bool is_block_pointer(const LoadInst& load) { return load.getPointerOperand() == DeviceModule::thread_of(function_); }

  /// Bytes between the elements of neighbouring threads: the least that anything per-thread is multiplied by; 0 if
  /// nothing is.
  uint64_t element_pitch(const LinearForm& address) {
    uint64_t pitch = 0;
    for (const auto& [term, factor] : address.terms) {
      const uint64_t size = uint64_t(std::abs(factor));
      if (size && differs_by_thread(term)) pitch = pitch ? std::min(pitch, size) : size;
    }
    return pitch;
  }

  Function& function_;
  DominatorTree dominators_;
  LoopInfo loops_;
  AssumptionCache assumptions_;
  TargetLibraryInfoImpl library_impl_;
  TargetLibraryInfo library_;
  ScalarEvolution evolution_;
  DenseMap<Instruction*, bool> per_thread_;
};

}  // namespace

Instruction* find_unsynchronised_exchange(Function& function) { return ExchangeFinder(function).find(); }

bool is_shared_access(const Instruction& instruction) {
  const Value* pointer = getLoadStorePointerOperand(&instruction);
  return pointer && shared_variable(pointer);
}

}  // namespace kernelift::cpu
