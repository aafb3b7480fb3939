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
#include <llvm/Transforms/Utils/Local.h>

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

/// Two parts of a function that begin at two blocks and end where they meet.
class EqualArms {
 public:
  /// True if whatever the program does from `one` on, it does from `other` on.
  bool hold(BasicBlock* one, BasicBlock* other) {
    if (one == other) return false;
    std::vector<std::pair<BasicBlock*, BasicBlock*>> open{{one, other}};
    blocks_[one] = other, in_other_.insert(other);
    while (!open.empty()) {
      auto [left, right] = open.back();
      open.pop_back();
      if (!same_block(*left, *right)) return false;
      auto *ends = left->getTerminator(), *others = right->getTerminator();
      for (unsigned at = 0; at < ends->getNumSuccessors(); ++at) {
        BasicBlock *next = ends->getSuccessor(at), *its = others->getSuccessor(at);
        if (next == its) {
          meets_.push_back({left, right, next});
          continue;
        }
        auto known = blocks_.find(next);
        if (known != blocks_.end() ? known->second != its : in_other_.contains(its)) return false;
        if (known != blocks_.end()) continue;
        blocks_[next] = its, in_other_.insert(its);
        open.push_back({next, its});
      }
    }
    return are_apart() && phis_agree() && locals_agree();
  }

 private:
  struct Meet {
    BasicBlock *left, *right, *at;
  };

  bool same(Value* left, Value* right) {
    if (auto known = values_.find(left); known != values_.end()) return known->second == right;
    if (left == right) return true;
    auto *one = dyn_cast<AllocaInst>(left), *other = dyn_cast<AllocaInst>(right);
    if (!one || !other || one->getAllocatedType() != other->getAllocatedType() || !one->isStaticAlloca() ||
        !other->isStaticAlloca() || one->getAlign() != other->getAlign())
      return false;
    for (auto& [known, its] : values_)
      if (its == right) return false;
    values_[left] = right, locals_.push_back({one, other});
    return true;
  }

  bool same_block(BasicBlock& left, BasicBlock& right) {
    if (left.size() != right.size()) return false;
    for (auto one = left.begin(), other = right.begin(); one != left.end(); ++one, ++other) {
      if (isa<PHINode>(*one) || !one->isSameOperationAs(&*other)) return false;
      for (unsigned at = 0; at < one->getNumOperands(); ++at)
        if (!isa<BasicBlock>(one->getOperand(at)) && !same(one->getOperand(at), other->getOperand(at))) return false;
      values_[&*one] = &*other;
    }
    return true;
  }

  /// Neither part is the other. Both may be reached from elsewhere as well, as by a condition of two parts: what they
  /// do is the same from their beginnings on, and no block of theirs asks from where it was reached.
  bool are_apart() const {
    return none_of(blocks_, [&](auto& pair) { return in_other_.contains(pair.first); });
  }

  bool phis_agree() {
    return all_of(meets_, [&](const Meet& meet) {
      return all_of(meet.at->phis(), [&](PHINode& phi) {
        return same(phi.getIncomingValueForBlock(meet.left), phi.getIncomingValueForBlock(meet.right));
      });
    });
  }

  /// Local memory that stands for other local memory is used in its part alone.
  bool locals_agree() {
    SmallPtrSet<BasicBlock*, 8> ones;
    for (auto& [one, other] : blocks_) ones.insert(one);
    auto only_in = [](AllocaInst* local, auto& blocks) {
      return all_of(local->users(), [&](User* user) {
        auto* instruction = dyn_cast<Instruction>(user);
        return instruction && blocks.contains(instruction->getParent());
      });
    };
    return all_of(locals_, [&](auto& pair) { return only_in(pair.first, ones) && only_in(pair.second, in_other_); });
  }

  DenseMap<BasicBlock*, BasicBlock*> blocks_;
  SmallPtrSet<BasicBlock*, 8> in_other_;
  DenseMap<Value*, Value*> values_;
  std::vector<std::pair<AllocaInst*, AllocaInst*>> locals_;
  std::vector<Meet> meets_;
};

/// A branch between two parts that do the same takes the second: a launch that was written twice, in two sizes.
bool join_equal_arms(Function& function) {
  bool any = false;
  for (bool again = true; again; any |= again) {
    again = false;
    for (BasicBlock& block : function) {
      auto* branch = dyn_cast<BranchInst>(block.getTerminator());
      if (!branch || !branch->isConditional()) continue;
      BasicBlock *one = branch->getSuccessor(0), *other = branch->getSuccessor(1);
      if (!EqualArms().hold(one, other)) continue;
      one->removePredecessor(&block);
      BranchInst::Create(other, branch->getIterator());
      branch->eraseFromParent();
      removeUnreachableBlocks(function);
      again = true;
      break;
    }
  }
  return any;
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
  run(module, "function(sroa,adce)");
  // Of `a || b` one part is joined, and then, without what b asked, the other.
  for (bool joined = true; joined; run(module, "function(adce,simplifycfg)")) {
    joined = false;
    for (Function* function : functions) joined |= join_equal_arms(*function);
  }
  // A condition of two parts leaves a branch behind, and its removal what the branch asked.
  run(module, "function(sroa,adce,simplifycfg,adce,simplifycfg,adce)");
}

}  // namespace kernelift
