// See number_width.h.
#include "core/compiler/model/numbers/number_width.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>

#include "core/compiler/model/conditions.h"
#include "core/compiler/model/numbers/kept_values.h"
#include "core/compiler/model/source_line.h"

namespace kernelift {
namespace {

constexpr unsigned kBits = 32;        ///< Narrower numbers are read with what they lose.
constexpr unsigned kRangeBits = 192;  ///< No sum or product of a few numbers of 64 bits leaves them.
constexpr int kDeepest = 20;

/// The units of a 32-bit number by which a 64-bit one moves; 0: it is constant; nullopt: other numbers decide it, too.
struct Units {
  uint64_t count = 0;
  bool is_unsigned = false;
};

std::optional<Units> units_of(const llvm::Value* value, int depth = 0) {
  if (llvm::isa<llvm::ConstantInt>(value)) return Units();
  if (value->getType()->isIntegerTy() && value->getType()->getIntegerBitWidth() <= kBits) return Units{1, false};
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth > kDeepest) return std::nullopt;
  auto of = [&](unsigned i) { return units_of(instruction->getOperand(i), depth + 1); };
  auto* constant =
      instruction->getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1)) : nullptr;
  const int64_t by = constant && constant->getBitWidth() <= 64 ? constant->getSExtValue() : 0;
  switch (instruction->getOpcode()) {
    case llvm::Instruction::SExt: return of(0);
    case llvm::Instruction::ZExt: {
      auto units = of(0);
      if (units) units->is_unsigned = true;
      return units;
    }
    case llvm::Instruction::Freeze: return of(0);
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Or: return constant ? of(0) : std::nullopt;
    case llvm::Instruction::Mul:
    case llvm::Instruction::Shl: {
      auto units = of(0);
      const int64_t factor = instruction->getOpcode() == llvm::Instruction::Mul ? std::abs(by)
                             : by < 32                                          ? int64_t(1) << by
                                                                                : 0;
      if (!constant || !units || factor <= 0 || factor >= int64_t(1) << 30) return std::nullopt;
      units->count *= static_cast<uint64_t>(factor);
      return units;
    }
    default: return std::nullopt;
  }
}

class Narrow {
 public:
  Narrow(llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators, ValueReader& values,
         KernelModel& model)
      : evolution_(evolution), dominators_(dominators), values_(values), model_(model) {}

  void visit(llvm::Instruction& instruction) {
    using Op = llvm::Instruction;
    if (is_kept(instruction)) return;  // Read as it is.
    assume_products_fit(instruction);
    const bool from_narrow =
        instruction.getNumOperands() > 0 && instruction.getOperand(0)->getType()->isIntegerTy(kBits);
    switch (instruction.getOpcode()) {
      case Op::SExt:
      case Op::ZExt:
        if (from_narrow) add(instruction, 0, instruction.getOpcode() == Op::SExt);
        break;
      case Op::Trunc:
        if (instruction.getType()->isIntegerTy(kBits)) add(instruction, 0, true, /*always=*/true);
        break;
      case Op::And:
        // A truncation that was extended again: the lower half of 64 bits, without its sign or with it.
        if (auto* mask = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
            mask && instruction.getType()->isIntegerTy(2 * kBits) && mask->getZExtValue() == 0xffffffff)
          add(instruction, 0, false, /*always=*/true);
        break;
      case Op::ICmp:
        for (unsigned i = 0; from_narrow && i < 2; ++i)
          add(instruction, i, !llvm::cast<llvm::ICmpInst>(instruction).isUnsigned());
        break;
      case Op::SDiv:
      case Op::SRem:
      case Op::UDiv:
      case Op::URem: {
        const bool is_signed = instruction.getOpcode() == Op::SDiv || instruction.getOpcode() == Op::SRem;
        for (unsigned i = 0; from_narrow && i < 2; ++i) add(instruction, i, is_signed);
        break;
      }
      case Op::AShr:
      case Op::LShr:
        if (from_narrow) add(instruction, 0, instruction.getOpcode() == Op::AShr);
        if (auto* up = llvm::dyn_cast<llvm::BinaryOperator>(instruction.getOperand(0));
            up && up->getOpcode() == Op::Shl && instruction.getType()->isIntegerTy(2 * kBits) &&
            is_number(up->getOperand(1), kBits) && is_number(instruction.getOperand(1), kBits))
          add(instruction, *up->getOperand(0), instruction.getOpcode() == Op::AShr, /*always=*/true);
        break;
      case Op::Switch:
        if (from_narrow) add(instruction, 0, true);
        break;
      case Op::Call:
        if (llvm::isa<llvm::MinMaxIntrinsic>(instruction) && from_narrow)
          for (unsigned i = 0; i < 2; ++i)
            add(instruction, i, llvm::cast<llvm::MinMaxIntrinsic>(instruction).isSigned());
        break;
      default: break;
    }
  }

