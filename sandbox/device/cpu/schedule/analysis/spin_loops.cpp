// See spin_loops.h.
#include "sandbox/device/cpu/schedule/analysis/spin_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "core/compiler/model/waiting_loop.h"
#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

Instruction* yield_in_spin_loops(Function& function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  Instruction* found = nullptr;
  SmallPtrSet<Instruction*, 8> latches;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    Instruction* wait = awaited_in(
        *loop, dominators, [](const Instruction& instruction) { return is_service(instruction, Service::nanosleep); });
    if (!wait) continue;
    found = wait;
    SmallVector<BasicBlock*, 4> sources;
    loop->getLoopLatches(sources);
    for (BasicBlock* latch : sources) latches.insert(latch->getTerminator());
  }
  for (Instruction* latch : latches) {
    IRBuilder<> builder(latch);
    call_service(builder, Service::yield, {DeviceModule::thread_of(function)});
  }
  return found;
}

}  // namespace kernelift::cpu
