// Reads a device module: kernels by calling convention (or nvvm.annotations, as older IR has them), parameters packed
// as CUDA packs them (natural alignment, no tail padding), variables the host can see. Everything else becomes
// internal and unreachable code is dropped here, so that a construct no kernel reaches is never refused.
#include "sandbox/device/cpu/lower/module/device_module.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/Path.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <set>

namespace kernelift::cpu {

using namespace llvm;

namespace {

struct Annotations {
  std::set<const GlobalValue*> kernels, managed;
  std::map<const GlobalValue*, uint32_t> max_threads;
};

/// __managed__ variables carry an annotation of our headers: clang knows managed variables in HIP only.
void read_managed(const Module& module, std::set<const GlobalValue*>& managed) {
  const GlobalVariable* list = module.getNamedGlobal("llvm.global.annotations");
  if (!list || !list->hasInitializer()) return;
  for (const Use& entry : list->getInitializer()->operands()) {
    const auto* fields = dyn_cast<ConstantStruct>(entry.get());
    if (!fields || fields->getNumOperands() < 2) continue;
    const auto* text = dyn_cast<GlobalVariable>(fields->getOperand(1)->stripPointerCasts());
    const auto* data = text && text->hasInitializer() ? dyn_cast<ConstantDataArray>(text->getInitializer()) : nullptr;
    if (data && data->isCString() && data->getAsCString() == "kernelift_managed")
      managed.insert(dyn_cast<GlobalValue>(fields->getOperand(0)->stripPointerCasts()));
  }
}

Annotations read_annotations(const Module& module) {
  Annotations found;
  read_managed(module, found.managed);
  const NamedMDNode* list = module.getNamedMetadata("nvvm.annotations");
  if (!list) return found;
  std::map<const GlobalValue*, std::map<std::string, uint64_t>> dims;
  for (const MDNode* node : list->operands()) {
    const auto* subject =
        node->getNumOperands() ? mdconst::dyn_extract_or_null<GlobalValue>(node->getOperand(0)) : nullptr;
    for (unsigned i = 1; subject && i + 1 < node->getNumOperands(); i += 2) {
      const auto* key = dyn_cast<MDString>(node->getOperand(i));
      const auto* value = mdconst::dyn_extract_or_null<ConstantInt>(node->getOperand(i + 1));
      if (!key || !value) continue;
      if (key->getString() == "kernel" && value->getZExtValue()) found.kernels.insert(subject);
      if (key->getString().starts_with("maxntid")) dims[subject][key->getString().str()] = value->getZExtValue();
    }
  }
  for (auto& [subject, sizes] : dims) {
    uint64_t product = 1;
    for (auto& [axis, size] : sizes) product *= size;
    found.max_threads[subject] = uint32_t(product);
  }
  return found;
}

uint32_t max_threads_of(const Function& function, const Annotations& annotations) {
  if (auto known = annotations.max_threads.find(&function); known != annotations.max_threads.end())
    return known->second;
  if (!function.hasFnAttribute("nvvm.maxntid")) return 0;
  SmallVector<StringRef, 3> sizes;
  function.getFnAttribute("nvvm.maxntid").getValueAsString().split(sizes, ',');
  uint64_t product = 1, size = 0;
  for (StringRef text : sizes) product *= text.trim().getAsInteger(10, size) ? 1 : size;
  return uint32_t(product);
}

void pack_parameters(Kernel& kernel, const DataLayout& layout) {
  uint64_t offset = 0;
  for (const Argument& argument : kernel.body->args()) {
    KernelParameter parameter;
    parameter.by_value = argument.hasByValAttr();
    parameter.type = parameter.by_value ? argument.getParamByValType() : argument.getType();
    Align align = layout.getABITypeAlign(parameter.type);
    if (parameter.by_value && argument.getParamAlign()) align = std::max(*argument.getParamAlign(), Align(1));
    parameter.size = parameter.type->isIntegerTy(1) ? 1 : layout.getTypeAllocSize(parameter.type).getFixedValue();
    parameter.offset = alignTo(offset, align);
    offset = parameter.offset + parameter.size;
    kernel.parameters.push_back(parameter);
  }
  kernel.parameter_bytes = offset;
}

bool is_intrinsic_global(const GlobalVariable& global) { return global.getName().starts_with("llvm."); }

bool is_unused_declaration(const GlobalVariable& global) { return global.isDeclaration() && global.use_empty(); }

/// clang's threadIdx, blockIdx, blockDim and gridDim have no members but functions that read registers; `uint3 id =
/// threadIdx;` calls one of them with the variable's address, which has to be some.
void define_builtin_variables(Module& module) {
  for (const char* name : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
    if (GlobalVariable* variable = module.getNamedGlobal(name); variable && variable->isDeclaration()) {
      variable->setInitializer(Constant::getNullValue(variable->getValueType()));
      variable->setLinkage(GlobalValue::PrivateLinkage), variable->setConstant(true);
    }
}

Status check_externals(Module& module) {
  for (GlobalVariable& global : module.globals()) {
    if (!global.isDeclaration() || global.getAddressSpace() == kSharedSpace || global.use_empty()) continue;
    return refused(
        "device variable " + readable_name(global.getName()) +
        " is declared in this module but defined in none that is linked to it; link the translation unit that "
        "defines it (relocatable device code)");
  }
  for (Function& function : module) {
    if (!function.isDeclaration() || function.use_empty() || function.isIntrinsic()) continue;
    if (is_provided_function(function.getName())) continue;
    std::string where;
    for (User* user : function.users())
      if (auto* call = dyn_cast<Instruction>(user)) where = " (called at " + place_of(*call) + ")";
    return refused(
        "device function " + readable_name(function.getName()) + where +
        " is not defined in this module nor provided by the CPU device; link the translation unit that defines "
        "it (relocatable device code)");
  }
  return done();
}

}  // namespace

std::string readable_name(StringRef mangled) { return demangle(mangled.str()); }

bool DeviceModule::has_thread(const Function& function) {
  return !function.isDeclaration() && !function.arg_empty() && function.getArg(0)->getType()->isPointerTy() &&
         function.getParamDereferenceableBytes(0) == kThreadBytes;
}

std::string place_of(const Instruction& instruction) {
  if (const DebugLoc& at = instruction.getDebugLoc(); at && at.getLine())
    return sys::path::filename(at->getFilename()).str() + ":" + std::to_string(at.getLine());
  return "in " + readable_name(instruction.getFunction()->getName());
}

bool is_provided_function(StringRef name) {
  static const std::set<StringRef> kNames = {"vprintf",
                                             "__assertfail",
                                             "malloc",
                                             "free",
                                             "__kl_grid_sync",
                                             "__kl_grid_valid",
                                             "memcpy",
                                             "memset",
                                             "memmove",
                                             "__cxa_pure_virtual",
                                             "__cxa_deleted_virtual",
                                             "abort"};
  return name.starts_with("__nv_") || name.starts_with("__nvvm_") || kNames.contains(name);
}

void DeviceModule::refuse(Instruction& at, const std::string& what, const std::string& detail) {
  refused.try_emplace(at.getFunction(), what + " (" + place_of(at) + ")" + (detail.empty() ? "" : ": " + detail));
}

SetVector<Function*> reachable_from(Function* root) {
  SetVector<Function*> reached;
  reached.insert(root);
  bool indirect = false;
  for (size_t next = 0; next < reached.size(); ++next)
    for (Instruction& instruction : instructions(*reached[next])) {
      auto* call = dyn_cast<CallBase>(&instruction);
      if (!call || call->isInlineAsm()) continue;
      if (auto* callee = dyn_cast<Function>(call->getCalledOperand()->stripPointerCasts())) {
        if (!callee->isDeclaration()) reached.insert(callee);
      } else if (!indirect) {
        indirect = true;
        for (Function& function : *root->getParent())
          if (!function.isDeclaration() && function.hasAddressTaken()) reached.insert(&function);
      }
    }
  return reached;
}

Result<DeviceModule> read_device_module(std::unique_ptr<Module> module) {
  DeviceModule device;
  Annotations annotations = read_annotations(*module);

  for (const char* list : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable* used = module->getNamedGlobal(list)) used->eraseFromParent();
  for (const char* list : {"llvm.global_ctors", "llvm.global_dtors"})
    if (GlobalVariable* constructors = module->getNamedGlobal(list)) {
      if (constructors->hasInitializer() && !isa<ConstantAggregateZero>(constructors->getInitializer()) &&
          constructors->getValueType()->getArrayNumElements())
        return refused("a device variable with a dynamic constructor; CUDA allows constant initialisers only");
      constructors->eraseFromParent();
    }

  for (Function& function : *module) {
    if (function.isDeclaration()) continue;
    if (function.getCallingConv() == CallingConv::PTX_Kernel || annotations.kernels.contains(&function)) {
      Kernel kernel;
      kernel.name = function.getName();
      kernel.body = &function;
      kernel.max_threads = max_threads_of(function, annotations);
      StringRef architecture = function.getFnAttribute("target-cpu").getValueAsString();
      if (architecture.consume_front("sm_")) architecture.consumeInteger(10, device.architecture);
      pack_parameters(kernel, module->getDataLayout());
      device.kernels.push_back(std::move(kernel));
      function.setLinkage(GlobalValue::ExternalLinkage);
    } else {
      function.setLinkage(GlobalValue::InternalLinkage);
    }
    function.setComdat(nullptr);
    function.setVisibility(GlobalValue::DefaultVisibility);
  }
  for (GlobalAlias& alias : module->aliases()) alias.setLinkage(GlobalValue::InternalLinkage);
  std::vector<GlobalVariable*> kept;
  for (GlobalVariable& global : module->globals()) {
    global.setComdat(nullptr);
    if (is_intrinsic_global(global) || global.isDeclaration() || global.hasPrivateLinkage()) continue;
    const unsigned space = global.getAddressSpace();
    // A static variable of a function too: what one launch leaves in it must not be there for the next that is judged.
    const bool visible = global.isExternallyInitialized() || !global.hasLocalLinkage() || !global.isConstant();
    if ((space == kGlobalSpace || space == kConstantSpace) && visible) {
      device.variables.push_back(
          {&global, global.getName().str(), space == kConstantSpace, annotations.managed.contains(&global)});
      kept.push_back(&global);
      global.setLinkage(GlobalValue::ExternalLinkage);
      global.setVisibility(GlobalValue::DefaultVisibility);
    } else {
      global.setLinkage(GlobalValue::InternalLinkage);
    }
  }
  if (NamedMDNode* list = module->getNamedMetadata("nvvm.annotations")) list->eraseFromParent();
  if (GlobalVariable* list = module->getNamedGlobal("llvm.global.annotations")) list->eraseFromParent();

  ModuleAnalysisManager analyses;
  PassBuilder builder;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  builder.registerModuleAnalyses(analyses);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, analyses);
  GlobalDCEPass().run(*module, analyses);

  define_builtin_variables(*module);
  SmallVector<GlobalVariable*, 8> unused;
  for (GlobalVariable& global : module->globals())
    if (is_unused_declaration(global)) unused.push_back(&global);
  for (GlobalVariable* global : unused) global->eraseFromParent();
  KERNELIFT_TRY(check_externals(*module));
  device.module = std::move(module);
  return device;
}

}  // namespace kernelift::cpu