 private:
  /// It is a sum or a product, or one where branches meet.
  bool computed(const llvm::Value* value, llvm::SmallPtrSetImpl<const llvm::Value*>& seen) const {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || !seen.insert(instruction).second) return false;
    auto any = [&](auto&& operands) {
      return llvm::any_of(operands, [&](auto& operand) { return computed(operand, seen); });
    };
    switch (instruction->getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
      case llvm::Instruction::Mul:
      case llvm::Instruction::Shl: return true;
      case llvm::Instruction::Or:
        return llvm::cast<llvm::PossiblyDisjointInst>(instruction)->isDisjoint() || any(instruction->operands());
      case llvm::Instruction::And: {
        // The low bits of a sum are right whatever is lost above them.
        auto* mask = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
        return !(mask && !mask->isNegative()) && any(instruction->operands());
      }
      case llvm::Instruction::Xor:
      case llvm::Instruction::Freeze: return any(instruction->operands());
      case llvm::Instruction::Select: return any(llvm::drop_begin(instruction->operands()));
      case llvm::Instruction::PHI: return any(llvm::cast<llvm::PHINode>(instruction)->incoming_values());
      default: return false;
    }
  }

  /// What it decides goes into an address or the way that a thread takes.
  bool matters(const llvm::Instruction& from) {
    if (auto known = matters_.find(&from); known != matters_.end()) return known->second;
    llvm::SmallPtrSet<const llvm::Value*, 16> seen;
    llvm::SmallVector<const llvm::Value*> open{&from};
    bool found = from.isTerminator();
    while (!open.empty() && !found) {
      auto* value = open.pop_back_val();
      if (!seen.insert(value).second) continue;
      for (auto& use : value->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) found |= use.get() == store->getPointerOperand();
        else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(user))
          found |= use.get() == atomic->getPointerOperand();
        else if (user->isTerminator() || user->mayReadOrWriteMemory()) found |= !llvm::isa<llvm::ReturnInst>(user);
        else open.push_back(user);
      }
    }
    return matters_[&from] = found;
  }

  /// The objects whose addresses alone the extended number is part of; empty: it goes elsewhere, too.
  std::set<size_t> indexed_by(llvm::Instruction& from) {
    std::set<size_t> objects;
    llvm::SmallPtrSet<llvm::Value*, 16> seen;
    llvm::SmallVector<llvm::Value*> open{&from};
    while (!open.empty()) {
      auto* value = open.pop_back_val();
      if (!seen.insert(value).second) continue;
      for (auto& use : value->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        auto* pointer = llvm::getPointerOperand(user);
        if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(user)) pointer = atomic->getPointerOperand();
        if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(user)) pointer = exchange->getPointerOperand();
        const bool passes = llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst, llvm::FreezeInst>(user) ||
                            (!value->getType()->isPointerTy() &&
                             llvm::is_contained({llvm::Instruction::Add, llvm::Instruction::Sub, llvm::Instruction::Mul,
                                                 llvm::Instruction::Shl, llvm::Instruction::Or},
                                                user->getOpcode()));
        if (passes) open.push_back(user);
        else if (pointer && pointer == use.get() && user->mayReadOrWriteMemory())
          objects.insert(values_.address(use.get(), user->getParent()).object);
        else return {};
      }
    }
    return objects;
  }

  /// Products of 64 bits are read as if they never wrapped around. Where one is compared or divided, a parameter in it
  /// is taken to be so small that it does not, which the model says. Products of several parameters are sizes of
  /// memory.
  void assume_products_fit(llvm::Instruction& user) {
    using Op = llvm::Instruction;
    constexpr unsigned kFits = 60;  ///< Bits of a product: a sum of several has no more than 63.
    switch (user.getOpcode()) {
      case Op::ICmp:
      case Op::UDiv:
      case Op::URem:
      case Op::SDiv:
      case Op::SRem:
      case Op::LShr:
      case Op::AShr:
      case Op::SExt:
      case Op::ZExt:
      case Op::Switch: break;
      default:
        if (!llvm::isa<llvm::MinMaxIntrinsic>(user)) return;
    }
    // A truncation that was extended again.
    auto* up = llvm::dyn_cast<llvm::BinaryOperator>(user.getOperand(0));
    if (user.getOpcode() == Op::AShr && up && up->getOpcode() == Op::Shl) return;
    for (auto& operand : user.operands()) {
      if (!operand->getType()->isIntegerTy(2 * kBits)) continue;
      for (auto& [name, factor] : multiplied_parameters(*operand, user)) {
        if (!matters(user)) return;
        const int64_t most = static_cast<int64_t>((uint64_t(1) << kFits) / factor);
        for (auto& fits : {Expression::binary(Expression::Op::LessEqual, Expression::variable(name), number(most)),
                           Expression::binary(Expression::Op::GreaterEqual, Expression::variable(name), number(-most))})
          if (std::ranges::find(model_.assumed, fits) == model_.assumed.end()) model_.assumed.push_back(fits);
      }
    }
  }

  /// Parameters of 64 bits by the constants that they are multiplied by in the value; those that are not are left out.
  std::map<std::string, uint64_t> multiplied_parameters(llvm::Value& value, llvm::Instruction& user) {
    using Op = llvm::Instruction;
    constexpr uint64_t kMost = uint64_t(1) << 60;
    std::map<std::string, uint64_t> found;
    llvm::DenseMap<llvm::Value*, uint64_t> seen;  ///< To the largest factor.
    llvm::SmallVector<std::pair<llvm::Value*, uint64_t>> open{{&value, 1}};
    while (!open.empty()) {
      auto [part, factor] = open.pop_back_val();
      if (!part->getType()->isIntegerTy(2 * kBits) || seen[part] >= factor) continue;
      seen[part] = factor;
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(part);
      if (!instruction || llvm::isa<llvm::LoadInst>(instruction)) {
        if (factor == 1 || llvm::isa<llvm::Constant>(part)) continue;
        const Expression read = values_.integer_in(part, user.getParent());
        if (auto* name = read.as_variable(); name && name->starts_with("arg."))
          found[*name] = std::max(found[*name], factor);
        continue;
      }
      if (is_kept(*instruction)) continue;
      auto* constant =
          instruction->getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1)) : nullptr;
      const uint64_t by = constant ? constant->getValue().abs().getLimitedValue(kMost) : 0;
      auto times = [&](uint64_t most) { return most > 0 && factor > kMost / most ? kMost : factor * most; };
      auto descend = [&](uint64_t with) { open.emplace_back(instruction->getOperand(0), with); };
      switch (instruction->getOpcode()) {
        case Op::Mul:
        case Op::Shl: {
          const bool fits = instruction->hasNoSignedWrap() || instruction->hasNoUnsignedWrap();
          if (!constant || (fits && factor == 1)) break;
          descend(instruction->getOpcode() == Op::Mul ? times(by) : by < 60 ? times(uint64_t(1) << by) : kMost);
          break;
        }
        case Op::UDiv:
        case Op::SDiv: descend(by > 0 ? factor / by + 1 : factor); break;
        case Op::LShr:
        case Op::AShr: descend(constant && by < 64 ? (factor >> by) + 1 : factor); break;
        case Op::URem:
        case Op::SRem:
          if (!constant || times(by) >= kMost) descend(factor);
          break;
        case Op::And:
          if (!constant || constant->isNegative() || times(by) >= kMost) descend(factor);
          break;
        case Op::Call:
        case Op::Add:
        case Op::Sub:
        case Op::Or:
        case Op::Xor:
        case Op::Select:
        case Op::PHI:
        case Op::Freeze:
          for (auto& operand : instruction->operands()) open.emplace_back(operand.get(), factor);
          break;
        default: break;
      }
    }
    return found;
  }

  /// KernelModel::Narrow::unit of the extended number.
  uint64_t unit_of(llvm::Instruction& extended) const {
    std::optional<uint64_t> least;
    for (auto* user : extended.users()) {
      auto* step = llvm::dyn_cast<llvm::GEPOperator>(user);
      llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
      llvm::APInt constant(64, 0);
      if (!step || !step->collectOffset(extended.getModule()->getDataLayout(), 64, variable, constant)) return 0;
      auto found = variable.find(&extended);
      if (found == variable.end() || found->second.isNegative()) return 0;
      least = std::min(least.value_or(UINT64_MAX), found->second.getZExtValue());
    }
    return least.value_or(0);
  }

  /// In the middle of a loop, a counter is one that its test let in.
  bool is_tested_counter(const llvm::Value* value, const llvm::Instruction& user) {
    if (!evolution_.isSCEVable(value->getType())) return false;
    auto* counted = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(const_cast<llvm::Value*>(value)));
    if (!counted || !counted->isAffine() || !counted->getLoop()->contains(&user)) return false;
    llvm::SmallVector<llvm::BasicBlock*> exiting;
    counted->getLoop()->getExitingBlocks(exiting);
    return llvm::any_of(exiting, [&](llvm::BasicBlock* block) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (!branch || !branch->isConditional()) return false;
      auto* inside = branch->getSuccessor(counted->getLoop()->contains(branch->getSuccessor(0)) ? 0 : 1);
      // Where the test has let it in, and in the test itself.
      const bool behind = inside->getSinglePredecessor() && dominators_.dominates(inside, user.getParent());
      if (!behind && user.getParent() != block) return false;
      return llvm::any_of(that_hold(*branch->getCondition(), inside == branch->getSuccessor(0)), [&](auto& test) {
        auto& [compare, predicate] = test;
        if (!behind && compare != &user) return false;
        for (unsigned i = 0; i < 2; ++i) {
          auto* side = compare->getOperand(i);
          auto* bound = evolution_.getSCEV(compare->getOperand(1 - i));
          if (!side->getType()->isIntegerTy(kBits) || !evolution_.isLoopInvariant(bound, counted->getLoop())) continue;
          auto* tested = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(side));
          if (tested && tested->getLoop() == counted->getLoop() &&
              (tested == counted || tested == counted->getPostIncExpr(evolution_)) &&
              bounds(i == 0 ? predicate : llvm::CmpInst::getSwappedPredicate(predicate), *counted))
            return true;
        }
        return false;
      });
    });
  }

  using Test = std::pair<llvm::ICmpInst*, llvm::CmpInst::Predicate>;

  /// The comparisons that hold wherever the condition does, or does not.
  static llvm::SmallVector<Test> that_hold(llvm::Value& condition, bool holds) {
    using namespace llvm::PatternMatch;
    llvm::SmallVector<Test> all;
    llvm::SmallVector<std::pair<llvm::Value*, bool>> open{{&condition, holds}};
    while (!open.empty()) {
      auto [value, is] = open.pop_back_val();
      llvm::Value *a = nullptr, *b = nullptr;
      if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(value))
        all.emplace_back(compare, is ? compare->getPredicate() : compare->getInversePredicate());
      else if (match(value, m_Not(m_Value(a)))) open.emplace_back(a, !is);
      else if (is ? match(value, m_LogicalAnd(m_Value(a), m_Value(b)))
                  : match(value, m_LogicalOr(m_Value(a), m_Value(b))))
        open.emplace_back(a, is), open.emplace_back(b, is);
    }
    return all;
  }

  /// A comparison with a number that stays the same keeps the counter from going on for ever.
  bool bounds(llvm::CmpInst::Predicate predicate, const llvm::SCEVAddRecExpr& counter) {
    auto never_negative_step = [&](const llvm::SCEV* step) {
      std::set<std::string> parameters;  // One by which a loop goes on is positive, or it has no end.
      return evolution_.isKnownNonNegative(step) ||
             never_negative(values_.integer_before(step, *counter.getLoop()), &parameters);
    };
    auto* step = counter.getStepRecurrence(evolution_);
    switch (predicate) {
      case llvm::CmpInst::ICMP_SLT:
      case llvm::CmpInst::ICMP_SLE: return never_negative_step(step);
      case llvm::CmpInst::ICMP_SGT:
      case llvm::CmpInst::ICMP_SGE:
      case llvm::CmpInst::ICMP_UGT:
      case llvm::CmpInst::ICMP_UGE: return never_negative_step(evolution_.getNegativeSCEV(step));
      default: return true;  // A number below none is a large one as unsigned; `!=` ends at its bound.
    }
  }

  /// Of what the number is without overflow.
  llvm::ConstantRange range(const llvm::SCEV* scev, int depth = 0) {
    auto own = [&] { return evolution_.getSignedRange(scev).signExtend(kRangeBits); };
    if (depth > kDeepest) return own();
    if (auto* many = llvm::dyn_cast<llvm::SCEVNAryExpr>(scev);
        many && llvm::isa<llvm::SCEVAddExpr, llvm::SCEVMulExpr>(scev) && many->getNumOperands() <= 4) {
      auto all = range(many->getOperand(0), depth + 1);
      for (auto* operand : many->operands().drop_front()) {
        auto next = range(operand, depth + 1);
        all = llvm::isa<llvm::SCEVAddExpr>(scev) ? all.add(next) : all.multiply(next);
      }
      return all;
    }
    if (llvm::isa<llvm::SCEVAddExpr, llvm::SCEVMulExpr>(scev)) return llvm::ConstantRange::getFull(kRangeBits);
    if (auto* counted = llvm::dyn_cast<llvm::SCEVAddRecExpr>(scev)) {
      const unsigned trips = evolution_.getSmallConstantMaxTripCount(counted->getLoop());
      if (!counted->isAffine() || trips == 0) return llvm::ConstantRange::getFull(kRangeBits);
      const llvm::ConstantRange often(llvm::APInt(kRangeBits, 0), llvm::APInt(kRangeBits, uint64_t(trips) + 1));
      return range(counted->getStart(), depth + 1)
          .add(often.multiply(range(counted->getStepRecurrence(evolution_), depth + 1)));
    }
    if (auto* sign = llvm::dyn_cast<llvm::SCEVSignExtendExpr>(scev)) return range(sign->getOperand(), depth + 1);
    // Of what meets there, scalar evolution knows no more than the bits that it is computed in.
    auto* leaf = llvm::dyn_cast<llvm::SCEVUnknown>(scev);
    llvm::SmallPtrSet<const llvm::Value*, 8> seen;
    if (leaf && computed(leaf->getValue(), seen)) return llvm::ConstantRange::getFull(kRangeBits);
    return own();
  }

  static bool fits(const llvm::ConstantRange& all, bool is_signed) {
    if (all.isFullSet() || all.isSignWrappedSet()) return false;
    const llvm::APInt most(kRangeBits, (uint64_t(1) << (is_signed ? 31 : 32)) - 1),
        least = -llvm::APInt(kRangeBits, uint64_t(1) << 31);
    return all.getSignedMin().sge(least) && all.getSignedMax().sle(most);
  }

  /// The reader knows that what a shift or a comparison with a constant reads stands in the high bits.
  static bool reads_high_bits(const llvm::Instruction& user, const llvm::Value* value) {
    auto* constant = user.getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(user.getOperand(1)) : nullptr;
    if (!constant || user.getOperand(0) != value || constant->getBitWidth() > 64) return false;
    if (user.getOpcode() == llvm::Instruction::AShr || user.getOpcode() == llvm::Instruction::LShr)
      return holds_high_bits(value, constant->getSExtValue());
    return llvm::isa<llvm::ICmpInst>(user) && holds_high_bits(value);
  }

  static bool is_number(const llvm::Value* value, uint64_t number) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant && constant->getValue() == number;
  }

  void add(llvm::Instruction& user, unsigned operand, bool is_signed, bool always = false) {
    add(user, *user.getOperand(operand), is_signed, always);
  }

  /// Where a counter begins is computed in as few bits, and nothing tests it.
  void add_start(const llvm::Value* counter, bool is_signed) {
    auto* counted = llvm::cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(const_cast<llvm::Value*>(counter)));
    auto* before = counted->getLoop()->getLoopPreheader();
    auto* start = evolution_.getSCEVAtScope(counted->getStart(), counted->getLoop()->getParentLoop());
    if (fits(range(start), is_signed)) return;
    KernelModel::Narrow number{0, Expression::constant(0), Expression::constant(1), is_signed};
    number.value = values_.integer_before(start, *counted->getLoop());
    if (before) number.line = line_of(*before->getTerminator()), number.domain = values_.reached(before);
    push(number);
  }

  void push(const KernelModel::Narrow& number) {
    if (std::ranges::find(model_.narrow, number) == model_.narrow.end()) model_.narrow.push_back(number);
  }

  void add(llvm::Instruction& user, llvm::Value& operand, bool is_signed, bool always) {
    auto* value = &operand;
    llvm::SmallPtrSet<const llvm::Value*, 8> seen;
    if (llvm::isa<llvm::Constant>(value) || (!always && !computed(value, seen)) || reads_high_bits(user, value) ||
        (always && is_known_to_fit(*value, kBits)))
      return;
    if (fits(range(evolution_.getSCEV(value)), is_signed)) return;
    if (!matters(user)) {
      // It is part of a stored value, in more bits: not the same sum where this part overflows.
      if (llvm::isa<llvm::SExtInst, llvm::ZExtInst>(user))
        model_.data.push_back(
            {line_of(user), values_.integer_in(value, user.getParent()), values_.reached(user.getParent()), false});
      return;
    }
    if (is_tested_counter(value, user)) return add_start(value, is_signed);
    KernelModel::Narrow number{line_of(user), values_.integer_in(value, user.getParent()),
                               values_.reached(user.getParent()), is_signed};
    // What is no expression is the number that is there, whatever it would be without overflow, and its lower bits are
    // read as they are.
    auto* name = number.value.as_variable();
    if (name && name->starts_with("term.") && (!always || llvm::isa<llvm::SCEVUnknown>(evolution_.getSCEV(value))))
      return;
    const bool extended = llvm::isa<llvm::SExtInst, llvm::ZExtInst>(user);
    const auto objects = extended ? indexed_by(user) : std::set<size_t>();
    if (objects.empty()) return push(number);
    number.unit = unit_of(user);
    for (size_t object : objects) {
      number.index_of = object;
      push(number);
    }
  }

  llvm::ScalarEvolution& evolution_;
  const llvm::DominatorTree& dominators_;
  ValueReader& values_;
  KernelModel& model_;
  llvm::DenseMap<const llvm::Instruction*, bool> matters_;
};

}  // namespace

