// A loop over threads that holds a loop cannot be vectorised, and the inner one often cannot either: a sum of floating
// point numbers has an order. Cut at each of its steps, the loop over threads is the inner one. That costs a row of the
// frame for every value that a step hands to the next, so it is done only where vectors gain far more: where a step
// calls the mathematics library, or has a polynomial of its own. (Measured: a bilateral filter 2.5 times as fast; sums
// of products as fast or slower.)
//
// It is done only where it cannot be told from a __syncthreads() that all threads reach equally often, or that some
// never reach again because they have ended (uniformity.h).
#include "sandbox/device/cpu/schedule/analysis/loop_barriers.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/lower/context_layout.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/schedule/analysis/uniformity.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

constexpr unsigned kMaxBlocks = 8;  ///< Of a step: each condition becomes a mask.

/// Is it the end of a polynomial, as the device library's own functions are? Each step multiplies and adds a constant.
bool ends_polynomial(const IntrinsicInst* step) {
  constexpr int kSteps = 4;
  for (int steps = 0; step && step->getIntrinsicID() == Intrinsic::fma && isa<ConstantFP>(step->getArgOperand(2));) {
    if (++steps == kSteps) return true;
    auto* before = dyn_cast<IntrinsicInst>(step->getArgOperand(0));
    step = before ? before : dyn_cast<IntrinsicInst>(step->getArgOperand(1));
  }
  return false;
}

/// What has vectors, glibc's or our own, and takes far longer than a row of the frame.
bool is_expensive(const Instruction& instruction) {
  const auto* call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || !call->getType()->isFloatingPointTy()) return false;
  switch (call->getIntrinsicID()) {
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::log10:
    case Intrinsic::pow:
    case Intrinsic::sin:
    case Intrinsic::cos: return true;
    default: return ends_polynomial(call);
  }
}

class LoopFinder {
 public:
  explicit LoopFinder(Function& body) : body_(body), uniformity_(body, /*shared_reads=*/false) {}

  /// The blocks at whose start threads stop.
  SmallVector<BasicBlock*, 8> find() {
    if (!threads_are_independent()) return {};
    SmallVector<Loop*, 4> candidates;
    for (Loop* loop : uniformity_.loops().getLoopsInPreorder())
      if (is_profitable(*loop)) candidates.push_back(loop);
    // Each gets an entry, one way back and an exit of its own.
    for (Loop* loop : candidates)
      simplifyLoop(loop, &uniformity_.dominators(), &uniformity_.loops(), nullptr, nullptr, nullptr,
                   /*PreserveLCSSA=*/false);
    SmallVector<BasicBlock*, 8> stops;
    for (Loop* loop : candidates) {
      if (!loop->getLoopLatch() || !loop->getExitingBlock() || !loop->getExitBlock() || !loop->hasDedicatedExits())
        continue;
      stops.append({loop->getHeader(), loop->getExitBlock()});
      if (!uniformity_.waits_are_uniform(stops)) stops.resize(stops.size() - 2);
    }
    return stops;
  }

 private:
  /// Nothing by which one thread could notice how far another is.
  bool threads_are_independent() const {
    for (Instruction& instruction : instructions(body_)) {
      if (isa<AllocaInst>(instruction) || instruction.isVolatile() || instruction.isAtomic()) return false;
      if (const auto* call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) return false;
    }
    return true;
  }

  static bool is_profitable(const Loop& loop) {
    if (!loop.isInnermost() || loop.getNumBlocks() > kMaxBlocks) return false;
    bool sums = false, expensive = false;
    for (PHINode& phi : loop.getHeader()->phis()) sums |= phi.getType()->isFloatingPointTy();
    for (BasicBlock* block : loop.blocks())
      for (Instruction& instruction : *block) expensive |= is_expensive(instruction);
    return sums && expensive;
  }

  Function& body_;
  Uniformity uniformity_;
};

}  // namespace

SmallVector<Instruction*, 4> add_loop_barriers(Kernel& kernel) {
  SmallVector<Instruction*, 4> barriers;
  for (BasicBlock* block : LoopFinder(*kernel.body).find()) {
    IRBuilder<> builder(block, block->getFirstInsertionPt());
    Value* zero = builder.getInt32(0);
    barriers.push_back(call_service(
        builder, Service::barrier,
        {DeviceModule::thread_of(*kernel.body), zero, zero, builder.getInt32(KL_BARRIER_SYNC), zero, zero}));
  }
  return barriers;
}

}  // namespace kernelift::cpu
