// From NVPTX-shaped IR to host-shaped IR. Three things happen at once because each needs the others: pointers of every
// address space become plain pointers (a value's type is changed in place, constants are rebuilt), defined functions
// get a hidden first parameter (their thread), and NVVM intrinsics, which only exist for that target, become calls of
// plain functions `nvvm.*` that lower/intrinsics.cpp gives a meaning.
#include "sandbox/device/cpu/lower/module/retarget.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <cstring>

#include "sandbox/device/cpu/lower/context_layout.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

Type* flat(Type* type) {
  if (type->isPointerTy()) return PointerType::get(type->getContext(), 0);
  if (auto* vector = dyn_cast<VectorType>(type); vector && vector->getElementType()->isPointerTy())
    return VectorType::get(flat(vector->getElementType()), vector->getElementCount());
  return type;
}

unsigned space_of(Type* type) {
  type = type->getScalarType();
  return type->isPointerTy() ? type->getPointerAddressSpace() : 0;
}

FunctionType* flat_function(FunctionType* type, bool with_thread) {
  SmallVector<Type*, 8> parameters;
  if (with_thread) parameters.push_back(PointerType::get(type->getContext(), 0));
  for (Type* parameter : type->params()) parameters.push_back(flat(parameter));
  return FunctionType::get(flat(type->getReturnType()), parameters, type->isVarArg());
}

class Flattener {
 public:
  explicit Flattener(DeviceModule& device) : device_(device), module_(*device.module) {}

  Status run() {
    replace_globals();
    for (Function& function : module_)
      if (!function.isDeclaration()) flatten_values(function);
    for (Function& function : module_)
      if (!function.isDeclaration()) flatten_constants(function);
    for (Function& function : module_)
      if (!function.isDeclaration()) remove_casts(function);
    drop_old_globals();
    add_thread_parameters();
    rewrite_calls();
    return done();
  }

 private:
  void replace_globals() {
    SmallVector<GlobalVariable*, 16> old;
    for (GlobalVariable& global : module_.globals())
      if (global.getAddressSpace() != 0) old.push_back(&global);
    for (GlobalVariable* global : old) {
      const bool constant = global->isConstant() && global->getAddressSpace() != kConstantSpace;
      auto* fresh = new GlobalVariable(module_, global->getValueType(), constant, global->getLinkage(), nullptr, "",
                                       nullptr, GlobalValue::NotThreadLocal, 0, global->isExternallyInitialized());
      fresh->takeName(global);
      fresh->setAlignment(std::max(global->getAlign().valueOrOne(), Align(16)));
      flat_global_[global] = fresh;
      for (Variable& variable : device_.variables)
        if (variable.global == global) variable.global = fresh;
    }
    for (GlobalVariable* global : old)
      if (global->hasInitializer()) flat_global_[global]->setInitializer(flat_constant(global->getInitializer()));
    for (GlobalVariable& global : module_.globals())
      if (global.getAddressSpace() == 0 && global.hasInitializer())
        global.setInitializer(flat_constant(global.getInitializer()));
  }

  void drop_old_globals() {
    for (auto& [old, fresh] : flat_global_) old->setInitializer(nullptr);
    for (auto& [old, fresh] : flat_global_) {
      old->removeDeadConstantUsers();
      old->replaceAllUsesWith(PoisonValue::get(old->getType()));
      old->eraseFromParent();
    }
  }

  Constant* flat_constant(Constant* constant) {
    if (isa<ConstantData>(constant)) {
      Type* type = flat(constant->getType());
      if (type == constant->getType()) return constant;
      if (isa<PoisonValue>(constant)) return PoisonValue::get(type);
      if (isa<UndefValue>(constant)) return UndefValue::get(type);
      return Constant::getNullValue(type);
    }
    if (auto* global = dyn_cast<GlobalVariable>(constant)) {
      auto known = flat_global_.find(global);
      return known == flat_global_.end() ? constant : known->second;
    }
    if (isa<GlobalValue>(constant) || isa<BlockAddress>(constant)) return constant;
    if (auto* expression = dyn_cast<ConstantExpr>(constant)) {
      SmallVector<Constant*, 4> operands;
      for (Use& operand : expression->operands()) operands.push_back(flat_constant(cast<Constant>(operand)));
      if (expression->getOpcode() == Instruction::AddrSpaceCast) return operands[0];
      if (auto* gep = dyn_cast<GEPOperator>(expression))
        return ConstantExpr::getGetElementPtr(gep->getSourceElementType(), operands[0], ArrayRef(operands).drop_front(),
                                              gep->getNoWrapFlags());
      return expression->getWithOperands(operands, flat(expression->getType()));
    }
    SmallVector<Constant*, 16> elements;
    for (Use& element : constant->operands()) elements.push_back(flat_constant(cast<Constant>(element)));
    if (auto* array = dyn_cast<ConstantArray>(constant)) return ConstantArray::get(array->getType(), elements);
    if (auto* record = dyn_cast<ConstantStruct>(constant)) return ConstantStruct::get(record->getType(), elements);
    return ConstantVector::get(elements);
  }

