// One loop nest (z, y, x innermost) per region; between regions the block decides where its threads go next. All of
// them must have reached the same barrier (or have ended), else the launch ends as DivergentBarrier. The decision is an
// or over one bit per exit, which the vectoriser handles as a reduction. Threads that ended early are remembered in
// one frame byte each, but only where a kernel has such a region at all.
#include "sandbox/device/cpu/schedule/thread_loops.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kSuspensionMask = 0xffff;

LoadInst* invariant(LoadInst* load) {
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
  return load;
}

}  // namespace

SmallVector<Value*, 8> load_parameters(IRBuilder<>& builder, const Kernel& kernel, Value* block) {
  Type* pointer = builder.getPtrTy();
  Value* launch = load_block_field(builder, block, BlockField::launch);
  // kl_launch::arguments follows two kl_dim3 and a uint32_t (28 bytes, padded to 32).
  constexpr uint64_t kArgumentsOffset = offsetof(kl_launch, arguments);
  Value* packed = invariant(
      builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), launch, kArgumentsOffset)));
  SmallVector<Value*, 8> values;
  for (const KernelParameter& parameter : kernel.parameters) {
    Value* address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), packed, parameter.offset);
    if (parameter.by_value) {
      values.push_back(address);
    } else if (parameter.type->isIntegerTy(1)) {
      values.push_back(builder.CreateIsNotNull(invariant(builder.CreateLoad(builder.getInt8Ty(), address))));
    } else {
      values.push_back(invariant(builder.CreateLoad(parameter.type, address)));
    }
  }
  return values;
}

Function* create_run(Kernel& kernel) {
  Module& module = *kernel.body->getParent();
  LLVMContext& context = module.getContext();
  auto* type = FunctionType::get(Type::getVoidTy(context), {PointerType::get(context, 0)}, false);
  Function* run = Function::Create(type, GlobalValue::InternalLinkage, "kl.run." + kernel.name, module);
  run->addFnAttr(Attribute::NoUnwind);
  run->addParamAttr(0, Attribute::NoAlias);
  return run;
}

void tag_with_group(Instruction* access, const Region& region) {
  if (region.parallel) access->setMetadata(LLVMContext::MD_access_group, region.group);
}

void annotate_thread_loop(BranchInst* latch, const Region& region) {
  LLVMContext& context = latch->getContext();
  SmallVector<Metadata*, 3> parts = {nullptr, MDNode::get(context, {MDString::get(context, "llvm.loop.mustprogress")})};
  if (region.parallel)
    parts.push_back(MDNode::get(context, {MDString::get(context, "llvm.loop.parallel_accesses"), region.group}));
  MDNode* node = MDNode::getDistinct(context, parts);
  node->replaceOperandWith(0, node);
  latch->setMetadata(LLVMContext::MD_loop, node);
}

namespace {

/// for (i = 0; i < count; ++i), in rotated form: counts are never zero.
struct CountedLoop {
  BasicBlock* header;
  PHINode* index;
  Value* count;
  BasicBlock* before;
};

class BlockFunction {
 public:
  BlockFunction(Kernel& kernel, const CutKernel& cut)
      : kernel_(kernel),
        cut_(cut),
        run_(*create_run(kernel)),
        builder_(BasicBlock::Create(run_.getContext(), "entry", &run_)) {}

