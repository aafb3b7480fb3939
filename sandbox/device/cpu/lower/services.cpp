// The table of services, once: name, type and what the optimiser may know of each.
#include "sandbox/device/cpu/lower/services.h"

#include <llvm/IR/PatternMatch.h>

namespace kernelift::cpu {

using namespace llvm;

namespace {

struct Row {
  const char* name;
  const char* signature;  ///< Result, then parameters: v void, p pointer, i 32 bits, l 64 bits.
  bool convergent, no_return;
};

// In the order of kl_services (block_context.h).
constexpr Row kRows[] = {
    {"kl.print", "ippp", false, false},
    {"kl.assert_fail", "vpippip", false, true},
    {"kl.trap", "vpi", false, true},
    {"kl.divergent", "vpp", false, true},
    {"kl.allocate", "pl", false, false},
    {"kl.release", "vp", false, false},
    {"kl.global_timer", "l", false, false},
    {"kl.nanosleep", "vpi", true, false},
    {"kl.barrier", "ipiiiii", true, false},
    {"kl.arrive", "vpii", true, false},
    {"kl.warp", "lpiill", true, false},
    {"kl.active_mask", "ipi", true, false},
    {"kl.lockstep", "vpi", true, false},
    {"kl.yield", "vp", true, false},
    {"kl.grid_sync", "vp", true, false},
    {"kl.exit_thread", "vp", true, true},
    {"kl.run_warps", "vpp", false, false},
    {"kl.grid_valid", "ip", false, false},
    {"kl.check_access", "vpplpll", false, false},
    {"kl.check_barrier", "vpp", false, false},
    {"kl.field_load", "lppip", false, false},
    {"kl.field_store", "vppilp", false, false},
    {"kl.field_load_word", "lppp", false, false},
    {"kl.field_store_word", "vpplp", false, false},
    {"kl.field_touch", "vpplip", false, false},
    {"kl.field_copy", "vppplp", false, false},
    {"kl.field_parameter", "lplip", false, false},
    {"kl.field_of_bits", "lli", false, false},
    {"kl.field_divide", "lpll", false, false},
    {"kl.field_apply", "lplllp", false, false},
    {"kl.field_decide", "vpp", false, false},
    {"kl.field_constants_meant", "ippl", false, false},
};

Type* type_of(LLVMContext& context, char letter) {
  switch (letter) {
    case 'p': return PointerType::get(context, 0);
    case 'i': return Type::getInt32Ty(context);
    case 'l': return Type::getInt64Ty(context);
    default: return Type::getVoidTy(context);
  }
}

}  // namespace

Function* service_function(Module& module, Service service) {
  const Row& row = kRows[size_t(service)];
  if (Function* known = module.getFunction(row.name)) return known;
  LLVMContext& context = module.getContext();
  SmallVector<Type*, 8> parameters;
  for (const char* letter = row.signature + 1; *letter; ++letter) parameters.push_back(type_of(context, *letter));
  auto* type = FunctionType::get(type_of(context, row.signature[0]), parameters, false);
  Function* function = Function::Create(type, GlobalValue::ExternalLinkage, row.name, module);
  function->addFnAttr(Attribute::NoUnwind);
  if (row.convergent) function->addFnAttr(Attribute::Convergent);
  if (row.no_return) {
    function->addFnAttr(Attribute::NoReturn);
    function->addFnAttr(Attribute::Cold);
  }
  return function;
}

CallInst* call_service(IRBuilderBase& builder, Service service, ArrayRef<Value*> arguments) {
  Function* function = service_function(*builder.GetInsertBlock()->getModule(), service);
  CallInst* call = builder.CreateCall(function, arguments);
  call->setAttributes(AttributeList().addFnAttributes(
      builder.getContext(), AttrBuilder(builder.getContext(), function->getAttributes().getFnAttrs())));
  return call;
}

bool is_service(const Instruction& instruction, Service service) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && callee->getName() == kRows[size_t(service)].name;
}

bool is_block_barrier(const Instruction& instruction) {
  auto is_zero = [&](unsigned argument) { return match(instruction.getOperand(argument), PatternMatch::m_ZeroInt()); };
  return is_service(instruction, Service::barrier) && is_zero(1) && is_zero(2);
}

GlobalVariable* services_global(Module& module) {
  if (GlobalVariable* known = module.getNamedGlobal("kl.services")) return known;
  Type* pointer = PointerType::get(module.getContext(), 0);
  return new GlobalVariable(module, pointer, false, GlobalValue::InternalLinkage, Constant::getNullValue(pointer),
                            "kl.services", nullptr, GlobalValue::NotThreadLocal, 0, /*isExternallyInitialized=*/true);
}

void lower_services(Module& module) {
  Type* pointer = PointerType::get(module.getContext(), 0);
  for (size_t index = 0; index < std::size(kRows); ++index) {
    Function* function = module.getFunction(kRows[index].name);
    if (!function) continue;
    for (User* user : make_early_inc_range(function->users())) {
      auto* call = cast<CallInst>(user);
      IRBuilder<> builder(call);
      LoadInst* table = builder.CreateLoad(pointer, services_global(module));
      LoadInst* entry = builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(pointer, table, index));
      for (LoadInst* load : {table, entry})
        load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(module.getContext(), {}));
      call->setCalledOperand(entry);
    }
    function->eraseFromParent();
  }
}

}  // namespace kernelift::cpu
