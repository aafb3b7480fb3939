// How much stack a fiber of a kernel needs: the local arrays of everything it can reach, plus room for each frame's
// spills and for libm. Where calls recurse or go through pointers there is no bound, and the executor's default serves.
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <set>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/schedule/modes.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr uint64_t kFrameBytes = 8 << 10;  // Spills of one frame; vector registers are 64 bytes each.
constexpr uint64_t kLeastBytes = 64 << 10;

class StackBound {
 public:
  explicit StackBound(const DataLayout& layout) : layout_(layout) {}

  /// Bytes below and including this function, nullopt if unbounded.
  std::optional<uint64_t> of(Function& function) {
    if (auto known = known_.find(&function); known != known_.end()) return known->second;
    if (!open_.insert(&function).second) return std::nullopt;
    uint64_t own = kFrameBytes, deepest = 0;
    for (Instruction& instruction : instructions(function)) {
      if (auto* local = dyn_cast<AllocaInst>(&instruction)) {
        auto size = local->getAllocationSize(layout_);
        if (!size) return std::nullopt;
        own += size->getFixedValue();
      }
      auto* call = dyn_cast<CallBase>(&instruction);
      if (!call || call->isInlineAsm()) continue;
      Function* callee = call->getCalledFunction();
      if (!callee) return std::nullopt;
      if (callee->isDeclaration()) continue;
      auto below = of(*callee);
      if (!below) return std::nullopt;
      deepest = std::max(deepest, *below);
    }
    open_.erase(&function);
    return known_[&function] = own + deepest;
  }

 private:
  const DataLayout& layout_;
  std::map<Function*, std::optional<uint64_t>> known_;
  std::set<Function*> open_;
};

}  // namespace

void bound_stacks(DeviceModule& device) {
  for (Kernel& kernel : device.kernels) {
    if (kernel.mode != KL_MODE_FIBER) continue;
    StackBound bound(device.module->getDataLayout());
    if (auto bytes = bound.of(*kernel.run)) kernel.stack_bytes = std::max(*bytes, kLeastBytes);
  }
}

}  // namespace kernelift::cpu