  void build() {
    Value* block = run_.getArg(0);
    i32_ = builder_.getInt32Ty();
    StructType* thread = thread_type(run_.getContext());
    thread_ = builder_.CreateAlloca(thread, nullptr, "thread");
    answer_ = builder_.CreateAlloca(i32_, nullptr, "answer");
    seen_ = builder_.CreateAlloca(builder_.getInt64Ty(), nullptr, "seen");
    set_ = builder_.CreateAlloca(i32_, nullptr, "set");
    unset_ = builder_.CreateAlloca(i32_, nullptr, "unset");
    checks_barriers_ = any_of(cut_.suspensions, [](const Suspension& at) { return at.check_site != nullptr; });
    if (checks_barriers_)
      latest_ = builder_.CreateAlloca(i32_, builder_.getInt32(unsigned(cut_.suspensions.size())), "latest");
    builder_.CreateStore(builder_.getInt32(0), answer_);
    builder_.CreateStore(block, builder_.CreateStructGEP(thread, thread_, ThreadField::block));
    counts_[0] = load_block_field(builder_, block, BlockField::ntid_x);
    counts_[1] = load_block_field(builder_, block, BlockField::ntid_y);
    counts_[2] = load_block_field(builder_, block, BlockField::ntid_z);
    frame_ = load_block_field(builder_, block, BlockField::frame);
    stride_ = load_block_field(builder_, block, BlockField::frame_stride);
    parameters_ = load_parameters(builder_, kernel_, block);
    kernel_.frame_bytes = cut_.frame_bytes;
    for (const Region& region : cut_.regions) some_end_early_ |= region.exits.size() > 1 && region.exits[0] == 0;
    if (some_end_early_) {
      ended_ =
          builder_.CreateInBoundsPtrAdd(frame_, builder_.CreateMul(stride_, builder_.getInt64(kernel_.frame_bytes)));
      kernel_.frame_bytes += 1;
      builder_.CreateMemSet(ended_, builder_.getInt8(0), stride_, Align(1));
    }
    for (size_t i = 0; i < cut_.regions.size(); ++i)
      starts_.push_back(BasicBlock::Create(run_.getContext(), "region" + Twine(i), &run_));
    end_ = BasicBlock::Create(run_.getContext(), "end", &run_);
    builder_.CreateBr(starts_[0]);
    for (size_t i = 0; i < cut_.regions.size(); ++i) build_region(cut_.regions[i], i);
    builder_.SetInsertPoint(end_);
    builder_.CreateRetVoid();
    kernel_.run = &run_;
  }

 private:
  CountedLoop open_loop(const char* name, Value* count) {
    CountedLoop loop;
    loop.count = count;
    loop.before = builder_.GetInsertBlock();
    loop.header = BasicBlock::Create(run_.getContext(), name, &run_);
    builder_.CreateBr(loop.header);
    builder_.SetInsertPoint(loop.header);
    loop.index = builder_.CreatePHI(i32_, 2, name);
    loop.index->addIncoming(builder_.getInt32(0), loop.before);
    return loop;
  }

  BranchInst* close_loop(CountedLoop& loop) {
    Value* next = builder_.CreateAdd(loop.index, builder_.getInt32(1), "", /*NUW=*/true, /*NSW=*/true);
    BasicBlock* after = BasicBlock::Create(run_.getContext(), "after", &run_);
    BranchInst* latch = builder_.CreateCondBr(builder_.CreateICmpULT(next, loop.count), loop.header, after);
    loop.index->addIncoming(next, builder_.GetInsertBlock());
    builder_.SetInsertPoint(after);
    return latch;
  }

  bool counts_predicates(const Region& region) const {
    for (unsigned exit : region.exits)
      if (exit && cut_.suspensions[exit].op != KL_BARRIER_SYNC) return true;
    return false;
  }

