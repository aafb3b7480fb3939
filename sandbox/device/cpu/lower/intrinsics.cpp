// NVVM intrinsics, one table of rules tried in order: special registers, barriers, warp operations, fences and memory,
// typed arithmetic that LLVM has itself; whatever is left is looked up in the device library by name (llvm.nvvm.a.b is
// __nvvm_a_b there), and refused if it is not found.
#include "sandbox/device/cpu/lower/intrinsics.h"

#include <llvm/IR/InstIterator.h>

#include <cstring>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/device_library.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

/// One function's calls. A rule returns the call's new value, or nullptr if it does not apply; void calls return any
/// non-null value.
class IntrinsicLowering {
 public:
  IntrinsicLowering(const DeviceModule& device, Function& function)
      : device_(device), registers_(function), thread_(DeviceModule::thread_of(function)) {}

  /// False: an intrinsic without a meaning here.
  bool lower(CallInst* call) {
    IRBuilder<> builder(call);
    Function* callee = call->getCalledFunction();
    if (!callee || !callee->isDeclaration()) return true;
    StringRef name = callee->getName();
    if (callee->isIntrinsic()) {
      const Intrinsic::ID id = callee->getIntrinsicID();
      return (id != Intrinsic::trap && id != Intrinsic::debugtrap) || replace(call, fault(builder));
    }
    if (Value* value = runtime_call(builder, *call, name)) return replace(call, value);
    if (!name.consume_front("nvvm.")) return true;
    if (Value* value = nvvm_call(builder, *call, name)) return replace(call, value);
    const std::string library_name = device_library_name(name);
    if (library_name.empty()) return false;
    call->setCalledFunction(cast<Function>(
        call->getModule()->getOrInsertFunction(library_name, call->getFunctionType(), AttributeList()).getCallee()));
    return true;
  }

 private:
  static bool replace(CallInst* call, Value* value) {
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(value);
    call->eraseFromParent();
    return true;
  }

  Value* block(IRBuilderBase& builder) { return load_thread_field(builder, thread_, ThreadField::block); }
  Value* linear(IRBuilderBase& builder) { return load_thread_field(builder, thread_, ThreadField::linear); }
  Value* fault(IRBuilderBase& builder) {
    return call_service(builder, Service::trap, {block(builder), linear(builder)});
  }

  Value* runtime_call(IRBuilderBase& builder, CallInst& call, StringRef name) {
    if (name == "vprintf")
      return call_service(builder, Service::print, {block(builder), call.getArgOperand(0), call.getArgOperand(1)});
    if (name == "__assertfail")
      return call_service(
          builder, Service::assert_fail,
          {block(builder), linear(builder), call.getArgOperand(0), call.getArgOperand(1),
           builder.CreateZExtOrTrunc(call.getArgOperand(2), builder.getInt32Ty()), call.getArgOperand(3)});
    if (name == "malloc")
      return call_service(builder, Service::allocate,
                          {builder.CreateZExtOrTrunc(call.getArgOperand(0), builder.getInt64Ty())});
    if (name == "free") return call_service(builder, Service::release, {call.getArgOperand(0)});
    if (name == "__kl_grid_sync") return call_service(builder, Service::grid_sync, {thread_});
    if (name == "__kl_grid_valid") return call_service(builder, Service::grid_valid, {block(builder)});
    if (name == "abort" || name == "__cxa_pure_virtual" || name == "__cxa_deleted_virtual") return fault(builder);
    if (name == "__nvvm_reflect") return reflect(builder, call);
    return nullptr;
  }

  /// Questions libdevice-style code asks of its compiler: precise division and square root, no flush to zero.
  Value* reflect(IRBuilderBase& builder, CallInst& call) {
    StringRef question;
    auto* text = dyn_cast<GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
    if (text && text->hasInitializer())
      if (auto* data = dyn_cast<ConstantDataSequential>(text->getInitializer()); data && data->isCString())
        question = data->getAsCString();
    return builder.getInt32(question.starts_with("__CUDA_PREC") ? 1 : 0);
  }

  Value* nvvm_call(IRBuilderBase& builder, CallInst& call, StringRef name) {
    if (StringRef rest = name; rest.consume_front("read.ptx.sreg.")) return registers_.read(rest, builder);
    if (name.starts_with("barrier") || name.starts_with("bar.")) return barrier(builder, call, name);
    if (Value* value = warp_operation(builder, call, name)) return value;
    if (Value* value = memory_operation(builder, call, name)) return value;
    return typed_arithmetic(builder, call, name);
  }

