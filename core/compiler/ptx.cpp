// NVPTX output. The PTX version is the one that clang chose for the module (its target-features), so that only the
// front end's arguments decide which driver is needed.
#include "core/compiler/ptx.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include "core/compiler/clang_job.h"
#include "core/compiler/paths.h"

namespace kernelift {

namespace {

/// LLVM counts 5 for an instruction, and NVPTX multiplies the threshold by 11: 20 000 instructions. nvcc 13 inlined 8
/// calls of a function of 6000 instructions, 4 of one of 10 000, and not 3 of one of 40 000.
constexpr int kInlinerThreshold = 20'000 * 5 / 11;

std::string features_of(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (auto features = function.getFnAttribute("target-features"); features.isValid())
      return features.getValueAsString().str();
  return "";
}

Result<std::unique_ptr<llvm::TargetMachine>> machine_for(const llvm::Module& module, const std::string& arch,
                                                         int level) {
  initialize_llvm_targets();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target) return environment_error("no NVPTX code generator in this build: " + why);
  auto code_level = level >= 3 ? llvm::CodeGenOptLevel::Aggressive : static_cast<llvm::CodeGenOptLevel>(level);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, arch, features_of(module), llvm::TargetOptions(), std::nullopt, std::nullopt, code_level));
  if (!machine) return environment_error("NVPTX cannot generate code for " + arch);
  return machine;
}

/// libdevice queries by __nvvm_reflect whether square roots are precise, as nvcc's are by default. LLVM answers 0 to
/// queries that it does not know, and every sqrtf would be an approximation.
void settle_square_roots(llvm::Module& module, bool precise) {
  llvm::Function* reflect = module.getFunction("__nvvm_reflect");
  if (!reflect) return;
  for (llvm::User* user : llvm::make_early_inc_range(reflect->users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    llvm::StringRef query;
    if (!call || !llvm::getConstantStringInfo(call->getArgOperand(0), query) || query != "__CUDA_PREC_SQRT") continue;
    call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), precise));
    call->eraseFromParent();
  }
}

bool may_fuse(const llvm::Value* value, std::initializer_list<unsigned> operations) {
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return operation && llvm::is_contained(operations, operation->getOpcode()) && operation->hasAllowContract();
}

/// Uses of `value` and of its negation.
void collect_uses(llvm::Value* value, llvm::SmallVectorImpl<llvm::Use*>& uses) {
  for (llvm::Use& use : value->uses())
    if (auto* negation = llvm::dyn_cast<llvm::UnaryOperator>(use.getUser())) collect_uses(negation, uses);
    else uses.push_back(&use);
}

/// LLVM fuses a product with a sum even if another instruction uses the product too. That saves no instruction and
/// rounds differently from nvcc, which fuses a product with all sums that use it or with none.
void keep_needed_products(llvm::Function& function) {
  using llvm::Instruction;
  llvm::SmallSetVector<llvm::Instruction*, 32> fused;
  for (auto& instruction : llvm::instructions(function))
    if (may_fuse(&instruction, {Instruction::FMul})) fused.insert(&instruction);
  auto product = [&](llvm::Value* value) -> llvm::Instruction* {
    if (auto* negation = llvm::dyn_cast<llvm::UnaryOperator>(value)) value = negation->getOperand(0);
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction && fused.contains(instruction) ? instruction : nullptr;
  };
  auto needed = [&](llvm::Instruction* one) {
    llvm::SmallVector<llvm::Use*, 4> uses;
    collect_uses(one, uses);
    return llvm::any_of(uses, [&](llvm::Use* use) {
      if (!may_fuse(use->getUser(), {Instruction::FAdd, Instruction::FSub})) return true;
      // In a sum of two products the first one is fused, with the second as its addend.
      llvm::Instruction* first = use->getOperandNo() == 1 ? product(use->getUser()->getOperand(0)) : nullptr;
      return first && first != one;
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Instruction* one : llvm::to_vector(fused))
      if (needed(one)) one->setHasAllowContract(false), fused.remove(one), changed = true;
  }
}

/// How assembly names a register of the type: its constraint, and the type in an instruction's name.
struct RegisterOf {
  const char *constraint, *suffix;
};
std::optional<RegisterOf> register_of(const llvm::Type* type) {
  if (type->isFloatTy()) return RegisterOf{"f", "f32"};
  if (type->isDoubleTy()) return RegisterOf{"d", "f64"};
  if (type->isIntegerTy(16)) return RegisterOf{"h", "b16"};
  if (type->isIntegerTy(32)) return RegisterOf{"r", "b32"};
  if (type->isIntegerTy(64)) return RegisterOf{"l", "b64"};
  return std::nullopt;
}

/// LLVM has no form of a load or store that streams past the cache, and drops what __ldcs and __stcs say
/// (__builtin_nontemporal_*: core/compiler/headers). So these become assembly, once everything else is optimised.
/// Numbers of 16 to 64 bits and vectors of 2 or 4 of them, 16 bytes at most; other types stay plain.
void stream_past_cache(llvm::Instruction& access) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(&access);
  auto* store = llvm::dyn_cast<llvm::StoreInst>(&access);
  if (load ? !load->isSimple() : !store->isSimple()) return;
  llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
  llvm::Type* type = llvm::getLoadStoreType(&access);
  constexpr unsigned kGeneric = 0, kGlobal = 1;
  const unsigned space = llvm::getLoadStoreAddressSpace(&access);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  llvm::Type* element = vector ? vector->getElementType() : type;
  const unsigned count = vector ? vector->getNumElements() : 1;
  auto reg = register_of(element);
  if (!reg || (space != kGeneric && space != kGlobal) || (count != 1 && count != 2 && count != 4)) return;
  const uint64_t bytes = count * element->getPrimitiveSizeInBits() / 8;
  if (bytes > 16 || llvm::getLoadStoreAlignment(&access).value() < bytes) return;

  llvm::IRBuilder<> builder(&access);
  if (space == kGeneric) pointer = builder.CreateAddrSpaceCast(pointer, builder.getPtrTy(kGlobal));
  std::string registers, constraints;
  for (unsigned index = 0; index < count; ++index) {
    registers += (index ? ", $" : "$") + std::to_string(index + (store ? 1 : 0));
    constraints += std::string(index ? "," : "") + (load ? "=" : "") + reg->constraint;
  }
  if (count > 1) registers = "{" + registers + "}";
  const std::string shape = std::string(count == 2 ? ".v2." : count == 4 ? ".v4." : ".") + reg->suffix + " ";
  if (store) {
    std::vector<llvm::Value*> operands = {pointer};
    std::vector<llvm::Type*> types = {pointer->getType()};
    for (unsigned index = 0; index < count; ++index) {
      llvm::Value* value = store->getValueOperand();
      operands.push_back(vector ? builder.CreateExtractElement(value, index) : value);
      types.push_back(element);
    }
    auto* form = llvm::FunctionType::get(builder.getVoidTy(), types, false);
    builder.CreateCall(llvm::InlineAsm::get(form, "st.global.cs" + shape + "[$0], " + registers + ";",
                                            "l," + constraints + ",~{memory}", /*hasSideEffects=*/true),
                       operands);
  } else {
    llvm::Type* result =
        vector ? llvm::StructType::get(access.getContext(), std::vector<llvm::Type*>(count, element)) : element;
    auto* form = llvm::FunctionType::get(result, {pointer->getType()}, false);
    llvm::Value* value = builder.CreateCall(
        llvm::InlineAsm::get(form, "ld.global.cs" + shape + registers + ", [$" + std::to_string(count) + "];",
                             constraints + ",l,~{memory}", /*hasSideEffects=*/true),
        {pointer});
    if (vector) {
      llvm::Value* whole = llvm::PoisonValue::get(type);
      for (unsigned index = 0; index < count; ++index)
        whole = builder.CreateInsertElement(whole, builder.CreateExtractValue(value, index), index);
      value = whole;
    }
    access.replaceAllUsesWith(value);
  }
  access.eraseFromParent();
}

