// Both optimisation pipelines, built from LLVM's own. The first must not vectorise or unroll by the host's taste: it
// only brings the code into simple form. Code that already went through a pipeline of its own (compiler-tier
// candidates) is changed little by it.
#include "sandbox/device/cpu/lower/host/prepare.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <set>

#include "sandbox/device/cpu/schedule/analysis/warp_races.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

class Pipeline {
 public:
  Pipeline(TargetMachine& machine, PipelineTuningOptions tuning) : builder_(&machine, tuning) {
    // glibc's vector mathematics: loops over exp, sin and friends vectorise.
    library_ = std::make_unique<TargetLibraryInfoImpl>(machine.getTargetTriple(), VectorLibrary::LIBMVEC);
    functions_.registerPass([&] { return TargetLibraryAnalysis(*library_); });
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(sccs_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, sccs_, modules_);
  }
  PassBuilder& builder() { return builder_; }
  void run(ModulePassManager passes, Module& module) { passes.run(module, modules_); }

 private:
  std::unique_ptr<TargetLibraryInfoImpl> library_;
  PassBuilder builder_;
  LoopAnalysisManager loops_;
  FunctionAnalysisManager functions_;
  CGSCCAnalysisManager sccs_;
  ModuleAnalysisManager modules_;
};

bool is_synchronising(const Function& function) {
  const StringRef name = function.getName();
  return name.starts_with("kl.") && function.isDeclaration() && function.hasFnAttribute(Attribute::Convergent);
}

/// Functions that wait for other threads somewhere below them are inlined whatever they cost: a barrier in the kernel
/// itself can be cut, a barrier in a callee needs fibers. Recursive ones stay.
void force_inlining_of_waits(Module& module) {
  CallGraph graph(module);
  std::set<Function*> waits;
  for (auto scc = scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    bool waiting = false;
    for (CallGraphNode* node : *scc)
      for (auto& [site, callee] : *node)
        if (Function* function = callee->getFunction())
          waiting |= is_synchronising(*function) || waits.contains(function);
    if (!waiting) continue;
    for (CallGraphNode* node : *scc)
      if (Function* function = node->getFunction(); function && !function->isDeclaration()) {
        waits.insert(function);
        if (scc.hasCycle()) continue;
        function->removeFnAttr(Attribute::NoInline);
        function->addFnAttr(Attribute::AlwaysInline);
      }
  }
}

/// What may lead to shared memory in one function: pointers into it, and objects that one was put into (a struct with
/// such a member, what a closure refers to), or a pointer to such an object, or a copy of one.
class SharedPaths {
 public:
  explicit SharedPaths(Function& function) {
    for (size_t before = ~size_t(0); before != holders_.size();) {
      before = holders_.size();
      for (Instruction& instruction : instructions(function)) {
        if (auto* store = dyn_cast<StoreInst>(&instruction); store && may_point_to_shared(store->getValueOperand()))
          add_holder(store->getPointerOperand());
        if (auto* copy = dyn_cast<MemTransferInst>(&instruction); copy && may_point_to_shared(copy->getSource()))
          add_holder(copy->getDest());
      }
    }
  }
  bool may_point_to_shared(const Value* value) const {
    if (!value->getType()->isPointerTy()) return false;
    if (leads_to_shared_memory(value)) return true;
    if (holders_.empty()) return false;
    SmallVector<const Value*, 4> objects;
    getUnderlyingObjects(value, objects, nullptr, /*MaxLookup=*/0);
    return any_of(objects, [&](const Value* object) {
      const auto* load = dyn_cast<LoadInst>(object);
      return holders_.contains(load ? getUnderlyingObject(load->getPointerOperand(), /*MaxLookup=*/0) : object);
    });
  }

 private:
  void add_holder(const Value* pointer) {
    const Value* object = getUnderlyingObject(pointer, /*MaxLookup=*/0);
    if (isa<AllocaInst>(object)) holders_.insert(object);
  }
  SmallPtrSet<const Value*, 8> holders_;
};

/// The functions that are given what may lead to shared memory, or touch it by themselves.
std::set<Function*> users_of_shared_memory(Module& module) {
  std::set<Function*> users;
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    if (any_of(instructions(function), is_shared_access)) users.insert(&function);
    const SharedPaths paths(function);
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction);
          call && call->getCalledFunction() && !users.contains(call->getCalledFunction()))
        if (any_of(call->args(), [&](const Value* given) { return paths.may_point_to_shared(given); }))
          users.insert(call->getCalledFunction());
  }
  return users;
}

/// True if any that are wanted, and not recursive, were still called.
bool force_inlining(Module& module, function_ref<bool(Function&)> wanted) {
  CallGraph graph(module);
  bool any = false;
  for (auto scc = scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    Function* function = scc->front()->getFunction();
    if (scc.hasCycle() || !function || function->isDeclaration() || !function->hasLocalLinkage() ||
        function->use_empty() || !wanted(*function))
      continue;
    function->removeFnAttr(Attribute::NoInline);
    function->addFnAttr(Attribute::AlwaysInline);
    any = true;
  }
  return any;
}