  void build_region(const Region& region, size_t index) {
    builder_.SetInsertPoint(starts_[index]);
    const bool several = region.exits.size() > 1, counting = counts_predicates(region);
    if (several) builder_.CreateStore(builder_.getInt64(0), seen_);
    if (counting)
      for (Value* counter : {set_, unset_}) builder_.CreateStore(builder_.getInt32(0), counter);
    Value* answer = builder_.CreateLoad(i32_, answer_);
    // One thread stands for all that are identical to it.
    auto count = [&](unsigned axis) -> Value* {
      return kernel_.identical_along[axis] ? builder_.getInt32(1) : counts_[axis];
    };
    StructType* thread = thread_type(run_.getContext());
    auto set = [&](unsigned field, Value* value) {
      builder_.CreateStore(value, builder_.CreateStructGEP(thread, thread_, field));
    };
    CountedLoop z = open_loop("z", count(2));
    set(ThreadField::tid_z, z.index);
    CountedLoop y = open_loop("y", count(1));
    set(ThreadField::tid_y, y.index);
    Value* row = builder_.CreateMul(
        builder_.CreateAdd(builder_.CreateMul(z.index, counts_[1], "", true, true), y.index, "", true, true),
        counts_[0], "", true, true);
    CountedLoop x = open_loop("x", count(0));
    Value* linear = builder_.CreateAdd(row, x.index, "", true, true);
    Value* wide = builder_.CreateZExt(linear, builder_.getInt64Ty());
    BasicBlock* skip = nullptr;
    Value* flag = nullptr;
    if (some_end_early_ && index > 0) {
      BasicBlock* go = BasicBlock::Create(run_.getContext(), "alive", &run_);
      skip = BasicBlock::Create(run_.getContext(), "next", &run_);
      LoadInst* ended = builder_.CreateLoad(builder_.getInt8Ty(), builder_.CreateInBoundsPtrAdd(ended_, wide));
      tag_with_group(ended, region);
      builder_.CreateCondBr(builder_.CreateIsNull(ended), go, skip);
      builder_.SetInsertPoint(go);
    }
    set(ThreadField::tid_x, x.index), set(ThreadField::linear, linear);
    SmallVector<Value*, 12> arguments = {thread_, frame_, stride_, wide, answer};
    arguments.append(parameters_.begin(), parameters_.end());
    Value* result = builder_.CreateCall(region.function, arguments);
    Value* reached = builder_.CreateAnd(result, kSuspensionMask);
    if (several) {
      Value* bit = nullptr;
      for (size_t i = 0; i < region.exits.size(); ++i) {
        Value* mine = builder_.getInt64(uint64_t(1) << i);
        bit = bit ? builder_.CreateSelect(builder_.CreateICmpEQ(reached, builder_.getInt32(region.exits[i])), mine, bit)
                  : mine;
      }
      if (checks_barriers_) builder_.CreateStore(linear, builder_.CreateInBoundsGEP(i32_, latest_, reached));
      builder_.CreateStore(builder_.CreateOr(builder_.CreateLoad(builder_.getInt64Ty(), seen_), bit), seen_);
    }
    if (some_end_early_ && region.exits[0] == 0 && several) {
      flag = builder_.CreateZExt(builder_.CreateIsNull(reached), builder_.getInt8Ty());
      tag_with_group(builder_.CreateStore(flag, builder_.CreateInBoundsPtrAdd(ended_, wide)), region);
    }
    if (counting) count_predicate(result, reached);
    if (skip) {
      builder_.CreateBr(skip);
      builder_.SetInsertPoint(skip);
    }
    BranchInst* latch = close_loop(x);
    annotate_thread_loop(latch, region);
    close_loop(y);
    close_loop(z);
    decide(region);
  }

