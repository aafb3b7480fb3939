// A kernel is a loop unless something in it waits; it is cut if all it waits for are block-wide barriers, warp
// operations and lockstep points that sit in the kernel itself; anything else runs on fibers. Volatile accesses to
// shared memory (to any memory that is read and written, where nothing spins), and values handed over without a
// barrier, are the old way of talking within a warp: lockstep points between them keep the warp's lanes together.
#include "sandbox/device/cpu/schedule/modes.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>

#include <set>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/schedule/analysis/identical_threads.h"
#include "sandbox/device/cpu/schedule/analysis/lockstep.h"
#include "sandbox/device/cpu/schedule/analysis/loop_barriers.h"
#include "sandbox/device/cpu/schedule/analysis/spin_loops.h"
#include "sandbox/device/cpu/schedule/analysis/uniformity.h"
#include "sandbox/device/cpu/schedule/analysis/warp_races.h"
#include "sandbox/device/cpu/schedule/regions.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

/// What a function does itself (callees apart).
struct Facts {
  std::string warp, other_wait, spin, volatile_shared, volatile_global, exchange, parameter_exchange, exit, grid,
      barrier;
  unsigned barriers = 0, warp_waits = 0;
  bool variable_arrays = false, queries_grid = false;
  std::set<const Value*> exchanged;  ///< Parameters that lead to memory with which values are handed over.
  std::set<Function*> callees;
  bool indirect = false;
};

/// May this pointer lead to shared memory? Parameters, variables and local arrays do not.
bool may_be_shared(const Value* pointer, bool is_kernel) {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(pointer, objects);
  for (const Value* object : objects) {
    if (isa<GlobalValue>(object) || isa<AllocaInst>(object)) continue;
    if (isa<Argument>(object) && is_kernel) continue;
    if (const auto* load = dyn_cast<LoadInst>(object); load && !load->hasMetadata(LLVMContext::MD_invariant_load))
      continue;
    return true;
  }
  return false;
}

/// Is this memory of the thread's own alone?
bool is_local(const Value* pointer) {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(pointer, objects);
  return all_of(objects, [](const Value* object) { return isa<AllocaInst>(object); });
}

Facts read_facts(Function& function, bool is_kernel) {
  Facts facts;
  std::string volatile_load, volatile_store;
  for (Instruction& instruction : instructions(function)) {
    const std::string place = place_of(instruction);
    if (auto* local = dyn_cast<AllocaInst>(&instruction)) facts.variable_arrays |= !local->isStaticAlloca();
    if (const Value* pointer = instruction.isVolatile() ? getLoadStorePointerOperand(&instruction) : nullptr) {
      if (may_be_shared(pointer, is_kernel)) facts.volatile_shared = place;
      else if (!is_local(pointer)) (isa<LoadInst>(instruction) ? volatile_load : volatile_store) = place;
    }
    auto* call = dyn_cast<CallInst>(&instruction);
    if (!call || call->isInlineAsm()) continue;
    Function* callee = call->getCalledFunction();
    if (!callee) {
      facts.indirect = true;
    } else if (!callee->isDeclaration()) {
      facts.callees.insert(callee);
    } else if (is_service(*call, Service::barrier)) {
      ++facts.barriers;
      facts.barrier = place;
      if (!is_block_barrier(instruction)) facts.other_wait = "a named barrier at " + place;
    } else if (is_service(*call, Service::warp) || is_service(*call, Service::active_mask)) {
      ++facts.warp_waits;
      facts.warp = place;
    } else if (is_service(*call, Service::arrive)) {
      facts.other_wait = "a named barrier at " + place;
    } else if (is_service(*call, Service::grid_sync)) {
      facts.grid = place;
    } else if (is_service(*call, Service::grid_valid)) {
      facts.queries_grid = true;
    } else if (is_service(*call, Service::exit_thread)) {
      facts.exit = place;
    }
  }
  if (!volatile_load.empty()) facts.volatile_global = volatile_store;
  return facts;
}

class ModeChooser {
 public:
  ModeChooser(DeviceModule& device, bool force_fibers, bool side_by_side)
      : device_(device), force_fibers_(force_fibers), side_by_side_(side_by_side) {}