/// Lockstep points and yields are placed after this pipeline, by volatile and atomic accesses and fences, and name the
/// thread: a use holds that parameter where nothing else needs it yet.
void keep_thread_parameters(Module& module, bool all) {
  for (Function& function : module) {
    if (function.isDeclaration() || function.arg_empty()) continue;
    auto waits = [](const Instruction& i) { return i.isVolatile() || i.isAtomic(); };
    if (all ? !DeviceModule::has_thread(function) : none_of(instructions(function), waits)) continue;
    IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    builder.CreateIntrinsic(Intrinsic::fake_use, {}, {DeviceModule::thread_of(function)});
  }
}

void release_thread_parameters(Module& module) {
  for (Function& function : module)
    for (Instruction& instruction : make_early_inc_range(instructions(function)))
      if (auto* call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::fake_use)
        call->eraseFromParent();
}

/// Marks of alias scopes and assumptions count as accesses to memory that nobody sees, and one without the group of a
/// loop over threads is enough for that loop not to be taken for the parallel loop that it is. Inlining a region's
/// function leaves such marks in every one of them.
class JoinAccessGroups : public PassInfoMixin<JoinAccessGroups> {
 public:
  PreservedAnalyses run(Function& function, FunctionAnalysisManager& analyses) {
    for (Loop* loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
      MDNode* parallel = findOptionMDForLoop(loop, "llvm.loop.parallel_accesses");
      if (!parallel || parallel->getNumOperands() != 2) continue;
      auto* group = dyn_cast<MDNode>(parallel->getOperand(1));
      for (BasicBlock* block : loop->blocks())
        for (Instruction& instruction : *block)
          if (isa<NoAliasScopeDeclInst, AssumeInst>(instruction) &&
              !instruction.hasMetadata(LLVMContext::MD_access_group))
            instruction.setMetadata(LLVMContext::MD_access_group, group);
    }
    return PreservedAnalyses::all();
  }
};

/// What stands at most accesses of a checked kernel is inlined when all else is done: it would make the work of every
/// pass before several times larger, and gain little by it.
class InlineLate : public PassInfoMixin<InlineLate> {
 public:
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    for (Function& function : module) {
      if (!function.hasFnAttribute(kInlineLate)) continue;
      function.removeFnAttr(Attribute::NoInline);
      function.addFnAttr(Attribute::AlwaysInline);
    }
    return PreservedAnalyses::all();
  }
};

/// So are functions that use shared memory: an exchange within a warp is found in the kernel itself (warp_races.h).
bool force_inlining_of_exchange(Module& module) {
  const std::set<Function*> users = users_of_shared_memory(module);
  return force_inlining(module, [&](Function& function) { return users.contains(&function); });
}

constexpr int kInlineThreshold = 2000;  // As NVPTX: calls cost more than code size there, and here they block vectors.

}  // namespace

void prepare(DeviceModule& device, TargetMachine& machine, const PrepareOptions& options) {
  Module& module = *device.module;
  force_inlining_of_waits(module);
  if (options.inline_all) force_inlining(module, [](Function&) { return true; });
  keep_thread_parameters(module, options.keep_threads);
  for (Kernel& kernel : device.kernels) kernel.body->setLinkage(GlobalValue::ExternalLinkage);
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = false;
  tuning.InlinerThreshold = kInlineThreshold;
  // No loop keeps in a register what it stores at each turn: another lane may be reading it, and nothing would show
  // that any more. Loops that hand nothing over lose nothing, the second pipeline has no such cap.
  tuning.LicmMssaNoAccForPromotionCap = 0;
  Pipeline pipeline(machine, tuning);
  do {
    ModulePassManager passes;
    passes.addPass(AlwaysInlinerPass());
    passes.addPass(
        pipeline.builder().buildModuleSimplificationPipeline(OptimizationLevel::O2, ThinOrFullLTOPhase::None));
    passes.addPass(GlobalDCEPass());
    pipeline.run(std::move(passes), module);
  } while (force_inlining_of_exchange(module));
  release_thread_parameters(module);
  for (Kernel& kernel : device.kernels) kernel.body->setLinkage(GlobalValue::InternalLinkage);
}

void optimize_for_host(Module& module, TargetMachine& machine, int level, bool vectorize) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = vectorize;
  tuning.InlinerThreshold = kInlineThreshold;
  Pipeline pipeline(machine, tuning);
  const OptimizationLevel levels[] = {OptimizationLevel::O1, OptimizationLevel::O1, OptimizationLevel::O2,
                                      OptimizationLevel::O3};
  pipeline.builder().registerVectorizerStartEPCallback(
      [](FunctionPassManager& passes, OptimizationLevel) { passes.addPass(JoinAccessGroups()); });
  pipeline.builder().registerOptimizerLastEPCallback(
      [](ModulePassManager& passes, OptimizationLevel, ThinOrFullLTOPhase) {
        passes.addPass(InlineLate());
        passes.addPass(AlwaysInlinerPass());
        passes.addPass(createModuleToFunctionPassAdaptor(EarlyCSEPass()));
        passes.addPass(createModuleToFunctionPassAdaptor(SimplifyCFGPass()));
      });
  pipeline.run(pipeline.builder().buildPerModuleDefaultPipeline(levels[std::clamp(level, 0, 3)]), module);
}

}  // namespace kernelift::cpu
