// The cutter. Worked example:
//
//   x = a[i];               region 0: x = a[i]; frame.x[t] = x; return 1
//   __syncthreads();
//   while (n--) {           region 1: x, n from the frame or, for what is cheap, computed again;
//     x += s[j];                      runs to the loop's next barrier (return 2) or to the end (return 0)
//     __syncthreads();
//   }                       region 2: the loop's back edge is inside it: code reachable from two barriers is copied
//                                     into both regions, which keeps every region single-entry and vectorisable.
//
// A value is stored when a thread suspends, not where it is computed, so inner loops stay free of frame stores. A value
// that is both carried into a region and computed again inside it passes through a stack variable that mem2reg removes.
// Kernels without a barrier are one region: plain loops over threads fall out as the simplest case.
//
// A warp operation leaves its operands in rows of the frame (kl_warp_plan) and is answered through another.
#include "sandbox/device/cpu/schedule/regions.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <set>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/schedule/analysis/liveness.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

enum RegionArgument { kThread, kFrame, kStride, kLinear, kAnswer, kFirstParameter };
constexpr uint64_t kLargestLoopArray = 512;  // Bytes: bigger local arrays of barrier-free kernels stay on the stack.

bool is_call_of(const Instruction& instruction, StringRef name) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName() == name;
}

class Cutter {
 public:
  explicit Cutter(Kernel& kernel)
      : body_(*kernel.body),
        module_(*body_.getParent()),
        layout_(module_.getDataLayout()),
        context_(module_.getContext()) {
    cut_.warps = kernel.in_warps;
  }

  CutKernel run() {
    end_threads_by_returning();
    if (cut_.warps) place_rows();
    split_at_waits();
    find_live_values();
    place_local_arrays();
    for (unsigned i = 0; i < cut_.suspensions.size(); ++i) cut_.regions.push_back(make_region(i));
    return std::move(cut_);
  }

 private:
  void end_threads_by_returning() {
    SmallVector<Instruction*, 4> exits;
    for (Instruction& instruction : instructions(body_))
      if (is_service(instruction, Service::exit_thread)) exits.push_back(&instruction);
    for (Instruction* exit : exits) {
      BasicBlock* block = exit->getParent();
      changeToUnreachable(exit);
      Instruction* end = block->getTerminator();
      IRBuilder<>(end).CreateRetVoid();
      end->eraseFromParent();
    }
  }

  void place_rows() {
    for (uint64_t* row : {&cut_.value_row, &cut_.operand_row, &cut_.answer_row}) *row = take_slot(8);
    for (uint64_t* row : {&cut_.suspended_row, &cut_.mask_row}) *row = take_slot(4);
  }

  static std::optional<kl_wait> wait_of(const Instruction& instruction) {
    if (is_service(instruction, Service::barrier)) return KL_WAIT_BARRIER;
    if (is_service(instruction, Service::warp)) return KL_WAIT_WARP;
    if (is_service(instruction, Service::lockstep)) return KL_WAIT_LOCKSTEP;
    if (is_service(instruction, Service::active_mask)) return KL_WAIT_ACTIVE;
    return std::nullopt;
  }

  /// cut.exchange(value, operand, mask) stays where a thread suspends, until its region stores them.
  Suspension suspension_of(CallInst& call, kl_wait wait) {
    Suspension suspension;
    suspension.wait = wait;
    suspension.place = place_of(call);
    IRBuilder<> builder(&call);
    Value *value = builder.getInt64(0), *operand = value, *mask = builder.getInt32(0);
    if (wait == KL_WAIT_BARRIER) {
      suspension.op = unsigned(cast<ConstantInt>(call.getArgOperand(3))->getZExtValue());
      if (suspension.op == KL_BARRIER_SYNC) return suspension;
      value = builder.CreateZExt(builder.CreateIsNotNull(call.getArgOperand(4)), builder.getInt64Ty());
    } else if (wait == KL_WAIT_WARP) {
      suspension.op = unsigned(cast<ConstantInt>(call.getArgOperand(1))->getZExtValue());
      mask = call.getArgOperand(2), value = call.getArgOperand(3), operand = call.getArgOperand(4);
      suspension.mask = dyn_cast<ConstantInt>(mask), suspension.operand = dyn_cast<ConstantInt>(operand);
    } else {
      return suspension;
    }
    Type* i64 = builder.getInt64Ty();
    builder.CreateCall(module_.getOrInsertFunction("cut.exchange", builder.getVoidTy(), i64, i64, builder.getInt32Ty()),
                       {value, operand, mask});
    return suspension;
  }