  void run() {
    for (Kernel& kernel : device_.kernels) bodies_.insert(kernel.body);
    for (Function& function : *device_.module) {
      if (function.isDeclaration()) continue;
      fence_overwritten_reads(function);
      facts_[&function] = read_facts(function, bodies_.contains(&function));
      if (function.hasAddressTaken()) address_taken_.push_back(&function);
      number_barriers(function);
    }
    for (Function& function : *device_.module)
      if (!function.isDeclaration())
        if (Instruction* wait = yield_in_spin_loops(function))
          facts_[&function].spin = place_of(*wait), facts_[&function].volatile_global.clear();
    for (Kernel& kernel : device_.kernels) {
      Facts& facts = facts_[kernel.body];
      const Exchange exchange = find_unsynchronised_exchange(*kernel.body);
      if (exchange.shared) facts.exchange = place_of(*exchange.shared);
      for (auto& [parameter, load] : exchange.parameters)
        facts.exchanged.insert(parameter), facts.parameter_exchange = place_of(*load);
      choose(kernel);
    }
    for (auto& [function, facts] : facts_) number_lockstep_sites(*function);
  }

 private:
  void number_barriers(Function& function) {
    for (Instruction& instruction : instructions(function))
      if (is_service(instruction, Service::barrier))
        instruction.setOperand(
            5, ConstantInt::get(Type::getInt32Ty(function.getContext()), is_block_barrier(instruction) ? ++sites_ : 0));
  }

  std::set<Function*> reached_by(Function* root) {
    std::set<Function*> seen = {root};
    std::vector<Function*> work = {root};
    auto visit = [&](Function* function) {
      if (seen.insert(function).second) work.push_back(function);
    };
    while (!work.empty()) {
      Facts& facts = facts_[work.back()];
      work.pop_back();
      for (Function* callee : facts.callees) visit(callee);
      if (facts.indirect)
        for (Function* function : address_taken_) visit(function);
    }
    return seen;
  }

  void choose(Kernel& kernel) {
    const std::set<Function*> reached = reached_by(kernel.body);
    std::string hard, soft;  // Why fibers; why warps.
    bool lockstep = false, queries_grid = false;
    auto because = [](std::string& why, const std::string& place, const char* what) {
      if (!place.empty() && why.empty()) why = what + place;
    };
    for (Function* function : reached) {
      const Facts& facts = facts_[function];
      const bool here = function == kernel.body;
      std::string& why = here ? soft : hard;
      if (!facts.spin.empty()) kernel.flags |= KL_MAY_SPIN;
      if (!facts.grid.empty()) kernel.flags |= KL_USES_GRID_SYNC;
      queries_grid |= facts.queries_grid;
      lockstep |= !facts.volatile_shared.empty() || !facts.volatile_global.empty() || !facts.exchange.empty() ||
                  !facts.exchanged.empty();
      because(hard, facts.grid, "grid-wide barrier at ");
      because(why, facts.warp, "warp operation at ");
      because(why, facts.volatile_shared, "volatile shared memory at ");
      because(why, facts.volatile_global, "volatile memory read and written at ");
      because(why, facts.exchange, "shared memory exchanged between threads without a barrier at ");
      because(why, facts.parameter_exchange, "memory exchanged between threads without a barrier at ");
      because(hard, facts.other_wait, "");
      because(hard, facts.spin, "a loop that may wait for another thread at ");
      if (!here) because(hard, facts.barrier, "barrier in a function that cannot be inlined at ");
      if (!here) because(hard, facts.exit, "exit from a function that cannot be inlined at ");
    }
    if (queries_grid) kernel.flags &= ~uint32_t{KL_USES_GRID_SYNC};  // It may go without.
    if (lockstep)
      for (Function* function : reached) run_in_lockstep(*function);
    // What is not inlined keeps running one lane after another: a race in it is not seen.
    else if (side_by_side_) run_in_lockstep(*kernel.body);
    const Facts& own = facts_[kernel.body];
    const unsigned waits = own.barriers + own.warp_waits;
    if (waits > (soft.empty() ? kMaxSuspensions : kMaxWarpSuspensions))
      because(hard, own.barriers ? own.barrier : soft,
              "too many barriers and warp operations to cut the kernel at, one at ");
    if (own.variable_arrays && waits)
      because(hard, own.barriers ? own.barrier : soft, "a local array of variable size across a wait at ");
    if (force_fibers_ && hard.empty()) hard = soft.empty() ? "fibers were requested" : soft;
    if (!hard.empty()) {
      kernel.mode = KL_MODE_FIBER;
      kernel.mode_reason = hard;
      return;
    }
    if (waits == 0) {
      if (auto barriers = add_loop_barriers(kernel); !barriers.empty()) {
        for (Instruction* barrier : barriers)
          barrier->setOperand(5, ConstantInt::get(Type::getInt32Ty(barrier->getContext()), ++sites_));
        kernel.mode = KL_MODE_CUT;
        kernel.mode_reason = "all threads of a block run a loop's iterations in lockstep";
        find_identical_threads(kernel, reached);
        return;
      }
    }
    kernel.mode = waits ? KL_MODE_CUT : KL_MODE_LOOP;
    kernel.in_warps = own.warp_waits > 0 || warps_may_wait_at_different_barriers(*kernel.body);
    if (!waits) kernel.mode_reason.clear();
    else if (!soft.empty()) kernel.mode_reason = soft;
    else if (own.barriers) kernel.mode_reason = "barrier at " + own.barrier;
    if (kernel.in_warps) relax_shared_accesses(*kernel.body);
    else find_identical_threads(kernel, reached);
  }

