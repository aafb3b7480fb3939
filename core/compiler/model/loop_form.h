// Loops whose tests say which iterations there are.
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <functional>
#include <optional>

namespace kernelift {

using NotNegative = std::function<bool(const llvm::SCEV*)>;

/// The blocks from which the loop is left, if every iteration passes all of them and each compares the loop's counter,
/// which only rises or only falls, with a bound that stays: where the tests hold in an iteration, they held in all
/// before it. Scalar evolution knows fewer, since it reckons with counters that wrap around. nullopt: the loop is no
/// such loop. `not_negative`: the value surely is.
std::optional<llvm::SmallVector<llvm::BasicBlock*>> tests_that_say_all(llvm::Loop& loop,
                                                                       llvm::ScalarEvolution& evolution,
                                                                       const llvm::DominatorTree& dominators,
                                                                       const NotNegative& not_negative);

}  // namespace kernelift