  /// A block passes a barrier as a whole: that its threads come to it need not be told one by one.
  static GlobalVariable* take_check(CallInst& barrier) {
    Instruction* check = barrier.getPrevNode();
    if (!check || !is_service(*check, Service::check_barrier)) return nullptr;
    auto* site = cast<GlobalVariable>(cast<CallInst>(check)->getArgOperand(1));
    check->eraseFromParent();
    return site;
  }

  void split_at_waits() {
    SmallVector<std::pair<CallInst*, kl_wait>, 16> waits;
    for (Instruction& instruction : instructions(body_))
      if (auto wait = wait_of(instruction)) waits.push_back({cast<CallInst>(&instruction), *wait});
    cut_.suspensions.emplace_back();
    for (auto& [call, wait] : waits) {
      GlobalVariable* check_site = cut_.warps ? nullptr : take_check(*call);
      Suspension suspension = suspension_of(*call, wait);
      suspension.check_site = check_site;
      suspension.resume = call->getParent()->splitBasicBlock(call->getNextNode(), "resume");
      if (!call->use_empty()) {
        const bool wide = call->getType()->isIntegerTy(64);
        FunctionCallee answer = module_.getOrInsertFunction(wide ? "cut.answer.wide" : "cut.answer", call->getType());
        call->replaceAllUsesWith(CallInst::Create(answer, "", suspension.resume->getFirstInsertionPt()));
      }
      call->eraseFromParent();
      cut_.suspensions.push_back(suspension);
    }
    // Splitting moved later waits into other blocks: find each suspension's block again.
    for (unsigned i = 1; i < cut_.suspensions.size(); ++i) {
      cut_.suspensions[i].at = cut_.suspensions[i].resume->getSinglePredecessor();
      resume_of_[cut_.suspensions[i].at] = i;
    }
  }

  uint64_t take_slot(uint64_t bytes) {
    const uint64_t offset = cut_.frame_bytes;
    cut_.frame_bytes += bytes;
    return offset;
  }

  void find_live_values() {
    SmallPtrSet<BasicBlock*, 16> starts;
    for (unsigned i = 1; i < cut_.suspensions.size(); ++i) starts.insert(cut_.suspensions[i].resume);
    live_ = live_values_at(body_, starts);
    for (unsigned i = 1; i < cut_.suspensions.size(); ++i)
      for (Instruction* value : live_[cut_.suspensions[i].resume]) {
        if (recompute_.contains(value) || slot_.contains(value)) continue;
        if (auto order = recomputation_of(value); !order.empty()) recompute_[value] = order;
        else slot_[value] = take_slot(layout_.getTypeAllocSize(stored_type(value)).getFixedValue());
      }
  }

  /// Local arrays that survive a barrier, or that would tie the iterations of a loop over threads together, live in the
  /// frame.
  void place_local_arrays() {
    const bool cut = cut_.suspensions.size() > 1;
    for (Instruction& instruction : instructions(body_)) {
      auto* local = dyn_cast<AllocaInst>(&instruction);
      if (!local) continue;
      const uint64_t size = alignTo(local->getAllocationSize(layout_)->getFixedValue(), local->getAlign());
      if (cut || size <= kLargestLoopArray) arrays_[local] = {take_slot(size), size};
      else arrays_on_stack_ = true;
    }
  }

  Type* stored_type(Value* value) {
    Type* type = value->getType();
    return type->isIntegerTy(1) ? Type::getInt8Ty(context_) : type;
  }

