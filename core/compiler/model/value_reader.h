// Values of a prepared kernel as Expressions over the kernel model's variables, and the conditions under which its
// blocks are reached. What is no such expression becomes a term of the model.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel/kernel_model.h"

namespace kernelift {

inline constexpr size_t kLargestExpression = 1000;  ///< Nodes; a larger condition or index is a term.

/// An address as an object and the bytes from its start.
struct Address {
  size_t object = 0;  ///< Index in KernelModel::objects; of an Unknown one where the origin is not known.
  Expression offset;
};

/// A narrower number stands in the bits of 32 above `low`, as in `x << 24`, and what does not fit is meant to be lost.
inline constexpr int64_t kLeastHighBits = 16;
bool holds_high_bits(const llvm::Value* value, int64_t low = kLeastHighBits);

/// A function of the toolkit's library of mathematics, which is linked later.
bool is_libdevice(const llvm::Function& function);

/// A parameter, or a whole member of a structure that is passed by value: "arg.a2", "arg.a1.o8".
std::optional<std::string> parameter_name(llvm::Value* value);

class ValueReader {
 public:
  /// EXPECTS: `kernel` went through prepare_for_model(). `changed`: objects of which two equal reads may give two
  /// values, as settle_terms() of a reader before this one said.
  ValueReader(llvm::Function& kernel, llvm::ScalarEvolution& evolution, llvm::LoopInfo& loops,
              llvm::DominatorTree& dominators, llvm::PostDominatorTree& postdominators, KernelModel& model,
              std::set<size_t> changed);

  /// Where the pointer points when an instruction in `block` uses it.
  Address address(llvm::Value* pointer, llvm::BasicBlock* block);
  /// An integer where an instruction in `block` uses it.
  Expression integer_in(llvm::Value* value, llvm::BasicBlock* block) {
    return integer(value, loops_.getLoopFor(block));
  }
  /// What an expression of the loop's is before its first iteration.
  Expression integer_before(const llvm::SCEV* value, const llvm::Loop& loop) {
    return integer(value, loop.getParentLoop());
  }
  /// A hash of what the value is made of where an instruction in `block` uses it, the same for the same value; empty:
  /// what the kernel does not write does not determine it. To be asked once all written objects are noted.
  std::string made_of(llvm::Value* value, llvm::BasicBlock* block);
  /// Unequal 0 exactly where a thread executes the block.
  Expression reached(llvm::BasicBlock* block);
  /// The counters of the loops around the block, the outermost first.
  std::vector<std::string> counters(llvm::BasicBlock* block) const;
  KernelModel::Time time(const llvm::Instruction& instruction) const;
  /// Objects that some store or atomic operation writes; loads of all others give the same value during a launch.
  void note_written(size_t object) { written_.insert(object); }
  /// Decides which terms repeat, once all written objects are noted. What it returns was taken to be one value wherever
  /// it was read, and is written: the kernel has to be read again. Empty: nothing is.
  std::set<size_t> settle_terms();

 private:
  /// Some store or atomic operation writes the object, or memory of which it is not known which object it is.
  bool is_written(size_t object) const;

  struct Description {
    std::vector<Expression> arguments;
    std::set<size_t> read;  ///< Objects.
    bool known = true;      ///< False: what is described does not determine the value.
    int nodes = 0;
    size_t argument(const Expression& expression);  ///< Its number; a new one gets the next.
  };

  /// Integers and conditions that were read, by value (or SCEV) and the loop in which they are used.
  using Known = llvm::DenseMap<std::pair<const void*, const llvm::Loop*>, Expression>;
  template <class Read>
  Expression once(Known& known, const void* value, const llvm::Loop* scope, Read read);

  Expression integer(llvm::Value* value, const llvm::Loop* scope);
  Expression integer(const llvm::SCEV* scev, const llvm::Loop* scope);
  Expression compute_integer(const llvm::SCEV* scev, const llvm::Loop* scope);
  Expression unwrapped_integer(const llvm::SCEV* scev, const llvm::Loop* scope);
  Expression congruent(const llvm::SCEV* scev, const llvm::Loop* scope);
  Expression as_unsigned(llvm::Value* value, const llvm::Loop* scope);
  Expression as_unsigned(const llvm::SCEV* scev, const llvm::Loop* scope);
  bool is_remainder(const llvm::SCEV* scev, const llvm::Loop* scope);
  bool is_not_negative(const Expression& value);
  Expression own_value(llvm::Value* value, const llvm::Loop* scope);
  Expression kept_value(llvm::Instruction& kept, const llvm::Loop* scope);
  Expression truncated(const llvm::SCEV* cut, const llvm::Loop* scope);
  Expression condition(llvm::Value* value, const llvm::Loop* scope);
  Expression compute_condition(llvm::Value* value, const llvm::Loop* scope);
  std::optional<Expression> merged_value(llvm::PHINode& phi, const llvm::Loop* scope);
  /// All bits are zero. LLVM asks `x + y == 0` of numbers that are not negative as `(x | y) == 0`.
  Expression is_zero(llvm::Value* value, const llvm::Loop* scope);
  Expression comparison(llvm::ICmpInst& compare, const llvm::Loop* scope);
  Expression edge(llvm::BasicBlock* from, llvm::BasicBlock* to);
  Expression arrives(llvm::BasicBlock* from, llvm::BasicBlock* to);
  Expression compute_reached(llvm::BasicBlock* block);
  Expression iterations(llvm::Loop& loop);
  Expression counter(const llvm::Loop* loop) const;
  Expression term(llvm::Value* value, const llvm::Loop* scope);
  Expression unknown_term(const std::string& what, unsigned line);
  Expression add_term(TermValue value, Description description, unsigned line);
  TermValue describe(llvm::Value* value, const llvm::Loop* scope, Description& into);
  TermValue describe_operand(llvm::Value* value, const llvm::Loop* scope, Description& into);
  /// A parameter, or a whole member of a structure.
  std::optional<Expression> parameter(llvm::Value* value);
  /// Also of bytes that are no member, as another of a union reads them: "arg.a1.o0 as 2 bytes".
  std::optional<std::string> part_of_parameter(llvm::Value* value);
  size_t object(llvm::Value* base, unsigned line);
  size_t add_object(KernelModel::Object object);

  const llvm::Function& kernel_;
  llvm::ScalarEvolution& evolution_;
  llvm::LoopInfo& loops_;
  llvm::DominatorTree& dominators_;
  llvm::PostDominatorTree& postdominators_;
  KernelModel& model_;
  llvm::DenseMap<const llvm::Loop*, std::string> counters_;
  llvm::DenseMap<llvm::BasicBlock*, std::optional<Expression>> reached_;  ///< nullopt: being computed.
  size_t unfinished_reads_ = 0;                                           ///< How often one of those was asked for.
  Known integers_, conditions_;
  llvm::DenseMap<const llvm::BasicBlock*, int64_t> order_;  ///< Places of blocks: each before those it leads to.
  llvm::DenseMap<llvm::Value*, size_t> objects_;
  std::vector<std::set<size_t>> read_by_;  ///< Objects that each term reads.
  std::set<size_t> written_;
  const std::set<size_t> changed_;
  std::set<size_t> merged_;  ///< Objects of whose reads several became one term.
  std::set<std::pair<const llvm::Value*, const llvm::Loop*>> has_terms_;  ///< Integers, as read in that loop.
  int depth_ = 0;
};

}  // namespace kernelift
