// From every store to a shared variable, walk forward to the loads of the same variable that are reached without
// passing a barrier. Such a load is harmless if it reads the thread's own element:
//
//   s[t] = a;  … = s[t];            the same address, and the store always comes first
//   s[2*t] = a;  … = s[2*t+1];      closer than neighbouring threads' elements are
//   s[i*n + t] = a;  … = s[j*n+t];  whole rows away: n is the block's size, a multiple of a warp's, or a loop's step
//
// Anything else (s[t] then s[t+16] or s[t+d]; a tile written by columns and read by rows) is taken for an exchange.
// Being wrong here costs speed, never the answer: the kernel then runs in lockstep.
//
// The other way round, a load before a store, is an exchange if the load reads the element of another lane of the warp,
// a constant distance away, that the store may write: v = s[t-1]; s[t] += v. Tree reductions read at run-time
// distances, or only what no thread writes that gets there (if (t < 16) s[t] += s[t+16]).
//
// In memory that a kernel was given, threads have parts of their own that look like anybody's. There it is an exchange
// if all threads would read the same element and each writes another: p[t] = …; if (t == 0) for (i = 0; i < 32; ++i) …
// = p[i];
#include "sandbox/device/cpu/schedule/analysis/warp_races.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LazyValueInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cstddef>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/schedule/analysis/uniformity.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

bool is_shared_variable(const Value* object) {
  const auto* call = dyn_cast<CallInst>(object);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("shared.");
}

/// The shared variables (their address markers) that a pointer may lead to; none if it may lead elsewhere.
SmallVector<const CallInst*, 2> shared_variables(const Value* pointer) {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  SmallVector<const CallInst*, 2> variables;
  for (const Value* object : objects) {
    if (!is_shared_variable(object)) return {};
    variables.push_back(cast<CallInst>(object));
  }
  return variables;
}

bool share_a_variable(ArrayRef<const CallInst*> some, ArrayRef<const CallInst*> others) {
  return any_of(some, [&](const CallInst* a) {
    return any_of(others, [&](const CallInst* b) {
      return a->getCalledFunction() == b->getCalledFunction() && a->getArgOperand(1) == b->getArgOperand(1);
    });
  });
}

bool synchronises_warps(const Instruction& instruction) {
  return is_service(instruction, Service::barrier) || is_service(instruction, Service::grid_sync);
}

/// At least the lanes of a warp, that is.
bool synchronises(const Instruction& instruction) {
  return synchronises_warps(instruction) || is_service(instruction, Service::warp) ||
         is_service(instruction, Service::lockstep);
}

/// __syncthreads() itself.
bool is_plain_barrier(const Instruction& instruction) {
  return is_block_barrier(instruction) &&
         match(instruction.getOperand(3), PatternMatch::m_SpecificInt(KL_BARRIER_SYNC));
}

constexpr int64_t kWarpLanes = 32;

class ExchangeFinder {
 public:
  explicit ExchangeFinder(Function& function)
      : function_(function),
        dominators_(function),
        loops_(dominators_),
        assumptions_(function),
        library_impl_(function.getParent()->getTargetTriple()),
        library_(library_impl_),
        evolution_(function, library_, assumptions_, dominators_, loops_),
        ranges_(&assumptions_, &function.getDataLayout()) {}

  /// The parameters through which lanes read what others have written, each with one such load.
  MapVector<const Value*, Instruction*> find_through_parameters() {
    MapVector<const Value*, Instruction*> found;
    for (Instruction& instruction : instructions(function_)) {
      auto* store = dyn_cast<StoreInst>(&instruction);
      const auto* given =
          store ? dyn_cast<Argument>(getUnderlyingObject(store->getPointerOperand(), /*MaxLookup=*/0)) : nullptr;
      if (!given || found.contains(given) || is_uniform_address(store->getPointerOperand())) continue;
      Instruction* reached = reached_from(*store, [&](Instruction& other) {
        const auto* load = dyn_cast<LoadInst>(&other);
        return load && getUnderlyingObject(load->getPointerOperand(), /*MaxLookup=*/0) == given &&
               is_uniform_address(load->getPointerOperand());
      });
      if (reached) found[given] = reached;
    }
    return found;
  }