  Value* slot_address(IRBuilderBase& builder, Function& region, uint64_t offset, uint64_t size) {
    Value* row = builder.CreateInBoundsPtrAdd(region.getArg(kFrame),
                                              builder.CreateNUWMul(region.getArg(kStride), builder.getInt64(offset)));
    return builder.CreateInBoundsPtrAdd(row, builder.CreateNUWMul(region.getArg(kLinear), builder.getInt64(size)));
  }
  Value* value_slot(IRBuilderBase& builder, Function& region, Instruction* value) {
    return slot_address(builder, region, slot_[value], layout_.getTypeAllocSize(stored_type(value)).getFixedValue());
  }
  Value* reload(IRBuilderBase& builder, Function& region, Instruction* value) {
    Value* loaded = builder.CreateLoad(stored_type(value), value_slot(builder, region, value), value->getName());
    return value->getType()->isIntegerTy(1) ? builder.CreateTrunc(loaded, value->getType()) : loaded;
  }
  void save(IRBuilderBase& builder, Function& region, Instruction* value, Value* current) {
    if (value->getType()->isIntegerTy(1)) current = builder.CreateZExt(current, builder.getInt8Ty());
    builder.CreateStore(current, value_slot(builder, region, value));
  }

  /// Blocks a thread can run through from `start` before it suspends, in function order.
  SmallVector<BasicBlock*, 16> blocks_from(BasicBlock* start) {
    SmallPtrSet<BasicBlock*, 16> seen = {start};
    SmallVector<BasicBlock*, 16> work = {start}, ordered;
    while (!work.empty()) {
      BasicBlock* block = work.pop_back_val();
      if (resume_of_.contains(block)) continue;
      for (BasicBlock* next : successors(block))
        if (seen.insert(next).second) work.push_back(next);
    }
    for (BasicBlock& block : body_)
      if (seen.contains(&block)) ordered.push_back(&block);
    return ordered;
  }

  Region make_region(unsigned index) {
    BasicBlock* start = index ? cut_.suspensions[index].resume : &body_.getEntryBlock();
    Region region;
    Function& function = *create_region_function(index);
    region.function = &function;
    ValueToValueMapTy map;
    map[body_.getArg(0)] = function.getArg(kThread);
    for (unsigned i = 1; i < body_.arg_size(); ++i) map[body_.getArg(i)] = function.getArg(kFirstParameter + i - 1);
    BasicBlock* enter = BasicBlock::Create(context_, "enter", &function);
    IRBuilder<> builder(enter);
    MapVector<AllocaInst*, Value*> addresses;
    for (auto& [local, place] : arrays_) addresses[local] = slot_address(builder, function, place.first, place.second);

    SmallVector<BasicBlock*, 16> blocks = blocks_from(start);
    SmallPtrSet<BasicBlock*, 16> inside(blocks.begin(), blocks.end());
    MapVector<Instruction*, AllocaInst*> through_stack;
    if (index)
      for (Instruction* value : live_[start]) {
        Value* current =
            recompute_.contains(value) ? recomputed(builder, value, map) : reload(builder, function, value);
        if (!inside.contains(value->getParent())) {
          map[value] = current;
          continue;
        }
        AllocaInst* variable = builder.CreateAlloca(value->getType());
        builder.CreateStore(current, variable);
        through_stack[value] = variable;
      }
    clone_blocks(function, blocks, addresses, map);
    builder.SetInsertPoint(enter);
    builder.CreateBr(cast<BasicBlock>(map[start]));
    DenseMap<Instruction*, Instruction*> copies;
    for (BasicBlock* block : blocks)
      for (Instruction& instruction : *block)
        if (auto copy = map.find(&instruction); copy != map.end())
          if (auto* cloned = dyn_cast<Instruction>(copy->second)) copies[&instruction] = cloned;
    route_through_stack(through_stack, copies);
    region.exits = finish_exits(function, blocks, map, copies, inside, through_stack);
    finish_answer(function);
    remove_frame_lifetimes(function);
    promote(function, through_stack);
    annotate(region);
    return region;
  }

  Function* create_region_function(unsigned index) {
    Type* pointer = PointerType::get(context_, 0);
    Type* i64 = Type::getInt64Ty(context_);
    Type* i32 = Type::getInt32Ty(context_);
    SmallVector<Type*, 12> types = {pointer, pointer, i64, i64, i32};
    for (unsigned i = 1; i < body_.arg_size(); ++i) types.push_back(body_.getArg(i)->getType());
    Function* function = Function::Create(FunctionType::get(i32, types, false), GlobalValue::InternalLinkage,
                                          body_.getName() + ".region" + Twine(index), module_);
    AttributeList old = body_.getAttributes();
    function->addFnAttrs(AttrBuilder(context_, old.getFnAttrs()));
    function->removeFnAttr(Attribute::NoReturn);
    function->addFnAttr(Attribute::AlwaysInline);
    function->addParamAttr(kFrame, Attribute::NoAlias);
    for (unsigned i = 1; i < body_.arg_size(); ++i)
      function->addParamAttrs(kFirstParameter + i - 1, AttrBuilder(context_, old.getParamAttrs(i)));
    return function;
  }

