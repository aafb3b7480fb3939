// Order matters: unreachable symbols are dropped while everything is internal, and only then do the remaining variables
// become external, because an external definition is never dead.
#include "extractor/slice/ir_closure.h"

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace kernelift::extractor {
namespace {

// NVPTX and AMDGPU use the same number for shared memory; a shared variable has no state between launches.
constexpr unsigned kSharedAddressSpace = 3;

void run(llvm::Module& module, llvm::StringRef pipeline) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline)) {
    KERNELIFT_ASSERT(false, llvm::toString(std::move(error)).c_str());
  }
  passes.run(module, modules);
}

}  // namespace

Status cut_to_kernel(llvm::Module& module, const std::string& mangled, const std::set<std::string>& source_constants) {
  llvm::Function* kernel = module.getFunction(mangled);
  if (!kernel || kernel->isDeclaration()) return environment_error("the compiled unit has no kernel " + mangled);
  for (const char* name : {"llvm.used", "llvm.compiler.used"})
    if (auto* list = module.getGlobalVariable(name)) list->eraseFromParent();
  for (auto& object : module.global_objects()) {
    object.setComdat(nullptr);
    // Private symbols (string literals, initialisers of local arrays) are the compiler's own and stay private.
    if (object.isDeclaration() || object.hasPrivateLinkage() || object.getName().starts_with("llvm.")) continue;
    object.setLinkage(&object == kernel ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    object.setVisibility(llvm::GlobalValue::DefaultVisibility);
    object.setDSOLocal(&object != kernel);
  }
  for (auto& alias : module.aliases()) alias.setLinkage(llvm::GlobalValue::InternalLinkage);
  run(module, "globaldce");
  for (auto& variable : module.globals()) {
    bool ours = variable.isDeclaration() || variable.hasPrivateLinkage() || variable.hasGlobalUnnamedAddr() ||
                variable.getName().starts_with("llvm.");
    if (ours || variable.getAddressSpace() == kSharedAddressSpace || source_constants.count(variable.getName().str()))
      continue;
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable.setExternallyInitialized(true);
    variable.setDSOLocal(false);
  }
  return done();
}

void normalise(llvm::Module& module) { run(module, "function(sroa,early-cse,simplifycfg),globaldce"); }

}  // namespace kernelift::extractor