  void count_predicate(Value* result, Value* reached) {
    Value* set = builder_.CreateAnd(builder_.CreateLShr(result, kPredicateBit), 1);
    Value* waiting = builder_.CreateZExt(builder_.CreateIsNotNull(reached), i32_);
    builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(i32_, set_), set), set_);
    builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(i32_, unset_), builder_.CreateSub(waiting, set)),
                         unset_);
  }

  /// Check mode: all threads of the block that have not ended are at this barrier.
  void tell_of_barrier(GlobalVariable& site) {
    auto* values = cast<ConstantStruct>(site.getInitializer());
    SmallVector<Constant*, 16> fields;
    for (Use& field : values->operands()) fields.push_back(cast<Constant>(field));
    constexpr unsigned kFlags = 6;  // Behind two pointers and four words.
    static_assert(offsetof(kl_site, flags) == 2 * sizeof(void*) + 4 * sizeof(uint32_t));
    fields[kFlags] = builder_.getInt32(uint32_t(cast<ConstantInt>(fields[kFlags])->getZExtValue()) | KL_SITE_ONCE);
    Constant* once = ConstantStruct::get(values->getType(), fields);
    auto* told =
        new GlobalVariable(*run_.getParent(), once->getType(), false, GlobalValue::PrivateLinkage, once, "kl.site");
    call_service(builder_, Service::check_barrier, {thread_, told});
  }

  /// Check mode: threads of the block are at several barriers; of each one thread tells.
  void tell_of_divergence(const Region& region, Value* seen) {
    for (size_t i = 0; i < region.exits.size(); ++i) {
      GlobalVariable* site = cut_.suspensions[region.exits[i]].check_site;
      if (!site) continue;
      BasicBlock* tell = BasicBlock::Create(run_.getContext(), "tell", &run_);
      BasicBlock* next = BasicBlock::Create(run_.getContext(), "told", &run_);
      builder_.CreateCondBr(builder_.CreateIsNull(builder_.CreateAnd(seen, uint64_t(1) << i)), next, tell);
      builder_.SetInsertPoint(tell);
      Value* linear =
          builder_.CreateLoad(i32_, builder_.CreateInBoundsGEP(i32_, latest_, builder_.getInt32(region.exits[i])));
      builder_.CreateStore(linear,
                           builder_.CreateStructGEP(thread_type(run_.getContext()), thread_, ThreadField::linear));
      call_service(builder_, Service::check_barrier, {thread_, site});
      builder_.CreateBr(next);
      builder_.SetInsertPoint(next);
    }
  }

  void go_to(unsigned suspension) {
    if (suspension == 0) {
      builder_.CreateBr(end_);
      return;
    }
    if (GlobalVariable* site = cut_.suspensions[suspension].check_site) tell_of_barrier(*site);
    const unsigned op = cut_.suspensions[suspension].op;
    if (op != KL_BARRIER_SYNC) {
      Value* set = builder_.CreateLoad(i32_, set_);
      Value* unset = builder_.CreateLoad(i32_, unset_);
      Value* answer = op == KL_BARRIER_COUNT ? set
                      : op == KL_BARRIER_AND ? builder_.CreateZExt(builder_.CreateIsNull(unset), i32_)
                                             : builder_.CreateZExt(builder_.CreateIsNotNull(set), i32_);
      builder_.CreateStore(answer, answer_);
    }
    builder_.CreateBr(starts_[suspension]);
  }

  void decide(const Region& region) {
    if (region.exits.empty()) {  // Every thread ends in a fault.
      builder_.CreateUnreachable();
      return;
    }
    if (region.exits.size() == 1) return go_to(region.exits[0]);
    const bool ends = region.exits[0] == 0;
    Value* seen = builder_.CreateLoad(builder_.getInt64Ty(), seen_);
    if (ends) seen = builder_.CreateAnd(seen, ~uint64_t(1));
    BasicBlock* divergent = BasicBlock::Create(run_.getContext(), "divergent", &run_);
    SwitchInst* next = builder_.CreateSwitch(seen, divergent);
    if (ends) next->addCase(builder_.getInt64(0), end_);
    std::string places;
    for (size_t i = ends ? 1 : 0; i < region.exits.size(); ++i) {
      BasicBlock* leave = BasicBlock::Create(run_.getContext(), "leave", &run_);
      next->addCase(builder_.getInt64(uint64_t(1) << i), leave);
      places += (places.empty() ? "" : ", ") + cut_.suspensions[region.exits[i]].place;
      builder_.SetInsertPoint(leave);
      go_to(region.exits[i]);
    }
    builder_.SetInsertPoint(divergent);
    if (checks_barriers_) tell_of_divergence(region, seen);
    call_service(builder_, Service::divergent, {run_.getArg(0), builder_.CreateGlobalString(places)});
    builder_.CreateUnreachable();
  }

  Kernel& kernel_;
  const CutKernel& cut_;
  Function& run_;
  IRBuilder<> builder_;
  Type* i32_ = nullptr;
  Value *thread_ = nullptr, *answer_ = nullptr, *seen_ = nullptr, *set_ = nullptr, *unset_ = nullptr;
  Value *frame_ = nullptr, *stride_ = nullptr, *ended_ = nullptr;
  Value* latest_ = nullptr;  ///< Check mode: the latest thread that came to each suspension.
  Value* counts_[3] = {};
  SmallVector<Value*, 8> parameters_;
  std::vector<BasicBlock*> starts_;
  BasicBlock* end_ = nullptr;
  bool some_end_early_ = false, checks_barriers_ = false;
};

}  // namespace

void build_thread_loops(Kernel& kernel, const CutKernel& cut) { BlockFunction(kernel, cut).build(); }

void build_fiber_entry(Kernel& kernel) {
  Function& run = *create_run(kernel);
  IRBuilder<> builder(BasicBlock::Create(run.getContext(), "entry", &run));
  Value* block = run.getArg(0);
  // Not an invariant load: `current` names another thread on every call.
  Value* current = builder.CreateLoad(
      builder.getPtrTy(), builder.CreateStructGEP(block_type(run.getContext()), block, BlockField::current));
  SmallVector<Value*, 8> arguments = {current};
  arguments.append(load_parameters(builder, kernel, block));
  builder.CreateCall(kernel.body, arguments);
  builder.CreateRetVoid();
  kernel.run = &run;
}

}  // namespace kernelift::cpu