  Value* recomputed(IRBuilderBase& builder, Instruction* value, ValueToValueMapTy& map) {
    // Operands computed here serve this value only: the originals may have copies of their own in the region.
    ValueToValueMapTy local;
    for (Argument& argument : body_.args()) local[&argument] = map[&argument];
    Value* last = nullptr;
    for (Instruction* step : recompute_[value]) {
      Instruction* copy = step->clone();
      builder.Insert(copy, step->getName());
      RemapInstruction(copy, local, RF_IgnoreMissingLocals | RF_NoModuleLevelChanges);
      local[step] = last = copy;
    }
    return last;
  }

  void clone_blocks(Function& function, ArrayRef<BasicBlock*> blocks, const MapVector<AllocaInst*, Value*>& addresses,
                    ValueToValueMapTy& map) {
    SmallVector<BasicBlock*, 16> copies;
    for (BasicBlock* block : blocks) {
      BasicBlock* copy = CloneBasicBlock(block, map, "", &function);
      map[block] = copy;
      copies.push_back(copy);
    }
    for (auto& [local, address] : addresses) {
      if (auto copy = map.find(local); copy != map.end()) cast<Instruction>(copy->second)->eraseFromParent();
      map[local] = address;
    }
    for (BasicBlock* copy : copies) {
      for (PHINode& phi : copy->phis())
        for (unsigned i = phi.getNumIncomingValues(); i-- > 0;)
          if (!map.count(phi.getIncomingBlock(i))) phi.removeIncomingValue(i, /*DeletePHIIfEmpty=*/false);
      for (Instruction& instruction : *copy)
        RemapInstruction(&instruction, map, RF_IgnoreMissingLocals | RF_NoModuleLevelChanges);
      for (Instruction& instruction : make_early_inc_range(*copy))
        if (isa<AllocaInst>(instruction)) instruction.moveBefore(function.getEntryBlock().begin());
    }
  }

  void route_through_stack(MapVector<Instruction*, AllocaInst*>& through_stack,
                           DenseMap<Instruction*, Instruction*>& copies) {
    for (auto& [value, variable] : through_stack) {
      Instruction* copy = copies.lookup(value);
      for (Use& use : make_early_inc_range(copy->uses())) {
        auto* user = cast<Instruction>(use.getUser());
        Instruction* point = user;
        if (auto* phi = dyn_cast<PHINode>(user)) point = phi->getIncomingBlock(use)->getTerminator();
        use.set(new LoadInst(value->getType(), variable, "", point->getIterator()));
      }
      auto after = isa<PHINode>(copy) ? copy->getParent()->getFirstInsertionPt() : std::next(copy->getIterator());
      new StoreInst(copy, variable, after);
    }
  }

  std::vector<unsigned> finish_exits(Function& function, ArrayRef<BasicBlock*> blocks, ValueToValueMapTy& map,
                                     DenseMap<Instruction*, Instruction*>& copies,
                                     const SmallPtrSetImpl<BasicBlock*>& inside,
                                     MapVector<Instruction*, AllocaInst*>& through_stack) {
    std::set<unsigned> exits;
    for (BasicBlock* block : blocks) {
      auto* copy = cast<BasicBlock>(map[block]);
      Instruction* end = copy->getTerminator();
      IRBuilder<> builder(end);
      if (isa<ReturnInst>(end)) {
        exits.insert(0);
        builder.CreateRet(builder.getInt32(0));
        end->eraseFromParent();
        continue;
      }
      auto found = resume_of_.find(block);
      if (found == resume_of_.end()) continue;
      const unsigned index = found->second;
      exits.insert(index);
      for (Instruction* value : live_[cut_.suspensions[index].resume]) {
        if (!slot_.contains(value) || !inside.contains(value->getParent())) continue;
        Value* current = copies.lookup(value);
        if (auto* variable = through_stack.lookup(value)) current = builder.CreateLoad(value->getType(), variable);
        save(builder, function, value, current);
      }
      Value* answer = builder.getInt32(index);
      if (CallInst* exchange = exchange_before(*end)) {
        if (cut_.warps) {
          leave_operands(builder, function, *exchange, cut_.suspensions[index]);
        } else {
          Value* set = builder.CreateTrunc(exchange->getArgOperand(0), builder.getInt32Ty());
          answer = builder.CreateOr(answer, builder.CreateShl(set, kPredicateBit));
        }
      }
      builder.CreateRet(answer);
      end->eraseFromParent();
    }
    return {exits.begin(), exits.end()};
  }