  Value* barrier(IRBuilderBase& builder, CallInst& call, StringRef name) {
    if (name == "bar.warp.sync")
      return warp(builder, KL_WARP_SYNC, call.getArgOperand(0), builder.getInt64(0), nullptr);
    if (!name.consume_front("barrier.cta.")) return nullptr;
    Value* id = call.getArgOperand(0);
    const bool counted = name.ends_with(".count");
    Value* count = counted ? call.getArgOperand(1) : builder.getInt32(0);
    if (name.starts_with("arrive")) return call_service(builder, Service::arrive, {thread_, id, count});
    unsigned op = KL_BARRIER_SYNC;
    Value* predicate = builder.getInt32(0);
    if (name.consume_front("red.")) {
      op = name.starts_with("popc") ? KL_BARRIER_COUNT : name.starts_with("and") ? KL_BARRIER_AND : KL_BARRIER_OR;
      predicate = builder.CreateZExt(call.getArgOperand(counted ? 2 : 1), builder.getInt32Ty());
    } else if (!name.starts_with("sync")) {
      return nullptr;
    }
    Value* answer = call_service(builder, Service::barrier,
                                 {thread_, id, count, builder.getInt32(op), predicate, builder.getInt32(0)});
    return call.getType()->isIntegerTy(1) ? builder.CreateIsNotNull(answer) : answer;
  }

  Value* warp(IRBuilderBase& builder, unsigned op, Value* mask, Value* value, Value* operand) {
    return call_service(builder, Service::warp,
                        {thread_, builder.getInt32(op), mask, value, operand ? operand : builder.getInt64(0)});
  }

  Value* widened(IRBuilderBase& builder, Value* value) {
    if (value->getType()->isFloatTy()) value = builder.CreateBitCast(value, builder.getInt32Ty());
    return builder.CreateZExt(value, builder.getInt64Ty());
  }
  Value* narrowed(IRBuilderBase& builder, Value* value, Type* type) {
    if (!type->isFloatTy()) return builder.CreateTrunc(value, type);
    return builder.CreateBitCast(builder.CreateTrunc(value, builder.getInt32Ty()), type);
  }
  /// {T, i1} answers carry the predicate in bit 32.
  Value* answer(IRBuilderBase& builder, Value* raw, Type* type) {
    auto* pair = dyn_cast<StructType>(type);
    if (!pair) return narrowed(builder, raw, type);
    Value* first = narrowed(builder, raw, pair->getElementType(0));
    Value* second = builder.CreateTrunc(builder.CreateLShr(raw, 32), builder.getInt1Ty());
    return builder.CreateInsertValue(builder.CreateInsertValue(PoisonValue::get(pair), first, 0), second, 1);
  }

  Value* warp_operation(IRBuilderBase& builder, CallInst& call, StringRef name) {
    auto argument = [&](unsigned i) { return call.getArgOperand(i); };
    if (name == "activemask") return call_service(builder, Service::active_mask, {thread_, builder.getInt32(0)});
    if (name.consume_front("shfl.sync.")) {
      const unsigned op = name.starts_with("idx")    ? KL_WARP_SHFL_IDX
                          : name.starts_with("up")   ? KL_WARP_SHFL_UP
                          : name.starts_with("down") ? KL_WARP_SHFL_DOWN
                                                     : KL_WARP_SHFL_BFLY;
      Value* operand = builder.CreateOr(builder.CreateZExt(argument(2), builder.getInt64Ty()),
                                        builder.CreateShl(builder.CreateZExt(argument(3), builder.getInt64Ty()), 32));
      return answer(builder, warp(builder, op, argument(0), widened(builder, argument(1)), operand), call.getType());
    }
    static const std::map<StringRef, unsigned> kVotes = {
        {"vote.all.sync", KL_WARP_VOTE_ALL},        {"vote.any.sync", KL_WARP_VOTE_ANY},
        {"vote.uni.sync", KL_WARP_VOTE_UNI},        {"vote.ballot.sync", KL_WARP_BALLOT},
        {"match.any.sync.i32", KL_WARP_MATCH_ANY},  {"match.any.sync.i64", KL_WARP_MATCH_ANY},
        {"match.all.sync.i32p", KL_WARP_MATCH_ALL}, {"match.all.sync.i64p", KL_WARP_MATCH_ALL}};
    if (auto vote = kVotes.find(name); vote != kVotes.end())
      return answer(builder, warp(builder, vote->second, argument(0), widened(builder, argument(1)), nullptr),
                    call.getType());
    if (name == "elect.sync")
      return answer(builder, warp(builder, KL_WARP_ELECT, argument(0), builder.getInt64(0), nullptr), call.getType());
    static const std::map<StringRef, unsigned> kReductions = {
        {"redux.sync.add", KL_WARP_ADD},   {"redux.sync.and", KL_WARP_AND},  {"redux.sync.or", KL_WARP_OR},
        {"redux.sync.xor", KL_WARP_XOR},   {"redux.sync.min", KL_WARP_MIN},  {"redux.sync.max", KL_WARP_MAX},
        {"redux.sync.umin", KL_WARP_UMIN}, {"redux.sync.umax", KL_WARP_UMAX}};
    if (auto reduction = kReductions.find(name); reduction != kReductions.end())
      return answer(builder, warp(builder, reduction->second, argument(1), widened(builder, argument(0)), nullptr),
                    call.getType());
    return nullptr;
  }