  /// Whether warps may wait at different __syncthreads(): a GPU counts who has come, wherever that was.
  static bool warps_may_wait_at_different_barriers(Function& body) {
    SmallVector<BasicBlock*, 8> stops;
    unsigned barriers = 0;
    for (Instruction& instruction : instructions(body)) {
      if (!is_service(instruction, Service::barrier)) continue;
      ++barriers;
      if (stops.empty() || stops.back() != instruction.getParent()) stops.push_back(instruction.getParent());
    }
    return barriers > 1 && !Uniformity(body, /*shared_reads=*/true).waits_are_uniform(stops);
  }

  void run_in_lockstep(Function& function) {
    if (!in_lockstep_.insert(&function).second) return;
    Facts& facts = facts_[&function];
    const bool is_kernel = bodies_.contains(&function);
    LockstepRules rules;
    rules.is_exchange = [&](const Instruction& access) {
      if (!facts.exchange.empty() && is_shared_access(access)) return true;
      const Value* pointer = getLoadStorePointerOperand(&access);
      if (side_by_side_ && is_kernel && pointer && !is_local(pointer)) return true;
      if (pointer && facts.exchanged.contains(getUnderlyingObject(pointer, /*MaxLookup=*/0))) return true;
      return pointer && access.isVolatile() &&
             (may_be_shared(pointer, is_kernel) || (!facts.volatile_global.empty() && !is_local(pointer)));
    };
    rules.is_kernel = is_kernel;
    rules.every_access = !facts.spin.empty();
    facts.warp_waits += place_lockstep_points(function, rules);
  }

  /// Between two cuts no other lane interferes: nothing is left for `volatile` to say.
  static void relax_shared_accesses(Function& body) {
    for (Instruction& instruction : instructions(body)) {
      if (!is_shared_access(instruction)) continue;
      if (auto* load = dyn_cast<LoadInst>(&instruction)) load->setVolatile(false);
      if (auto* store = dyn_cast<StoreInst>(&instruction)) store->setVolatile(false);
    }
  }

  /// Sites are numbered in program order: where lanes have diverged, the executor lets the earliest go first, as a GPU
  /// that reconverges its warps would.
  void number_lockstep_sites(Function& function) {
    for (Instruction& instruction : instructions(function))
      if (is_service(instruction, Service::active_mask) || is_service(instruction, Service::lockstep))
        instruction.setOperand(1, ConstantInt::get(Type::getInt32Ty(function.getContext()), ++lockstep_sites_));
  }

  DeviceModule& device_;
  const bool force_fibers_, side_by_side_;
  std::map<Function*, Facts> facts_;
  std::set<Function*> bodies_, in_lockstep_;
  std::vector<Function*> address_taken_;
  unsigned sites_ = 0, lockstep_sites_ = 0;
};

}  // namespace

Status choose_modes(DeviceModule& device, bool force_fibers, bool side_by_side) {
  ModeChooser(device, force_fibers, side_by_side).run();
  return done();
}

}  // namespace kernelift::cpu
