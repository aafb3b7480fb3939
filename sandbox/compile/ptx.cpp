// NVPTX output. The PTX version is the one that clang chose for the module (its target-features), so that what a driver
// must understand is decided in one place, the front end's arguments.
#include "sandbox/compile/ptx.h"

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

#include "sandbox/compile/clang_job.h"
#include "sandbox/compile/paths.h"

namespace kernelift {

namespace {

std::string features_of(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (auto features = function.getFnAttribute("target-features"); features.isValid()) return features.getValueAsString().str();
  return "";
}

Result<std::unique_ptr<llvm::TargetMachine>> machine_for(const llvm::Module& module, const std::string& arch, int level) {
  initialize_llvm_targets();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target) return environment_error("no NVPTX code generator in this build: " + why);
  auto code_level = level >= 3 ? llvm::CodeGenOptLevel::Aggressive : static_cast<llvm::CodeGenOptLevel>(level);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, arch, features_of(module), llvm::TargetOptions(), std::nullopt, std::nullopt, code_level));
  if (!machine) return environment_error("NVPTX cannot generate code for " + arch);
  return machine;
}

}  // namespace

Status link_libdevice(llvm::Module& module) {
  bool wanted = false;
  for (const llvm::Function& function : module)
    wanted |= function.isDeclaration() && function.getName().starts_with("__nv_") && !function.use_empty();
  if (!wanted) return done();
  auto toolkit = cuda_toolkit();
  if (!toolkit)
    return environment_error("libdevice is needed for device mathematics and no CUDA toolkit was found; install one or set CUDA_HOME");
  std::string path = (*toolkit / "nvvm" / "libdevice" / "libdevice.10.bc").string();
  llvm::SMDiagnostic problem;
  auto library = llvm::getLazyIRFileModule(path, problem, module.getContext(), /*ShouldLazyLoadMetadata=*/true);
  if (!library) return environment_error("cannot read " + path + ": " + problem.getMessage().str());
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded, [](llvm::Module& into, const llvm::StringSet<>& linked) {
        llvm::internalizeModule(into, [&](const llvm::GlobalValue& value) {
          return !value.hasName() || !linked.contains(value.getName());
        });
      });
  if (failed) return environment_error("linking " + path + " failed");
  return done();
}

Status optimize_for_ptx(llvm::Module& module, const std::string& arch, int level) {
  KERNELIFT_ASSIGN(auto machine, machine_for(module, arch, level));
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
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
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return environment_error("NVPTX cannot write PTX");
  passes.run(module);
  return std::string(text.str());
}

}  // namespace kernelift
