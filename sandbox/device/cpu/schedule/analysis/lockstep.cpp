// What lanes have done since they were last together flows forward through the code: nothing, loads, or stores. Loads
// may follow loads; a load after a store, and a store after anything, waits until the other lanes have got that far.
//
//   s[t] += s[t + 16];     load, load, POINT, store
//   s[t] += s[t + 8];      POINT, load, load, POINT, store
#include "sandbox/device/cpu/schedule/analysis/lockstep.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

enum Done : unsigned { kNothing = 0, kLoads = 1, kStores = 2, kAnything = 3 };

bool brings_together(const Instruction& instruction) {
  for (Service service : {Service::barrier, Service::warp, Service::active_mask, Service::grid_sync, Service::lockstep})
    if (is_service(instruction, service)) return true;
  return false;
}

bool runs_other_code(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  return call && (!call->getCalledFunction() || !call->getCalledFunction()->isDeclaration());
}

class LockstepPlacer {
 public:
  LockstepPlacer(Function& function, const LockstepRules& rules) : function_(function), rules_(rules) {}

  unsigned place() {
    DenseMap<BasicBlock*, unsigned> before;
    before[&function_.getEntryBlock()] = rules_.is_kernel ? kNothing : kAnything;
    for (bool moved = true; moved;) {
      moved = false;
      for (BasicBlock& block : function_) {
        const unsigned after = walk(block, before[&block], nullptr);
        for (BasicBlock* next : successors(&block)) {
          moved |= (before[next] | after) != before[next];
          before[next] |= after;
        }
      }
    }
    SmallVector<Instruction*, 16> points;
    for (BasicBlock& block : function_) walk(block, before[&block], &points);
    for (Instruction* point : points) {
      IRBuilder<> builder(point);
      call_service(builder, Service::lockstep, {DeviceModule::thread_of(function_), builder.getInt32(0)});
    }
    return unsigned(points.size());
  }

 private:
  unsigned walk(BasicBlock& block, unsigned done, SmallVectorImpl<Instruction*>* points) {
    for (Instruction& instruction : block) {
      if (brings_together(instruction)) done = kNothing;
      else if (runs_other_code(instruction)) done = kAnything;
      if (!rules_.is_exchange(instruction)) continue;
      const bool store = isa<StoreInst>(instruction);
      if (rules_.every_access || (store ? done != kNothing : done & kStores)) {
        if (points) points->push_back(&instruction);
        done = kNothing;
      }
      done |= store ? kStores : kLoads;
    }
    return done;
  }

  Function& function_;
  const LockstepRules& rules_;
};

}  // namespace

unsigned place_lockstep_points(Function& function, const LockstepRules& rules) {
  return LockstepPlacer(function, rules).place();
}

}  // namespace kernelift::cpu