  /// What follows reads behind barriers of what is the same for all warps and is overwritten before the next barrier.
  SmallVector<Instruction*, 4> points_after_overwritten_reads() {
    SmallVector<Instruction*, 4> found;
    for (BasicBlock& block : function_) {
      Instruction* last = nullptr;  // Of several reads one after the other.
      for (Instruction& instruction : block) {
        auto* load = dyn_cast<LoadInst>(&instruction);
        if (load && is_shared_access(*load) && follows_barriers_directly(*load) &&
            !differs_by_warp(evolution_.getSCEV(load->getPointerOperand())) && is_overwritten(*load))
          last = load;
      }
      if (last) found.push_back(join_after(block) ? &*join_after(block)->getFirstInsertionPt() : last->getNextNode());
    }
    return found;
  }

  Instruction* find() {
    for (Instruction& instruction : instructions(function_)) {
      const auto* store = dyn_cast<StoreInst>(&instruction);
      const auto* load = dyn_cast<LoadInst>(&instruction);
      const auto variables = store || load ? shared_variables(getLoadStorePointerOperand(&instruction))
                                           : SmallVector<const CallInst*, 2>();
      if (variables.empty()) continue;
      Instruction* reached = reached_from(instruction, [&](Instruction& other) {
        const bool of_interest = store ? isa<LoadInst>(other) : isa<StoreInst>(other);
        if (!of_interest || !share_a_variable(variables, shared_variables(getLoadStorePointerOperand(&other))))
          return false;
        return store ? !reads_own_element(*cast<StoreInst>(&instruction), cast<LoadInst>(other))
                     : reads_element_that_a_lane_writes(*cast<LoadInst>(&instruction), cast<StoreInst>(other));
      });
      if (reached) return store ? reached : &instruction;
    }
    return nullptr;
  }

 private:
  /// The first instruction that is wanted, of those that `from` leads to before anything that `ends`.
  Instruction* reached_from(Instruction& from, function_ref<bool(Instruction&)> wanted,
                            bool (*ends)(const Instruction&) = synchronises) {
    SmallPtrSet<BasicBlock*, 16> seen;
    SmallVector<BasicBlock*, 16> work;
    auto scan = [&](BasicBlock::iterator start, BasicBlock& block) -> Instruction* {
      for (Instruction& instruction : make_range(start, block.end())) {
        if (ends(instruction)) return nullptr;
        if (wanted(instruction)) return &instruction;
      }
      for (BasicBlock* next : successors(&block))
        if (seen.insert(next).second) work.push_back(next);
      return nullptr;
    };
    if (Instruction* found = scan(std::next(from.getIterator()), *from.getParent())) return found;
    while (!work.empty()) {
      BasicBlock* block = work.pop_back_val();
      if (Instruction* found = scan(block->begin(), *block)) return found;
    }
    return nullptr;
  }

  /// Nothing is done between barriers and this instruction, on whatever way it is reached.
  bool follows_barriers_directly(Instruction& instruction) {
    SmallPtrSet<BasicBlock*, 8> seen;
    SmallVector<BasicBlock*, 8> work;
    auto walk = [&](BasicBlock& block, BasicBlock::iterator end) {
      for (Instruction& before : reverse(make_range(block.begin(), end))) {
        const auto* remark = dyn_cast<IntrinsicInst>(&before);  // What only tells the compiler something.
        if (is_plain_barrier(before)) return true;
        if (before.mayHaveSideEffects() && !(remark && remark->isAssumeLikeIntrinsic())) return false;
      }
      for (BasicBlock* before : predecessors(&block))
        if (seen.insert(before).second) work.push_back(before);
      return !pred_empty(&block);
    };
    if (!walk(*instruction.getParent(), instruction.getIterator())) return false;
    while (!work.empty()) {
      BasicBlock* block = work.pop_back_val();
      if (!walk(*block, block->end())) return false;
    }
    return true;
  }

