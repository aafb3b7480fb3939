// Conditions under which a kernel's blocks are reached, of ValueReader (value_reader.h).
#include <llvm/Analysis/ScalarEvolutionExpressions.h>

#include <algorithm>

#include "core/compiler/model/conditions.h"
#include "core/compiler/model/loop_form.h"
#include "core/compiler/model/source_line.h"
#include "core/compiler/model/value_reader.h"

namespace kernelift {
namespace {

using Op = Expression::Op;

/// The loop ends where its counter equals a bound, and the counter may pass that and go round.
bool may_step_over(llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  auto steps_over = [&](const llvm::ICmpInst& compare) {
    return compare.isEquality() && llvm::any_of(compare.operands(), [&](const llvm::Use& side) {
             if (!evolution.isSCEVable(side->getType())) return false;
             auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(side));
             if (!counter || counter->getLoop() != &loop) return false;
             auto* step = llvm::dyn_cast<llvm::SCEVConstant>(counter->getStepRecurrence(evolution));
             return !step || !(step->isOne() || step->isAllOnesValue());
           });
  };
  llvm::SmallVector<llvm::BasicBlock*> exiting;
  loop.getExitingBlocks(exiting);
  for (auto* block : exiting) {
    llvm::SmallVector<llvm::Value*> open(block->getTerminator()->operands());
    while (!open.empty()) {
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
      if (!instruction || !instruction->getType()->isIntegerTy(1) || llvm::isa<llvm::PHINode>(instruction)) continue;
      if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(instruction)) {
        if (steps_over(*compare)) return true;
      } else {
        open.append(instruction->op_begin(), instruction->op_end());
      }
    }
  }
  return false;
}

}  // namespace

Expression ValueReader::edge(llvm::BasicBlock* from, llvm::BasicBlock* to) {
  auto* scope = loops_.getLoopFor(from);
  auto* end = from->getTerminator();
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end)) {
    if (!branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return number(1);
    Expression taken = condition(branch->getCondition(), scope);
    return branch->getSuccessor(0) == to ? taken : negation(taken);
  }
  if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end)) {
    Expression value = integer(choice->getCondition(), scope), listed = number(0), wanted = number(0);
    for (auto& entry : choice->cases()) {
      Expression equal = Expression::binary(Op::Equal, value, number(entry.getCaseValue()->getSExtValue()));
      listed = either(listed, equal);
      if (entry.getCaseSuccessor() == to) wanted = either(wanted, equal);
    }
    return choice->getDefaultDest() == to ? either(wanted, negation(listed)) : wanted;
  }
  return unknown_term("a jump", line_of(*end));
}

Expression ValueReader::arrives(llvm::BasicBlock* from, llvm::BasicBlock* to) {
  llvm::Loop* outside = loops_.getLoopFor(to);
  llvm::Loop* left = loops_.getLoopFor(from);
  if (left == outside || (left && left->contains(to))) return both(reached(from), edge(from, to));
  // The edge leaves a loop, perhaps several.
  while (left && left->getParentLoop() && !left->getParentLoop()->contains(to)) left = left->getParentLoop();
  if (!left || !left->getLoopPreheader()) return unknown_term("a jump out of a loop", line_of(*from->getTerminator()));
  Expression entered = reached(left->getLoopPreheader());
  llvm::SmallVector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>> exits;
  left->getExitEdges(exits);
  // Paths that end the thread (a failed assertion) are no way out.
  auto ends = [](auto& exit) { return llvm::isa<llvm::UnreachableInst>(exit.second->getTerminator()); };
  llvm::erase_if(exits, ends);
  if (std::ranges::all_of(exits, [&](auto& exit) { return exit.second == to; })) {
    // Reached once for each time that the loop is entered, by one of the edges; the first one stands for all.
    return exits.empty() || exits.front().first == from ? entered : number(0);
  }
  return both(entered,
              Expression::binary(Op::NotEqual, unknown_term("which way a loop ends", line_of(*from->getTerminator())),
                                 number(0)));
}

