// A launch k<<<grid, block, shared>>>(…) is a call of __cudaPushCallConfiguration with the two dim3 as integers,
// computed through temporaries and dim3's constructor. The constructor is inlined and temporaries become registers, so
// that what feeds the call are plain integers; these become zero, and what nobody needs any more is deleted as dead
// code. Only passes that delete or rename run before the cut: one that merges equal values would let the deleted
// arithmetic leave its place in the rest.
#include "core/compiler/launch_cut.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LazyCallGraph.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace kernelift {
namespace {

using namespace llvm;

void run(Module& module, StringRef pipeline) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  ModulePassManager passes;
  if (auto wrong = builder.parsePassPipeline(passes, pipeline)) {
    consumeError(std::move(wrong));
    return;  // Nothing is cut, and the modules differ.
  }
  passes.run(module, modules);
}

/// The name without the length and underscores of C++'s mangling: "cudaLaunchKernel" for _Z16cudaLaunchKernelI….
StringRef base_of(StringRef name) {
  if (!name.consume_front("_Z")) return name;
  (void)name.consume_front("L");
  unsigned length = 0;
  if (name.consumeInteger(10, length) || name.size() < length) return {};
  return name.substr(0, length);
}

bool is_stub(const Function& function) { return function.getName().contains("__device_stub__"); }

bool launches(const CallBase& call) {
  auto* callee = call.getCalledFunction();
  if (!callee) return false;
  StringRef name = base_of(callee->getName());
  return name == "__cudaPushCallConfiguration" || name == "cudaLaunchKernel" || name == "cudaLaunchCooperativeKernel";
}
bool launches_by_structure(const CallBase& call) {
  auto* callee = call.getCalledFunction();
  StringRef name = callee ? base_of(callee->getName()) : StringRef();
  return name == "cudaLaunchKernelExC" || name == "cudaLaunchKernelEx";
}

void inline_members_of_dim3(Function& function) {
  for (bool again = true; again;) {
    again = false;
    for (auto& instruction : instructions(function)) {
      auto* call = dyn_cast<CallBase>(&instruction);
      auto* callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || callee->isDeclaration()) continue;
      StringRef name = callee->getName();
      if (!name.starts_with("_ZN4dim3") && !name.starts_with("_ZNK4dim3")) continue;
      InlineFunctionInfo how;
      if (!InlineFunction(*call, how).isSuccess()) continue;
      again = true;
      break;
    }
  }
}

void zero_integers(CallBase& call) {
  for (Use& argument : call.args())
    if (argument->getType()->isIntegerTy()) argument.set(ConstantInt::get(argument->getType(), 0));
}

/// Grid, block and shared bytes are the first members of the structure; the others (stream, attributes) stay.
void zero_members(CallBase& call) {
  constexpr int64_t kEnd = 32;
  auto* base = dyn_cast<AllocaInst>(call.getArgOperand(0)->stripPointerCasts());
  if (!base) return;
  const DataLayout& layout = call.getModule()->getDataLayout();
  for (auto& instruction : instructions(*call.getFunction())) {
    auto* store = dyn_cast<StoreInst>(&instruction);
    if (!store || store->isVolatile() || !store->getValueOperand()->getType()->isIntegerTy()) continue;
    APInt offset(64, 0);
    auto* to = store->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    if (to == base && offset.getSExtValue() >= 0 && offset.getSExtValue() < kEnd)
      store->setOperand(0, ConstantInt::get(store->getValueOperand()->getType(), 0));
  }
}

/// The functions with such a call, but for kernels' stubs, which launch what was configured elsewhere.
std::vector<Function*> functions_that(Module& module, function_ref<bool(CallBase&)> calls) {
  std::vector<Function*> found;
  for (Function& function : module) {
    bool any = false;
    for (auto& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction)) any |= calls(*call);
    if (any && !is_stub(function)) found.push_back(&function);
  }
  return found;
}

/// Functions that launch the kernel that they are given, by a pointer: what their callers give them configures a
/// launch.
std::vector<Function*> launchers(Module& module) {
  auto configures = [](CallBase& call) { return launches(call); };
  std::vector<Function*> found = functions_that(module, configures);
  std::erase_if(found, [](Function* function) {
    return none_of(instructions(*function), [](Instruction& instruction) {
      auto* call = dyn_cast<CallBase>(&instruction);
      return call && call->isIndirectCall();
    });
  });
  return found;
}

void inline_launchers(Module& module) {
  const std::vector<Function*> all = launchers(module);
  for (Function* launcher : all)
    for (User* user : make_early_inc_range(launcher->users())) {
      auto* call = dyn_cast<CallBase>(user);
      InlineFunctionInfo how;
      // One that calls another of them is none of the callers whose text a patch changes.
      if (call && call->getCalledFunction() == launcher && !is_contained(all, call->getFunction()))
        (void)InlineFunction(*call, how);
    }
}

/// Deletes a call; its result becomes zero: a launch was configured, and there was no error.
void remove(CallBase& call) {
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(Constant::getNullValue(call.getType()));
  if (auto* invoke = dyn_cast<InvokeInst>(&call)) {
    invoke->getUnwindDest()->removePredecessor(invoke->getParent());
    BranchInst::Create(invoke->getNormalDest(), invoke->getIterator());
  }
  call.eraseFromParent();
}

/// Where clang puts a landing pad depends on the first call that may end there, which may have been a launch.
void order_blocks(Function& function) {
  BasicBlock* last = nullptr;
  for (BasicBlock* block : ReversePostOrderTraversal<Function*>(&function)) {
    if (last) block->moveAfter(last);
    last = block;
  }
}

}  // namespace

bool is_in_namespace(StringRef mangled, const std::string& name) {
  if (!mangled.consume_front("_ZN")) return false;
  (void)mangled.consume_front("K");
  return mangled.starts_with(std::to_string(name.size()) + name);
}

void remove_launches(Module& module, const std::string& launcher) {
  auto is_launch = [&](CallBase& call) {
    auto* callee = call.getCalledFunction();
    return callee && (launches(call) || is_stub(*callee) || is_in_namespace(callee->getName(), launcher));
  };
  std::vector<Function*> functions = functions_that(module, is_launch);
  for (Function* function : functions) inline_members_of_dim3(*function);
  run(module, "function(sroa),cgscc(function-attrs)");
  for (Function* function : functions) {
    if (is_in_namespace(function->getName(), launcher)) continue;
    for (auto& instruction : make_early_inc_range(instructions(*function)))
      if (auto* call = dyn_cast<CallBase>(&instruction); call && is_launch(*call)) remove(*call);
  }
  // Whether a launch was configured is known now, and its arguments are computed in any case.
  run(module, "function(instsimplify,sroa,adce,simplifycfg,sroa,adce,simplifycfg)");
  for (Function* function : functions) order_blocks(*function);
}

void cut_launches(Module& module) {
  inline_launchers(module);
  std::vector<Function*> functions =
      functions_that(module, [](CallBase& call) { return launches(call) || launches_by_structure(call); });
  for (Function* function : functions) inline_members_of_dim3(*function);
  run(module, "function(sroa),cgscc(function-attrs)");
  for (Function* function : functions)
    for (auto& instruction : instructions(*function))
      if (auto* call = dyn_cast<CallBase>(&instruction)) {
        if (launches(*call)) zero_integers(*call);
        if (launches_by_structure(*call)) zero_members(*call);
      }
  // A condition of two parts leaves a branch behind, and its removal what the branch asked.
  run(module, "function(sroa,adce,simplifycfg,adce,simplifycfg,adce)");
}

}  // namespace kernelift