  /// Where threads meet again that only some of run this block: `v = lane < n ? s[lane] : 0`; nullptr if it is no such
  /// side.
  static BasicBlock* join_after(BasicBlock& side) {
    BasicBlock *before = side.getSinglePredecessor(), *join = side.getSingleSuccessor();
    if (!before || !join || before->getSingleSuccessor()) return nullptr;
    for (BasicBlock* other : successors(before))
      if (other != join && other->getSingleSuccessor() != join) return nullptr;
    return join;
  }

  /// Before the next barrier, and for all that is known where it was read.
  bool is_overwritten(LoadInst& read) {
    const auto variables = shared_variables(read.getPointerOperand());
    return reached_from(
               read,
               [&](Instruction& other) {
                 const auto* atomic = dyn_cast<AtomicRMWInst>(&other);
                 const Value* pointer = isa<StoreInst>(other) ? getLoadStorePointerOperand(&other)
                                        : atomic              ? atomic->getPointerOperand()
                                                              : nullptr;
                 if (!pointer || !share_a_variable(variables, shared_variables(pointer))) return false;
                 const SCEV* distance = evolution_.getMinusSCEV(evolution_.getSCEV(const_cast<Value*>(pointer)),
                                                                evolution_.getSCEV(read.getPointerOperand()));
                 return !isa<SCEVConstant>(distance) || distance->isZero();
               },
               synchronises_warps) != nullptr;
  }

  bool reads_own_element(StoreInst& store, LoadInst& load) {
    const SCEV* written = evolution_.getSCEV(store.getPointerOperand());
    const SCEV* read = evolution_.getSCEV(load.getPointerOperand());
    if (read == written) return differs_by_thread(written) || dominators_.dominates(&store, &load);
    LinearForm distance;
    add_linear(read, 1, distance);
    add_linear(written, -1, distance);
    if (distance.steps_differ_by_thread) return false;
    LinearForm address;
    add_linear(written, 1, address);
    const auto pitch = int64_t(element_pitch(address));
    for (const auto& [term, factor] : distance.terms)
      if (factor != 0 && (differs_by_thread(term) || !is_whole_rows(term, factor, pitch))) return false;
    return std::abs(distance.constant) < pitch;
  }

  /// Is so many times this block-wide value so far that no lane of a warp gets there from another's element? Multiples
  /// of the warp's width are, and of the block's, where indices count rows of as many elements as there are threads.
  bool is_whole_rows(const SCEV* term, int64_t factor, int64_t pitch) {
    if (pitch != 0 && factor % (kWarpLanes * pitch) == 0) return true;
    return factor % std::max<int64_t>(pitch, 1) == 0 && SCEVExprContains(term, [&](const SCEV* part) {
             const auto* unknown = dyn_cast<SCEVUnknown>(part);
             return unknown && is_block_size(unknown->getValue());
           });
  }

  /// blockDim.x, as the thread's block has it.
  bool is_block_size(const Value* value) {
    const auto* load = dyn_cast<LoadInst>(value);
    APInt offset(64, 0);
    if (!load) return false;
    const auto* block = dyn_cast<LoadInst>(
        load->getPointerOperand()->stripAndAccumulateConstantOffsets(function_.getDataLayout(), offset, true));
    return block && is_block_pointer(*block) && offset == offsetof(kl_block, ntid_x);
  }