  Value* memory_operation(IRBuilderBase& builder, CallInst& call, StringRef name) {
    if (name.starts_with("membar") || name.starts_with("fence."))
      return builder.CreateFence(AtomicOrdering::SequentiallyConsistent);
    if (name == "nanosleep") return call_service(builder, Service::nanosleep, {thread_, call.getArgOperand(0)});
    if (name == "exit") return call_service(builder, Service::exit_thread, {thread_});
    if (name.starts_with("ldu.global") || name.starts_with("ldg.global")) {
      const auto* align = dyn_cast<ConstantInt>(call.getArgOperand(1));
      return builder.CreateAlignedLoad(call.getType(), call.getArgOperand(0),
                                       MaybeAlign(align ? align->getZExtValue() : 1));
    }
    for (const char* hint : {"prefetch", "applypriority", "discard", "griddepcontrol", "setmaxnreg", "pm.event",
                             "cp.async.commit", "cp.async.wait"})
      if (name.starts_with(hint)) return builder.getInt32(0);
    if (StringRef rest = name;
        rest.consume_front("cp.async.ca.shared.global.") || rest.consume_front("cp.async.cg.shared.global."))
      return copy_to_shared(builder, call, rest);
    if (name.starts_with("isspacep.")) return is_in_space(builder, call, name.drop_front(strlen("isspacep.")));
    if (name.starts_with("atomic.")) return atomic(builder, call, name);
    return nullptr;
  }

  /// Asynchronous copies are done at once; the waits for them have nothing left to do.
  Value* copy_to_shared(IRBuilderBase& builder, CallInst& call, StringRef width) {
    uint64_t bytes = 0;
    if (width.consumeInteger(10, bytes)) return nullptr;
    Value* size = builder.getInt64(bytes);
    if (width == ".s") {
      builder.CreateMemSet(call.getArgOperand(0), builder.getInt8(0), bytes, Align(1));
      size = builder.CreateZExt(call.getArgOperand(2), builder.getInt64Ty());
    }
    return builder.CreateMemCpy(call.getArgOperand(0), Align(1), call.getArgOperand(1), Align(1), size);
  }

  Value* lies_within(IRBuilderBase& builder, Value* address, Value* start, uint64_t bytes) {
    Value* distance = builder.CreateSub(builder.CreatePtrToInt(address, builder.getInt64Ty()),
                                        builder.CreatePtrToInt(start, builder.getInt64Ty()));
    return builder.CreateICmpULT(distance, builder.getInt64(bytes));
  }

  /// Nothing tells a thread's own memory from the rest: whether an address is local is refused, and what is neither
  /// shared nor constant is called global.
  Value* is_in_space(IRBuilderBase& builder, CallInst& call, StringRef space) {
    Value* address = call.getArgOperand(0);
    constexpr uint64_t kArenaBytes = 256 << 10;  // No block has more; arenas are that far apart.
    Value* shared = lies_within(builder, address, block_field_of(builder, thread_, BlockField::shared), kArenaBytes);
    if (space.starts_with("shared")) return shared;
    Value* constant = builder.getFalse();
    for (const Variable& variable : device_.variables)
      if (variable.constant)
        constant =
            builder.CreateOr(constant, lies_within(builder, address, variable.global, bytes_of(*variable.global)));
    if (space == "const") return constant;
    return space == "global" ? builder.CreateNot(builder.CreateOr(shared, constant)) : nullptr;
  }
  uint64_t bytes_of(const GlobalVariable& global) {
    return device_.module->getDataLayout().getTypeAllocSize(global.getValueType());
  }