void read_narrow_numbers(llvm::Function& kernel, llvm::ScalarEvolution& evolution,
                         const llvm::DominatorTree& dominators, ValueReader& values, KernelModel& model) {
  Narrow narrow(evolution, dominators, values, model);
  for (auto& instruction : llvm::instructions(kernel)) narrow.visit(instruction);
}

uint64_t reach_of(const llvm::Value* pointer, const llvm::DataLayout& layout) {
  llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
  llvm::APInt constant(64, 0);
  while (true) {
    pointer = pointer->stripPointerCasts();
    auto* step = llvm::dyn_cast<llvm::GEPOperator>(pointer);
    if (!step) break;
    if (!step->collectOffset(layout, 64, variable, constant)) return 0;
    pointer = step->getPointerOperand();
  }
  if (!llvm::isa<llvm::Argument, llvm::GlobalVariable, llvm::AllocaInst, llvm::LoadInst>(pointer)) return 0;
  if (variable.empty()) return 1;
  if (variable.size() > 1 || variable.front().second.isNegative()) return 0;
  const auto units = units_of(variable.front().first);
  if (!units) return 0;
  const uint64_t scale = variable.front().second.getZExtValue() * std::max<uint64_t>(units->count, 1);
  return scale >= uint64_t(1) << 30 ? 0 : scale << (units->is_unsigned ? 32 : 31);
}

}  // namespace kernelift
