// See access_checks.h. What is not looked at: a thread's own arrays, parameters and constants, and the fields of thread
// and block by which lowered code finds them.
//
// A load at an address that the function also changes atomically counts as atomic: `old = *p; do … atomicCAS(p, …)`,
// `if (x > *p) atomicMax(p, x)`. Where the module spins on memory, volatile accesses do as well.
#include "sandbox/device/cpu/lower/check/access_checks.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/host/prepare.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/shadow_words.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr uint64_t kMostQuickBytes = 16;  // A vector; each granule of it is code of its own.

bool is_barrier(const Instruction& instruction) {
  return is_service(instruction, Service::barrier) || is_service(instruction, Service::grid_sync) ||
         is_service(instruction, Service::arrive);
}

bool module_spins(const Module& module) {
  const Function* yield = module.getFunction("kl.yield");
  return yield && !yield->use_empty();
}

/// The address marker of the only shared variable that a pointer may lead to; nullptr if there is none, or several.
const CallInst* shared_variable(ArrayRef<const Value*> objects) {
  const auto* call = objects.size() == 1 ? dyn_cast<CallInst>(objects.front()) : nullptr;
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && (callee->getName() == "shared.at" || callee->getName() == "shared.dynamic.at") ? call : nullptr;
}

class FunctionChecks {
 public:
  FunctionChecks(DeviceModule& device, Function& function, const DenseSet<const Instruction*>& barriers,
                 const DenseSet<const Instruction*>& was_volatile, bool spins)
      : device_(device),
        module_(*device.module),
        function_(function),
        barriers_(barriers),
        volatile_(was_volatile),
        spins_(spins),
        layout_(device.module->getDataLayout()) {
    for (Kernel& kernel : device.kernels)
      if (kernel.body == &function) kernel_ = &kernel;
  }

  void insert() {
    SmallVector<Instruction*, 64> all;
    for (Instruction& instruction : instructions(function_)) {
      all.push_back(&instruction);
      if (auto* change = dyn_cast<AtomicRMWInst>(&instruction)) atomic_.insert(change->getPointerOperand());
      if (auto* change = dyn_cast<AtomicCmpXchgInst>(&instruction)) atomic_.insert(change->getPointerOperand());
    }
    for (Instruction* instruction : all) check(*instruction);
  }

 private:
  void check(Instruction& at) {
    if (barriers_.contains(&at)) return check_barrier(at);
    if (auto* load = dyn_cast<LoadInst>(&at)) {
      if (is_speculated(*load)) return;
      uint32_t flags = talk_flags(at, KL_SITE_ACQUIRE);
      if (atomic_.contains(load->getPointerOperand())) flags |= KL_SITE_STRONG;
      return check_access(at, load->getPointerOperand(), size_of(load->getType()), load->getAlign(), flags);
    }
    if (auto* store = dyn_cast<StoreInst>(&at))
      return check_access(at, store->getPointerOperand(), size_of(store->getValueOperand()->getType()),
                          store->getAlign(), KL_SITE_WRITE | talk_flags(at, KL_SITE_RELEASE), store->getValueOperand());
    constexpr uint32_t kChange = KL_SITE_WRITE | KL_SITE_STRONG | KL_SITE_RELEASE;
    const uint32_t learns = at.use_empty() ? 0 : KL_SITE_ACQUIRE;
    if (auto* change = dyn_cast<AtomicRMWInst>(&at))
      return check_access(at, change->getPointerOperand(), size_of(change->getType()), change->getAlign(),
                          kChange | learns);
    if (auto* change = dyn_cast<AtomicCmpXchgInst>(&at))
      return check_access(at, change->getPointerOperand(), size_of(change->getCompareOperand()->getType()),
                          change->getAlign(), kChange | learns);
    if (auto* copy = dyn_cast<MemTransferInst>(&at))
      check_access(at, copy->getRawSource(), copy->getLength(), copy->getSourceAlign().valueOrOne(), 0);
    if (auto* fill = dyn_cast<MemIntrinsic>(&at))
      check_access(at, fill->getRawDest(), fill->getLength(), fill->getDestAlign().valueOrOne(), KL_SITE_WRITE);
  }

  uint32_t talk_flags(const Instruction& at, uint32_t talk) const {
    if (at.isAtomic()) return KL_SITE_STRONG | talk;
    if (!volatile_.contains(&at)) return 0;
    return KL_SITE_VOLATILE | (spins_ ? KL_SITE_STRONG | talk : 0);
  }

  Value* size_of(Type* type) {
    return ConstantInt::get(Type::getInt64Ty(module_.getContext()), layout_.getTypeStoreSize(type).getFixedValue());
  }

