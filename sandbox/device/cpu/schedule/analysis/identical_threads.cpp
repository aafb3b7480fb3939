// Threads that agree on every coordinate the kernel reads start equal, take the same branches and write the same values
// to the same places. What they do is then either free of races, and running one of them leaves what all would leave,
// or it is `x[i] += …` by several threads at once, where any interleaving is legal: the one in which they move
// together, which is what a GPU's warps do, equals running one.
//
// That ends where identical threads can be distinguished or counted: atomic operations, memory from malloc, clocks,
// printf, assert and trap (they name the thread), volatile accesses, warp operations, __syncthreads_count, and code
// that is called through a pointer. ntid.y is the block's size all the same.
#include "sandbox/device/cpu/schedule/analysis/identical_threads.h"

#include <llvm/IR/InstIterator.h>

#include <cstddef>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/services.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

class IdenticalThreadFinder {
 public:
  explicit IdenticalThreadFinder(const std::set<Function*>& reached) : reached_(reached) {}

  /// Coordinates nobody reads, empty if threads can be told apart otherwise.
  std::set<unsigned> find() {
    for (Function* function : reached_)
      for (Instruction& instruction : instructions(*function))
        if (distinguishes_threads(instruction)) return {};
    for (Function* function : reached_)
      if (!follow_thread(*DeviceModule::thread_of(*function))) return {};
    std::set<unsigned> axes;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (!read_.contains(ThreadField::tid_x + axis)) axes.insert(axis);
    return axes;
  }

 private:
  bool distinguishes_threads(Instruction& instruction) {
    if (instruction.isVolatile() || instruction.isAtomic()) return true;
    auto* call = dyn_cast<CallBase>(&instruction);
    if (!call) return false;
    Function* callee = call->getCalledFunction();
    if (!callee || call->isInlineAsm()) return true;
    if (reached_.contains(callee)) return false;
    if (is_service(instruction, Service::barrier)) {
      auto is = [&](unsigned operand, uint64_t value) {
        auto* constant = dyn_cast<ConstantInt>(call->getArgOperand(operand));
        return constant && constant->getZExtValue() == value;
      };
      return !is(1, 0) || !is(2, 0) || is(3, KL_BARRIER_COUNT);
    }
    if (is_shared_address(*call)) return false;
    if (callee->isIntrinsic()) return callee->getIntrinsicID() == Intrinsic::readcyclecounter;
    return call->mayReadOrWriteMemory();  // A plain function of its arguments is the same for all.
  }

  static bool is_shared_address(const CallBase& call) {
    const Function* callee = call.getCalledFunction();
    return callee && callee->getName().starts_with("shared.");
  }

  /// Notes which fields are read through a pointer to the thread; false if it goes where that cannot be seen.
  bool follow_thread(Value& thread) {
    for (Use& use : thread.uses()) {
      auto* user = dyn_cast<Instruction>(use.getUser());
      if (auto* load = dyn_cast_or_null<LoadInst>(user)) {
        if (!load->getType()->isPointerTy()) return false;
        continue;  // Its first field, the block.
      }
      if (auto* address = dyn_cast_or_null<GetElementPtrInst>(user)) {
        if (!read_fields(*address)) return false;
        continue;
      }
      auto* call = dyn_cast_or_null<CallBase>(user);
      const bool known = call && call->isArgOperand(&use) && call->getArgOperandNo(&use) == 0 &&
                         (is_service(*call, Service::barrier) || reached_.contains(call->getCalledFunction()));
      if (!known) return false;
    }
    return true;
  }

  bool read_fields(GetElementPtrInst& address) {
    const DataLayout& layout = address.getModule()->getDataLayout();
    APInt offset(layout.getIndexTypeSizeInBits(address.getType()), 0);
    if (!address.accumulateConstantOffset(layout, offset)) return false;
    for (User* user : address.users()) {
      auto* load = dyn_cast<LoadInst>(user);
      if (!load || !load->getType()->isIntegerTy(32)) return false;
      const uint64_t at = offset.getZExtValue();
      if (at == offsetof(kl_thread, linear)) return false;
      if (at == offsetof(kl_thread, tid_x)) read_.insert(ThreadField::tid_x);
      else if (at == offsetof(kl_thread, tid_y)) read_.insert(ThreadField::tid_y);
      else if (at == offsetof(kl_thread, tid_z)) read_.insert(ThreadField::tid_z);
      else return false;
    }
    return true;
  }

  const std::set<Function*>& reached_;
  std::set<unsigned> read_;
};

}  // namespace

void find_identical_threads(Kernel& kernel, const std::set<Function*>& reached) {
  const std::set<unsigned> axes = IdenticalThreadFinder(reached).find();
  for (unsigned axis : axes) kernel.identical_along[axis] = true;
}

}  // namespace kernelift::cpu