  Value* atomic(IRBuilderBase& builder, CallInst& call, StringRef name) {
    name.consume_front("atomic.");
    static const std::map<StringRef, AtomicRMWInst::BinOp> kOps = {
        {"add", AtomicRMWInst::Add},   {"and", AtomicRMWInst::And},      {"or", AtomicRMWInst::Or},
        {"xor", AtomicRMWInst::Xor},   {"min", AtomicRMWInst::Min},      {"max", AtomicRMWInst::Max},
        {"exch", AtomicRMWInst::Xchg}, {"inc", AtomicRMWInst::UIncWrap}, {"dec", AtomicRMWInst::UDecWrap}};
    const StringRef op = name.split('.').first;
    constexpr auto kOrder = AtomicOrdering::Monotonic;
    if (op == "cas") {
      Value* pair = builder.CreateAtomicCmpXchg(call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2),
                                                MaybeAlign(), kOrder, kOrder);
      return builder.CreateExtractValue(pair, 0);
    }
    auto known = kOps.find(op);
    if (known == kOps.end()) return nullptr;
    const bool floating = call.getType()->isFloatingPointTy();
    if (floating && op != "add") return nullptr;
    return builder.CreateAtomicRMW(floating ? AtomicRMWInst::FAdd : known->second, call.getArgOperand(0),
                                   call.getArgOperand(1), MaybeAlign(), kOrder);
  }

  /// Minimum, maximum, fma and sign operations of any floating type, and plain moves: LLVM has them itself.
  Value* typed_arithmetic(IRBuilderBase& builder, CallInst& call, StringRef name) {
    if (name.starts_with("move.")) return call.getArgOperand(0);
    const bool floating = call.getType()->isFPOrFPVectorTy();
    if (!floating || name.contains("xorsign") || name.contains(".relu") || name.contains(".sat")) return nullptr;
    auto unary = [&](Intrinsic::ID id) { return builder.CreateUnaryIntrinsic(id, call.getArgOperand(0)); };
    auto binary = [&](Intrinsic::ID id) {
      return builder.CreateBinaryIntrinsic(id, call.getArgOperand(0), call.getArgOperand(1));
    };
    const bool nan = name.contains(".nan.");
    if (name.starts_with("fmin.")) return binary(nan ? Intrinsic::minimum : Intrinsic::minimumnum);
    if (name.starts_with("fmax.")) return binary(nan ? Intrinsic::maximum : Intrinsic::maximumnum);
    if (name.starts_with("fabs")) return unary(Intrinsic::fabs);
    if (name.starts_with("neg.")) return builder.CreateFNeg(call.getArgOperand(0));
    if (name.starts_with("fma.rn."))
      return builder.CreateIntrinsic(call.getType(), Intrinsic::fma,
                                     {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2)});
    return nullptr;
  }

  const DeviceModule& device_;
  SpecialRegisters registers_;
  Value* thread_;
};

}  // namespace

void lower_intrinsics(DeviceModule& device) {
  for (Function& function : *device.module) {
    if (function.isDeclaration() || device.refused.contains(&function)) continue;
    SmallVector<CallInst*, 32> calls;
    for (Instruction& instruction : instructions(function)) {
      if (auto* call = dyn_cast<CallInst>(&instruction)) calls.push_back(call);
      else if (isa<InvokeInst>(instruction) || isa<CallBrInst>(instruction))
        device.refuse(instruction, "the CPU device does not support exceptions and asm goto in device code");
    }
    IntrinsicLowering lowering(device, function);
    for (CallInst* call : calls)
      if (!lowering.lower(call))
        device.refuse(
            *call, "the CPU device does not support the intrinsic llvm." + call->getCalledFunction()->getName().str());
  }
  for (Function& function : make_early_inc_range(*device.module))
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
}

}  // namespace kernelift::cpu