  void flatten_values(Function& function) {
    for (Argument& argument : function.args()) argument.mutateType(flat(argument.getType()));
    for (Instruction& instruction : instructions(function)) {
      // Shared addresses as integers count from the arena's start, as they do on a GPU (they fit 32 bits there).
      if (isa<PtrToIntInst>(instruction) && space_of(instruction.getOperand(0)->getType()) == kSharedSpace)
        shared_to_int_.push_back(&instruction);
      if (isa<IntToPtrInst>(instruction) && space_of(instruction.getType()) == kSharedSpace)
        int_to_shared_.push_back(&instruction);
      // Constant variables do not change while a kernel runs.
      if (auto* load = dyn_cast<LoadInst>(&instruction); load && load->getPointerAddressSpace() == kConstantSpace)
        load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(module_.getContext(), {}));
    }
    for (Instruction& instruction : instructions(function)) instruction.mutateType(flat(instruction.getType()));
  }

  void flatten_constants(Function& function) {
    for (Instruction& instruction : instructions(function))
      for (Use& operand : instruction.operands())
        if (auto* constant = dyn_cast<Constant>(operand.get())) {
          // Callees keep their type until rewrite_calls; immediate operands have no pointers in them.
          if (isa<Function>(constant)) continue;
          Constant* fresh = flat_constant(constant);
          if (fresh != constant) operand.set(fresh);
        }
  }

  void remove_casts(Function& function) {
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
      if (!isa<AddrSpaceCastInst>(instruction)) continue;
      instruction.replaceAllUsesWith(instruction.getOperand(0));
      instruction.eraseFromParent();
    }
  }

  void add_thread_parameters() {
    SmallVector<Function*, 32> old;
    for (Function& function : module_)
      if (!function.isDeclaration()) old.push_back(&function);
    for (Function* function : old) {
      const bool kernel = any_of(device_.kernels, [&](Kernel& k) { return k.body == function; });
      Function* fresh = Function::Create(flat_function(function->getFunctionType(), true), GlobalValue::InternalLinkage,
                                         "", &module_);
      fresh->takeName(function);
      fresh->copyMetadata(function, 0);
      fresh->splice(fresh->begin(), function);
      copy_attributes(*function, *fresh, kernel);
      for (Argument& argument : function->args()) {
        Argument* moved = fresh->getArg(argument.getArgNo() + 1);
        moved->takeName(&argument);
        argument.replaceAllUsesWith(moved);
      }
      if (kernel) copy_struct_parameters(*function, *fresh);
      function->replaceAllUsesWith(fresh);
      for (Kernel& k : device_.kernels)
        if (k.body == function) k.body = fresh;
      function->eraseFromParent();
    }
  }

  void copy_attributes(const Function& from, Function& to, bool kernel) {
    LLVMContext& context = module_.getContext();
    AttributeList old = from.getAttributes();
    AttrBuilder function_attributes(context, old.getFnAttrs());
    for (const char* name : {"target-cpu", "target-features", "nvvm.maxntid", "nvvm.minctasm",
                             "uniform-work-group-size", "frame-pointer", "stack-protector-buffer-size"})
      function_attributes.removeAttribute(name);
    // Attributes that a -O0 compile leaves behind; the CPU device always optimises.
    if (function_attributes.contains(Attribute::OptimizeNone))
      function_attributes.removeAttribute(Attribute::OptimizeNone).removeAttribute(Attribute::NoInline);
    if (kernel) function_attributes.removeAttribute(Attribute::NoInline);
    // Whatever this function was proved not to touch, it now reads its thread.
    function_attributes.removeAttribute(Attribute::Memory);
    SmallVector<AttributeSet, 8> parameters = {AttributeSet::get(context, AttrBuilder(context)
                                                                              .addAttribute(Attribute::NoAlias)
                                                                              .addAttribute(Attribute::NonNull)
                                                                              .addAttribute(Attribute::NoUndef)
                                                                              .addDereferenceableAttr(kThreadBytes))};
    for (const Argument& argument : from.args()) {
      AttrBuilder attributes(context, old.getParamAttrs(argument.getArgNo()));
      if (kernel && argument.hasByValAttr()) {
        attributes.clear();
        attributes.addAttribute(Attribute::NoAlias).addAttribute(Attribute::ReadOnly).addAttribute(Attribute::NonNull);
      }
      parameters.push_back(AttributeSet::get(context, attributes));
    }
    to.setAttributes(
        AttributeList::get(context, AttributeSet::get(context, function_attributes), old.getRetAttrs(), parameters));
  }

  /// A kernel may write to its copy of a struct parameter; the optimiser removes the copy where it does not.
  void copy_struct_parameters(const Function& old, Function& fresh) {
    IRBuilder<> builder(&fresh.getEntryBlock(), fresh.getEntryBlock().begin());
    for (const Argument& argument : old.args()) {
      if (!argument.hasByValAttr()) continue;
      Type* type = argument.getParamByValType();
      Argument* source = fresh.getArg(argument.getArgNo() + 1);
      AllocaInst* copy = builder.CreateAlloca(type, nullptr, source->getName() + ".copy");
      copy->setAlignment(std::max(argument.getParamAlign().valueOrOne(), copy->getAlign()));
      source->replaceAllUsesWith(copy);
      const Align align = argument.getParamAlign().valueOrOne();
      builder.CreateMemCpy(copy, copy->getAlign(), source, align,
                           module_.getDataLayout().getTypeAllocSize(type).getFixedValue());
    }
  }

  void rewrite_calls() {
    SmallVector<CallInst*, 64> calls;
    for (Function& function : module_)
      for (Instruction& instruction : instructions(function))
        if (auto* call = dyn_cast<CallInst>(&instruction)) calls.push_back(call);
    for (CallInst* call : calls) rewrite_call(call);
    for (Function& function : make_early_inc_range(module_))
      if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
    fix_shared_integers();
  }

  void rewrite_call(CallInst* call) {
    if (call->isInlineAsm()) return retype_assembly(call);
    Function* callee = call->getCalledFunction();
    if (!callee) callee = dyn_cast<Function>(call->getCalledOperand()->stripPointerCasts());
    const bool with_thread = !callee || !callee->isDeclaration();
    FunctionType* type = flat_function(call->getFunctionType(), with_thread);
    Value* target = call->getCalledOperand();
    if (callee && callee->isIntrinsic()) {
      if (callee->getName().starts_with("llvm.nvvm.")) target = plain_function(callee, type);
      else if (type == callee->getFunctionType()) return;
      else target = flat_intrinsic(callee, type);
    } else if (callee && callee->isDeclaration()) {
      if (callee->getName() == "shared.offset" || callee->getName() == "shared.dynamic")
        return shared_address(call, callee);
      if (type == call->getFunctionType()) return;
      const std::string name = callee->getName().str();
      if (callee->getFunctionType() != type) callee->setName(name + ".spaced");
      target = module_.getOrInsertFunction(name, type).getCallee();
    }
    SmallVector<Value*, 8> arguments;
    if (with_thread) arguments.push_back(DeviceModule::thread_of(*call->getFunction()));
    for (Value* argument : call->args()) arguments.push_back(argument);
    CallInst* fresh = CallInst::Create(type, target, arguments, "", call->getIterator());
    fresh->takeName(call);
    fresh->copyMetadata(*call);
    if (isa<FPMathOperator>(fresh) && isa<FPMathOperator>(call)) fresh->copyFastMathFlags(call);
    AttributeList old = call->getAttributes();
    SmallVector<AttributeSet, 8> parameters;
    if (with_thread) parameters.push_back({});
    for (unsigned i = 0; i < call->arg_size(); ++i) parameters.push_back(old.getParamAttrs(i));
    AttributeSet on_call =
        with_thread ? old.getFnAttrs().removeAttribute(module_.getContext(), Attribute::Memory) : old.getFnAttrs();
    fresh->setAttributes(AttributeList::get(module_.getContext(), on_call, old.getRetAttrs(), parameters));
    call->replaceAllUsesWith(fresh);
    call->eraseFromParent();
  }

  void retype_assembly(CallInst* call) {
    auto* assembly = cast<InlineAsm>(call->getCalledOperand());
    FunctionType* type = flat_function(call->getFunctionType(), false);
    if (type == call->getFunctionType()) return;
    call->mutateFunctionType(type);
    call->setCalledOperand(InlineAsm::get(type, assembly->getAsmString(), assembly->getConstraintString(),
                                          assembly->hasSideEffects(), assembly->isAlignStack()));
  }

  Value* plain_function(Function* intrinsic, FunctionType* type) {
    const std::string name = intrinsic->getName().drop_front(strlen("llvm.")).str();
    auto* fresh = cast<Function>(module_.getOrInsertFunction(name, type).getCallee());
    fresh->setAttributes(
        AttributeList::get(module_.getContext(), AttributeList::FunctionIndex,
                           AttrBuilder(module_.getContext(), intrinsic->getAttributes().getFnAttrs())));
    return fresh;
  }

  Value* flat_intrinsic(Function* intrinsic, FunctionType* type) {
    SmallVector<Type*, 4> overloads;
    const bool known = Intrinsic::getIntrinsicSignature(intrinsic->getIntrinsicID(), type, overloads);
    KERNELIFT_ASSERT(known, "an intrinsic has no form for flat pointers");
    return Intrinsic::getOrInsertDeclaration(&module_, intrinsic->getIntrinsicID(), overloads);
  }

  /// A variable's address stays a call of its own, shared.at(arena, offset), until modes are chosen: the race finder
  /// needs to know which variable a pointer leads to.
  void shared_address(CallInst* call, Function* callee) {
    IRBuilder<> builder(call);
    Value* thread = DeviceModule::thread_of(*call->getFunction());
    const bool dynamic = callee->getName() == "shared.dynamic";
    Value* arena = block_field_of(builder, thread, dynamic ? BlockField::dynamic_shared : BlockField::shared);
    Value* offset = dynamic ? builder.getInt64(0) : call->getArgOperand(0);
    const char* name = dynamic ? "shared.dynamic.at" : "shared.at";
    auto* at = cast<Function>(
        module_.getOrInsertFunction(name, builder.getPtrTy(), builder.getPtrTy(), builder.getInt64Ty()).getCallee());
    at->setDoesNotAccessMemory();
    at->setWillReturn();
    at->setDoesNotThrow();
    at->addFnAttr(Attribute::Speculatable);
    call->replaceAllUsesWith(builder.CreateCall(at, {arena, offset}));
    call->eraseFromParent();
  }

  void fix_shared_integers() {
    for (Instruction* cast : shared_to_int_) {
      IRBuilder<> builder(cast->getNextNode());
      Value* base = block_field_of(builder, DeviceModule::thread_of(*cast->getFunction()), BlockField::shared);
      Value* start = builder.CreatePtrToInt(base, cast->getType());
      auto* offset = cast->clone();
      offset->insertBefore(cast->getIterator());
      cast->replaceAllUsesWith(builder.CreateSub(offset, start));
      cast->eraseFromParent();
    }
    for (Instruction* cast : int_to_shared_) {
      IRBuilder<> builder(cast);
      Value* base = block_field_of(builder, DeviceModule::thread_of(*cast->getFunction()), BlockField::shared);
      cast->replaceAllUsesWith(
          builder.CreatePtrAdd(base, builder.CreateZExtOrTrunc(cast->getOperand(0), builder.getInt64Ty())));
      cast->eraseFromParent();
    }
  }

  DeviceModule& device_;
  Module& module_;
  MapVector<GlobalVariable*, GlobalVariable*> flat_global_;
  SmallVector<Instruction*, 4> shared_to_int_, int_to_shared_;
};

}  // namespace

void lower_shared_addresses(DeviceModule& device) {
  for (const char* name : {"shared.at", "shared.dynamic.at"}) {
    Function* function = device.module->getFunction(name);
    if (!function) continue;
    for (User* user : make_early_inc_range(function->users())) {
      auto* call = cast<CallInst>(user);
      IRBuilder<> builder(call);
      call->replaceAllUsesWith(builder.CreateInBoundsPtrAdd(call->getArgOperand(0), call->getArgOperand(1)));
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}

Status retarget(DeviceModule& device, const std::string& triple, const DataLayout& layout) {
  Module& module = *device.module;
  stripNonLineTableDebugInfo(module);
  KERNELIFT_TRY(Flattener(device).run());
  module.setTargetTriple(Triple(triple));
  module.setDataLayout(layout);
  return done();
}

}  // namespace kernelift::cpu