  static CallInst* exchange_before(Instruction& end) {
    for (Instruction* at = &end; at; at = at->getPrevNode())
      if (is_call_of(*at, "cut.exchange")) return cast<CallInst>(at);
    return nullptr;
  }

  void leave_operands(IRBuilderBase& builder, Function& region, CallInst& exchange, const Suspension& suspension) {
    builder.CreateStore(exchange.getArgOperand(0), slot_address(builder, region, cut_.value_row, 8));
    if (suspension.wait != KL_WAIT_WARP) return;
    if (!suspension.operand)
      builder.CreateStore(exchange.getArgOperand(1), slot_address(builder, region, cut_.operand_row, 8));
    if (!suspension.mask)
      builder.CreateStore(exchange.getArgOperand(2), slot_address(builder, region, cut_.mask_row, 4));
  }

  void finish_answer(Function& function) {
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      const bool wide = is_call_of(instruction, "cut.answer.wide"),
                 answer = wide || is_call_of(instruction, "cut.answer");
      if (answer) {
        IRBuilder<> builder(&instruction);
        Value* value = function.getArg(kAnswer);
        if (cut_.warps) {
          value = builder.CreateLoad(builder.getInt64Ty(), slot_address(builder, function, cut_.answer_row, 8));
          if (!wide) value = builder.CreateTrunc(value, builder.getInt32Ty());
        }
        instruction.replaceAllUsesWith(value);
      }
      if (answer || is_call_of(instruction, "cut.exchange")) instruction.eraseFromParent();
    }
  }

  void remove_frame_lifetimes(Function& function) {
    for (Instruction& instruction : make_early_inc_range(instructions(function)))
      if (instruction.isLifetimeStartOrEnd() && !isa<AllocaInst>(cast<CallInst>(instruction).getArgOperand(0)))
        instruction.eraseFromParent();
  }

  void promote(Function& function, MapVector<Instruction*, AllocaInst*>& through_stack) {
    SmallVector<AllocaInst*, 8> variables;
    for (auto& [value, variable] : through_stack) variables.push_back(variable);
    DominatorTree dominators(function);
    PromoteMemToReg(variables, dominators);
  }

  void annotate(Region& region) {
    // A call that is inlined later would hand its group to accesses of the callee's local arrays, which iterations
    // share.
    region.parallel = !arrays_on_stack_ && none_of(instructions(*region.function), [](Instruction& instruction) {
      return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction) && instruction.mayReadOrWriteMemory();
    });
    if (!region.parallel) return;
    region.group = MDNode::getDistinct(context_, {});
    for (Instruction& instruction : instructions(*region.function))
      if (instruction.mayReadOrWriteMemory()) instruction.setMetadata(LLVMContext::MD_access_group, region.group);
  }

  Function& body_;
  Module& module_;
  const DataLayout& layout_;
  LLVMContext& context_;
  CutKernel cut_;
  DenseMap<BasicBlock*, unsigned> resume_of_;
  std::map<const BasicBlock*, SmallVector<Instruction*, 8>> live_;
  std::map<Instruction*, SmallVector<Instruction*, 8>> recompute_;
  std::map<Instruction*, uint64_t> slot_;
  MapVector<AllocaInst*, std::pair<uint64_t, uint64_t>> arrays_;  ///< Offset and size in the frame.
  bool arrays_on_stack_ = false;
};

}  // namespace

CutKernel cut_kernel(Kernel& kernel) { return Cutter(kernel).run(); }

}  // namespace kernelift::cpu