void keep_cache_hints(llvm::Function& function) {
  std::vector<llvm::Instruction*> accesses;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (instruction.hasMetadata(llvm::LLVMContext::MD_nontemporal) &&
        llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction))
      accesses.push_back(&instruction);
  for (llvm::Instruction* access : accesses) stream_past_cache(*access);
}

}  // namespace

Status link_libdevice(llvm::Module& module, bool precise_roots) {
  bool wanted = false;
  for (const llvm::Function& function : module)
    wanted |= function.isDeclaration() && function.getName().starts_with("__nv_") && !function.use_empty();
  if (!wanted) return done();
  auto toolkit = cuda_toolkit();
  if (!toolkit)
    return environment_error(
        "libdevice is needed for device mathematics and no CUDA toolkit was found; install one or set CUDA_HOME");
  std::string path = (*toolkit / "nvvm" / "libdevice" / "libdevice.10.bc").string();
  llvm::SMDiagnostic problem;
  auto library = llvm::getLazyIRFileModule(path, problem, module.getContext(), /*ShouldLazyLoadMetadata=*/true);
  if (!library) return environment_error("cannot read " + path + ": " + problem.getMessage().str());
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  bool failed = llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded,
                                          [](llvm::Module& into, const llvm::StringSet<>& linked) {
                                            llvm::internalizeModule(into, [&](const llvm::GlobalValue& value) {
                                              return !value.hasName() || !linked.contains(value.getName());
                                            });
                                          });
  if (failed) return environment_error("linking " + path + " failed");
  settle_square_roots(module, precise_roots);
  return done();
}

void keep_kernels_only(llvm::Module& module) {
  llvm::internalizeModule(module, [](const llvm::GlobalValue& value) {
    auto* function = llvm::dyn_cast<llvm::Function>(&value);
    return !function || function->getCallingConv() == llvm::CallingConv::PTX_Kernel;
  });
}

Status optimize_for_ptx(llvm::Module& module, const std::string& arch, int level) {
  KERNELIFT_ASSIGN(auto machine, machine_for(module, arch, level));
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  if (level >= 2) tuning.InlinerThreshold = kInlinerThreshold;
  llvm::PassBuilder builder(machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  const llvm::OptimizationLevel& chosen = levels[std::clamp(level, 0, 3)];
  auto pipeline = level <= 0 ? builder.buildO0DefaultPipeline(chosen) : builder.buildPerModuleDefaultPipeline(chosen);
  pipeline.run(module, modules);
  return done();
}

Result<std::string> emit_ptx(llvm::Module& module, const std::string& arch) {
  KERNELIFT_ASSIGN(auto machine, machine_for(module, arch, 3));
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : module) keep_needed_products(function), keep_cache_hints(function);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return environment_error("NVPTX cannot write PTX");
  passes.run(module);
  return std::string(text.str());
}

}  // namespace kernelift