  /// Of a load before a store: does a lane read what another lane of its warp writes?
  bool reads_element_that_a_lane_writes(LoadInst& load, StoreInst& store) {
    const SCEV* written = evolution_.getSCEV(store.getPointerOperand());
    LinearForm distance, address;
    add_linear(evolution_.getSCEV(load.getPointerOperand()), 1, distance);
    add_linear(written, -1, distance);
    if (distance.steps_differ_by_thread) return false;
    for (const auto& [term, factor] : distance.terms)
      if (factor != 0) return false;
    add_linear(written, 1, address);
    const auto pitch = int64_t(element_pitch(address));
    if (pitch == 0 || distance.constant == 0 || distance.constant % pitch != 0 ||
        std::abs(distance.constant) >= kWarpLanes * pitch)
      return false;
    Value* index = nullptr;  // What tells the threads' elements apart. Of blocks with more dimensions nothing is known.
    for (const auto& [term, factor] : address.terms) {
      if (factor == 0 || !differs_by_thread(term)) continue;
      const auto* unknown = dyn_cast<SCEVUnknown>(term);
      if (index || !unknown || !unknown->getType()->isIntegerTy()) return false;
      index = unknown->getValue();
    }
    const ConstantRange readers = ranges_.getConstantRange(index, &load, false),
                        writers = ranges_.getConstantRange(index, &store, false);
    const APInt lanes(readers.getBitWidth(), uint64_t(distance.constant / pitch), /*isSigned=*/true);
    return !readers.add(ConstantRange(lanes)).intersectWith(writers).isEmptySet();
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

  /// As differs_by_thread, but lanes may disagree: what only the lowest bits of an index tell.
  bool differs_by_warp(const SCEV* expression) {
    if (const auto* cut = dyn_cast<SCEVTruncateExpr>(expression);
        cut && cut->getType()->getIntegerBitWidth() <= Log2_64(kWarpLanes))
      return false;
    if (const auto* unknown = dyn_cast<SCEVUnknown>(expression)) return is_per_thread(unknown->getValue());
    return any_of(expression->operands(), [&](const SCEV* operand) { return differs_by_warp(operand); });
  }

  bool is_uniform_address(const Value* pointer) {
    return !differs_by_thread(evolution_.getSCEV(const_cast<Value*>(pointer)));
  }

  bool is_per_thread(Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    if (!instruction) return false;
    if (auto known = per_thread_.find(instruction); known != per_thread_.end()) return known->second;
    per_thread_[instruction] = false;  // Cycles: whatever else feeds them decides.
    bool answer = false;
    if (auto* load = dyn_cast<LoadInst>(instruction))
      answer = !load->hasMetadata(LLVMContext::MD_invariant_load) && !is_block_pointer(*load);
    else if (auto* call = dyn_cast<CallInst>(instruction); call && !is_shared_variable(call))
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
  LazyValueInfo ranges_;
  DenseMap<Instruction*, bool> per_thread_;
};

}  // namespace

Exchange find_unsynchronised_exchange(Function& kernel) {
  ExchangeFinder finder(kernel);
  return {finder.find(), finder.find_through_parameters()};
}

void fence_overwritten_reads(Function& function) {
  SmallVector<Instruction*, 8> barriers;
  SmallVector<BasicBlock*, 8> stops;
  for (Instruction& instruction : instructions(function))
    if (is_plain_barrier(instruction)) barriers.push_back(&instruction), stops.push_back(instruction.getParent());
  if (barriers.empty()) return;
  const SmallVector<Instruction*, 4> places = ExchangeFinder(function).points_after_overwritten_reads();
  if (places.empty()) return;
  Uniformity uniformity(function, /*shared_reads=*/true);
  for (Instruction* place : places) {
    stops.push_back(place->getParent());
    if (uniformity.waits_are_uniform(stops)) barriers.front()->clone()->insertBefore(place->getIterator());
    else stops.pop_back();
  }
}

bool leads_to_shared_memory(const Value* pointer) { return !shared_variables(pointer).empty(); }

bool is_shared_access(const Instruction& instruction) {
  const Value* pointer = getLoadStorePointerOperand(&instruction);
  return pointer && leads_to_shared_memory(pointer);
}

}  // namespace kernelift::cpu