Expression ValueReader::iterations(llvm::Loop& loop) {
  Expression k = counter(&loop);
  Expression not_negative_counter = Expression::binary(Op::GreaterEqual, k, number(0));
  auto not_negative = [&](const llvm::SCEV* scev) {
    return evolution_.isKnownNonNegative(scev) || is_not_negative(integer(scev, loop.getParentLoop()));
  };
  const auto tests = tests_that_say_all(loop, evolution_, dominators_, not_negative);
  // What comes before a test in an iteration is done once more than the test holds.
  Expression before = number(1);
  for (auto* test : tests ? *tests : llvm::SmallVector<llvm::BasicBlock*>()) {
    auto touches = [&](llvm::BasicBlock* block) {
      return !dominators_.properlyDominates(test, block) &&
             llvm::any_of(*block, [](auto& instruction) { return instruction.mayReadOrWriteMemory(); });
    };
    if (llvm::none_of(loop.blocks(), touches)) continue;
    auto* end = test->getTerminator();
    auto* inside = loop.contains(end->getSuccessor(0)) ? end->getSuccessor(0) : end->getSuccessor(1);
    before = both(std::move(before), edge(test, inside).substitute({{counters_.lookup(&loop), k - number(1)}}));
  }
  if (tests && before.is_constant(1)) return not_negative_counter;
  auto not_known = [&] {
    const Expression often = unknown_term("how often a loop runs", line_of(*loop.getHeader()->getTerminator()));
    return both(std::move(not_negative_counter), Expression::binary(Op::NotEqual, often, number(0)));
  };
  auto* count = evolution_.getBackedgeTakenCount(&loop);
  const bool counted = !llvm::isa<llvm::SCEVCouldNotCompute>(count);
  const bool by_header = tests && tests->size() == 1 && tests->front() == loop.getHeader();
  if (tests && (by_header || !counted))
    return both(std::move(not_negative_counter),
                either(Expression::binary(Op::Equal, k, number(0)), std::move(before)));
  if (counted && !llvm::isa<llvm::SCEVConstant>(count) && may_step_over(loop, evolution_)) return not_known();
  if (counted) {
    // What is unsigned of it may be another number than the signed one in the rest.
    auto may_differ = [&](const llvm::SCEV* part) {
      return llvm::isa<llvm::SCEVUMaxExpr, llvm::SCEVUMinExpr, llvm::SCEVUDivExpr, llvm::SCEVZeroExtendExpr>(part) &&
             llvm::any_of(part->operands(), [&](const llvm::SCEV* operand) { return !not_negative(operand); });
    };
    if (llvm::SCEVExprContains(count, may_differ)) return not_known();
    // A loop `!= n` that begins behind n goes round.
    Expression last = as_unsigned(count, loop.getParentLoop());
    return both(std::move(not_negative_counter), Expression::binary(Op::LessEqual, k, std::move(last)));
  }
  return not_known();
}

Expression ValueReader::compute_reached(llvm::BasicBlock* block) {
  if (block->isEntryBlock()) return number(1);
  llvm::Loop* loop = loops_.getLoopFor(block);
  if (loop && loop->getHeader() == block) {
    auto* before = loop->getLoopPreheader();
    Expression entered = before ? reached(before) : number(0);
    if (!before)
      for (auto* from : llvm::predecessors(block))
        if (!loop->contains(from)) entered = either(std::move(entered), arrives(from, block));
    return both(std::move(entered), iterations(*loop));
  }
  // Where every path from the dominator leads here, its condition is this block's.
  if (auto* node = dominators_.getNode(block); node && node->getIDom()) {
    llvm::BasicBlock* above = node->getIDom()->getBlock();
    llvm::Loop* around = loops_.getLoopFor(above);
    while (around && around != loop && !around->contains(block) && around->getLoopPreheader()) {
      above = around->getLoopPreheader();
      around = loops_.getLoopFor(above);
    }
    if (around == loop && postdominators_.dominates(block, above)) return reached(above);
  }
  Expression any = number(0);
  llvm::SmallPtrSet<llvm::BasicBlock*, 4> seen;
  for (auto* from : llvm::predecessors(block))
    if (seen.insert(from).second && dominators_.isReachableFromEntry(from))
      any = either(std::move(any), arrives(from, block));
  return any;
}

Expression ValueReader::reached(llvm::BasicBlock* block) {
  if (auto found = reached_.find(block); found != reached_.end()) {
    if (found->second) return *found->second;
    ++unfinished_reads_;
    return number(0);  // Ends the recursion in a cycle that is no loop.
  }
  reached_[block] = std::nullopt;
  Expression computed = compute_reached(block);
  if (computed.size() > kLargestExpression)
    computed = Expression::binary(Op::NotEqual, unknown_term("a long condition", line_of(block->front())), number(0));
  reached_[block] = computed;
  return computed;
}

}  // namespace kernelift