  bool is_own(const Value* object) const {
    if (const auto* global = dyn_cast<GlobalVariable>(object)) return global->isConstant();
    if (const auto* argument = dyn_cast<Argument>(object))
      return argument == DeviceModule::thread_of(function_) ||
             (kernel_ && kernel_->parameters[argument->getArgNo() - 1].by_value);
    if (const auto* load = dyn_cast<LoadInst>(object))
      return load->getPointerOperand() == DeviceModule::thread_of(function_);  // The block.
    return isa<AllocaInst>(object);
  }

  /// The optimiser has moved it to where the source has none, and it has lost its line: threads that read so do not
  /// use the value.
  static bool is_speculated(const LoadInst& load) {
    if (!load.isSimple() || !load.getModule()->getNamedMetadata("llvm.dbg.cu")) return false;
    return !load.getDebugLoc() || load.getDebugLoc().getLine() == 0;
  }

  void check_access(Instruction& at, Value* pointer, Value* bytes, Align align, uint32_t flags,
                    Value* value = nullptr) {
    SmallVector<const Value*, 4> objects;
    getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
    if (all_of(objects, [&](const Value* object) { return is_own(object); })) return;
    IRBuilder<> builder(&at);
    Value *low = builder.getInt64(0), *high = low;
    if (value && split(builder, *value, low, high)) flags |= KL_SITE_VALUE;
    // Of one offset functions that are not inlined cannot tell which kernel's variable it is.
    const CallInst* marker = kernel_ ? shared_variable(objects) : nullptr;
    const SharedVariable* shared = marker ? placed(*marker) : nullptr;
    Constant* site = site_of(at, shared, align, flags);
    Value* thread = DeviceModule::thread_of(function_);
    bytes = builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty());
    const auto* size = dyn_cast<ConstantInt>(bytes);
    Function* quick = size ? quick_check(size->getZExtValue(), align, shared, flags) : nullptr;
    if (quick) builder.CreateCall(quick, {thread, pointer, site, low, high});
    else call_service(builder, Service::check_access, {thread, pointer, bytes, site, low, high});
  }

  /// (thread, pointer, site, low, high): asks about an access only if it is not noted in place
  /// (devicelib/access_notes.h); nullptr: none such can be. A function that is inlined behind the scheduling of
  /// kernels, which so sees no branches that the source does not have.
  Function* quick_check(uint64_t bytes, Align align, bool shared, uint32_t flags) {
    constexpr uint32_t kTalks = KL_SITE_STRONG | KL_SITE_VOLATILE | KL_SITE_ACQUIRE | KL_SITE_RELEASE;
    const bool writes = flags & KL_SITE_WRITE, granules = bytes % KL_GRANULE == 0 && align.value() >= KL_GRANULE;
    if (flags & kTalks || bytes == 0 || ((writes || shared) && (!granules || bytes > kMostQuickBytes))) return nullptr;
    const std::string note = std::string("__kl_note_") + (shared ? "shared_" : "") + (writes ? "write" : "read");
    const bool parts = !kernel_ || kernel_->mode == KL_MODE_FIBER || kernel_->in_warps;
    const bool several = !kernel_ || kernel_->mode == KL_MODE_FIBER;
    const std::string kind = several ? ".several." : parts ? ".parts." : ".";
    const std::string name = note + kind + std::to_string(bytes) + "." + std::to_string(align.value());
    if (Function* known = module_.getFunction(name)) return known;
    LLVMContext& context = module_.getContext();
    Type *pointer = PointerType::get(context, 0), *wide = Type::getInt64Ty(context), *none = Type::getVoidTy(context);
    auto* type = FunctionType::get(none, {pointer, pointer, pointer, wide, wide}, false);
    Function* made = Function::Create(type, GlobalValue::InternalLinkage, name, module_);
    made->addFnAttr(Attribute::NoInline);
    made->addFnAttr(kInlineLate);
    made->addFnAttr(Attribute::NoUnwind);
    BasicBlock* entry = BasicBlock::Create(context, "entry", made);
    BasicBlock* asks = BasicBlock::Create(context, "asks", made);
    BasicBlock* done = BasicBlock::Create(context, "done", made);
    IRBuilder<> builder(entry);
    Value *thread = made->getArg(0), *at = made->getArg(1), *site = made->getArg(2), *size = builder.getInt64(bytes);
    FunctionCallee noted =
        module_.getOrInsertFunction(note, builder.getInt32Ty(), pointer, wide, wide, wide, pointer, wide, wide);
    Value* is_noted =
        builder.CreateCall(noted, {thread, builder.CreatePtrToInt(at, wide), size, builder.getInt64(align.value()),
                                   site, builder.getInt64(parts), builder.getInt64(several)});
    builder.CreateCondBr(builder.CreateIsNotNull(is_noted), done, asks, MDBuilder(context).createLikelyBranchWeights());
    builder.SetInsertPoint(asks);
    call_service(builder, Service::check_access, {thread, at, size, site, made->getArg(3), made->getArg(4)});
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return made;
  }

  /// The value's bytes as two words; false if it has more, or no such form.
  bool split(IRBuilder<>& builder, Value& value, Value*& low, Value*& high) {
    const uint64_t bits = layout_.getTypeSizeInBits(value.getType()).getFixedValue();
    if (bits > 128 || bits % 8 != 0 || value.getType()->isAggregateType()) return false;
    Type* word = builder.getIntNTy(unsigned(bits));
    Value* whole = value.getType()->isPointerTy() ? builder.CreatePtrToInt(&value, word) : &value;
    if (!whole->getType()->isIntegerTy() && !CastInst::isBitCastable(whole->getType(), word)) return false;
    whole = builder.CreateBitCast(whole, word);
    low = builder.CreateZExtOrTrunc(whole, builder.getInt64Ty());
    if (bits > 64) high = builder.CreateTrunc(builder.CreateLShr(whole, 64), builder.getInt64Ty());
    return true;
  }

  void check_barrier(Instruction& at) {
    IRBuilder<> builder(&at);
    const bool of_all = is_block_barrier(at) || is_service(at, Service::grid_sync);
    call_service(
        builder, Service::check_barrier,
        {DeviceModule::thread_of(function_), site_of(at, nullptr, Align(1), of_all ? 0 : uint32_t(KL_SITE_NAMED))});
  }

  const SharedVariable* placed(const CallInst& marker) const {
    const bool dynamic = marker.getCalledFunction()->getName() == "shared.dynamic.at";
    const uint64_t offset = cast<ConstantInt>(marker.getArgOperand(1))->getZExtValue();
    for (const SharedVariable& variable : device_.shared) {
      const bool reached = !kernel_ || is_contained(variable.kernels, kernel_->name);
      if (reached && variable.dynamic == dynamic && (dynamic || variable.offset == offset)) return &variable;
    }
    return nullptr;
  }

  Constant* text(StringRef words) {
    Constant* bytes = ConstantDataArray::getString(module_.getContext(), words);
    return new GlobalVariable(module_, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes, "kl.place");
  }

  /// A kl_site; LLVM's default struct layout for the host is C's.
  Constant* site_of(Instruction& at, const SharedVariable* variable, Align align, uint32_t flags) {
    LLVMContext& context = module_.getContext();
    auto wide = [&](uint64_t value) { return ConstantInt::get(Type::getInt64Ty(context), value); };
    auto word = [&](uint64_t value) { return ConstantInt::get(Type::getInt32Ty(context), value); };
    if (variable && variable->dynamic) flags |= KL_SITE_DYNAMIC;
    const DebugLoc& line = at.getDebugLoc();
    Constant* none = ConstantPointerNull::get(PointerType::get(context, 0));
    Constant* site = ConstantStruct::getAnon(
        {text(place_of(at)), variable ? text(variable->name) : none, word(variable ? variable->offset : 0),
         word(variable ? variable->bytes : 0), word(line ? line.getCol() : 0), word(align.value()), word(flags),
         wide(0), wide(0), wide(0), wide(0), none, none, wide(0), wide(0), none});
    return new GlobalVariable(module_, site->getType(), false, GlobalValue::PrivateLinkage, site, "kl.site");
  }

  DeviceModule& device_;
  Module& module_;
  Function& function_;
  const DenseSet<const Instruction*>&barriers_, &volatile_;
  const bool spins_;
  const DataLayout& layout_;
  const Kernel* kernel_ = nullptr;
  SmallPtrSet<const Value*, 8> atomic_;
};

}  // namespace

AccessChecks::AccessChecks(DeviceModule& device) : device_(device) {
  for (Function& function : *device.module)
    for (Instruction& instruction : instructions(function)) {
      if (is_barrier(instruction)) barriers_.insert(&instruction);
      if (instruction.isVolatile()) volatile_.insert(&instruction);
    }
}

void AccessChecks::insert() {
  const bool spins = module_spins(*device_.module);
  for (Function& function : *device_.module)
    if (DeviceModule::has_thread(function)) FunctionChecks(device_, function, barriers_, volatile_, spins).insert();
  // Identical threads race with each other.
  for (Kernel& kernel : device_.kernels) kernel.identical_along = {};
}

}  // namespace kernelift::cpu
