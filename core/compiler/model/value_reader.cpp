// See value_reader.h. Integers are read as if they never overflowed: sign and zero extensions are left out, and so are
// truncations to 32 bits and more where number_width.h asks whether the number fits.
#include "core/compiler/model/value_reader.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "core/compiler/model/conditions.h"
#include "core/compiler/model/numbers/kept_values.h"
#include "core/compiler/model/numbers/low_bits.h"
#include "core/compiler/model/position.h"
#include "core/compiler/model/source_line.h"

namespace kernelift {
namespace {

using Op = Expression::Op;
using Object = KernelModel::Object;

constexpr int kDeepestValue = 100;  ///< Nesting of values.
constexpr unsigned kSharedSpace = 3;
constexpr const char* kDynamicShared = "extern __shared__";

/// A static variable that this function alone uses. In a template it is one of each instance, with a name that begins
/// with that of the instance.
bool is_own(const llvm::GlobalVariable& variable, const llvm::Function& kernel) {
  const auto of_function =
      "_ZZ" + kernel.getName().drop_front(std::min<size_t>(2, kernel.getName().size())).str() + "E";
  if (!variable.hasLocalLinkage() && !variable.getName().starts_with(of_function)) return false;
  llvm::SmallVector<const llvm::User*> users(variable.users());
  while (!users.empty()) {
    auto* user = users.pop_back_val();
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction && instruction->getFunction() != &kernel) return false;
    if (llvm::isa<llvm::GlobalValue>(user)) return false;
    if (!instruction) users.append(user->user_begin(), user->user_end());
  }
  return true;
}

const llvm::SCEV* operand_of(const llvm::SCEV* cast) { return llvm::cast<llvm::SCEVCastExpr>(cast)->getOperand(); }

}  // namespace

bool holds_high_bits(const llvm::Value* value, int64_t low) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || !value->getType()->isIntegerTy(32) || low < kLeastHighBits) return false;
  return llvm::computeKnownBits(value, instruction->getModule()->getDataLayout()).countMinTrailingZeros() >= low;
}

bool is_libdevice(const llvm::Function& function) {
  return function.isDeclaration() && function.getName().starts_with("__nv_");
}

ValueReader::ValueReader(llvm::Function& kernel, llvm::ScalarEvolution& evolution, llvm::LoopInfo& loops,
                         llvm::DominatorTree& dominators, llvm::PostDominatorTree& postdominators, KernelModel& model,
                         std::set<size_t> changed)
    : kernel_(kernel),
      evolution_(evolution),
      loops_(loops),
      dominators_(dominators),
      postdominators_(postdominators),
      model_(model),
      changed_(std::move(changed)) {
  int count = 0;
  for (auto* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&kernel)) order_[block] = count++;
  count = 0;
  for (auto* loop : loops.getLoopsInPreorder()) counters_[loop] = "loop.k" + std::to_string(++count);
}

Expression ValueReader::counter(const llvm::Loop* loop) const { return Expression::variable(counters_.lookup(loop)); }

std::vector<std::string> ValueReader::counters(llvm::BasicBlock* block) const {
  std::vector<std::string> names;
  for (auto* loop = loops_.getLoopFor(block); loop; loop = loop->getParentLoop())
    names.insert(names.begin(), counters_.lookup(loop));
  return names;
}

namespace {

/// Of the number or pointer that lies there in a value of this type; nullopt: none does, or it begins before.
std::optional<uint64_t> bytes_at(llvm::Type* type, uint64_t offset, const llvm::DataLayout& layout) {
  while (true) {
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
      const llvm::StructLayout& place = *layout.getStructLayout(structure);
      if (structure->getNumElements() == 0 || offset >= place.getSizeInBytes()) return std::nullopt;
      const unsigned element = place.getElementContainingOffset(offset);
      offset -= place.getElementOffset(element), type = structure->getElementType(element);
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
      type = array->getElementType();
      const uint64_t stride = layout.getTypeAllocSize(type);
      if (stride == 0) return std::nullopt;
      offset %= stride;
    } else {
      return offset == 0 ? std::optional<uint64_t>(layout.getTypeStoreSize(type)) : std::nullopt;
    }
  }
}

/// What a load reads of a structure that the kernel gets by value.
struct MemberRead {
  std::string name;  ///< "arg.a1.o8"
  uint64_t bytes = 0;
  bool whole = true;  ///< All of the member there: a union has one, and its others may be wider or narrower.
};

std::optional<MemberRead> member_read(llvm::Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (!load) return std::nullopt;
  const llvm::DataLayout& layout = load->getModule()->getDataLayout();
  llvm::APInt offset(64, 0);
  auto* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  auto* argument = llvm::dyn_cast<llvm::Argument>(base);
  if (!argument || !argument->hasByValAttr() || offset.isNegative()) return std::nullopt;
  MemberRead read;
  read.name = "arg.a" + std::to_string(argument->getArgNo()) + ".o" + std::to_string(offset.getSExtValue());
  read.bytes = layout.getTypeStoreSize(load->getType());
  read.whole = bytes_at(argument->getParamByValType(), offset.getZExtValue(), layout) == read.bytes;
  return read;
}

}  // namespace

KernelModel::Time ValueReader::time(const llvm::Instruction& instruction) const {
  KernelModel::Time time;
  const llvm::BasicBlock* block = instruction.getParent();
  // Within a block one instruction after the other.
  time.push_back(number(std::distance(block->begin(), instruction.getIterator())));
  time.insert(time.begin(), number(order_.lookup(block)));
  for (auto* loop = loops_.getLoopFor(block); loop; loop = loop->getParentLoop()) {
    time.insert(time.begin(), counter(loop));
    time.insert(time.begin(), number(order_.lookup(loop->getHeader())));
  }
  return time;
}

size_t ValueReader::add_object(Object object) {
  auto found = object.name == kDynamicShared ? std::ranges::find(model_.objects, object.name, &Object::name)
                                             : std::ranges::find(model_.objects, object);
  if (found == model_.objects.end()) found = model_.objects.insert(found, std::move(object));
  return found - model_.objects.begin();
}

std::optional<std::string> parameter_name(llvm::Value* value) {
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return "arg.a" + std::to_string(argument->getArgNo());
  const auto member = member_read(value);
  return member && member->whole ? std::optional(member->name) : std::nullopt;
}

std::optional<Expression> ValueReader::parameter(llvm::Value* value) {
  const auto name = parameter_name(value);
  return name ? std::optional(Expression::variable(*name)) : std::nullopt;
}

std::optional<std::string> ValueReader::part_of_parameter(llvm::Value* value) {
  const auto member = member_read(value);
  if (!member) return std::nullopt;
  return member->name + (member->whole ? "" : " as " + std::to_string(member->bytes) + " bytes");
}

size_t ValueReader::object(llvm::Value* base, unsigned line) {
  base = base->stripPointerCasts();
  auto [known, fresh] = objects_.try_emplace(base, 0);
  if (!fresh) return known->second;
  Object object;
  if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(base)) {
    object.kind = variable->getAddressSpace() == kSharedSpace ? Object::Kind::Shared : Object::Kind::Variable;
    object.name = variable->getName().str();
    auto size = variable->getParent()->getDataLayout().getTypeAllocSize(variable->getValueType());
    if (size > 0) object.bytes = size;
    object.alignment = variable->getParent()
                           ->getDataLayout()
                           .getValueOrABITypeAlignment(variable->getAlign(), variable->getValueType())
                           .value();
    // Whatever they are called, they are the same memory.
    if (object.kind == Object::Kind::Shared && size == 0) object.name = kDynamicShared;
    // "kernel(int*)::tile" is the source's `tile`.
    std::string plain = llvm::demangle(variable->getName().str());
    object.shown = plain.substr(plain.rfind(':') == std::string::npos ? 0 : plain.rfind(':') + 1);
    object.own = object.kind == Object::Kind::Variable && is_own(*variable, kernel_);
  } else if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(base)) {
    object.kind = Object::Kind::Local;
    object.name = "local." + (local->hasName() ? local->getName().str() : std::to_string(objects_.size()));
    if (auto size = local->getAllocationSize(local->getModule()->getDataLayout())) object.bytes = *size;
  } else if (auto named = parameter(base)) {
    object.kind = Object::Kind::Argument, object.name = *named->as_variable();
  } else {
    model_.gaps.push_back({line, "an address that is read from memory or chosen between several"});
  }
  const size_t index = add_object(std::move(object));
  objects_[base] = index;
  return index;
}

Address ValueReader::address(llvm::Value* pointer, llvm::BasicBlock* block) {
  auto* scope = loops_.getLoopFor(block);
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(pointer);
  const unsigned line = instruction ? line_of(*instruction) : 0;
  Expression behind = number(0);
  while (true) {
    auto* scev = evolution_.getSCEVAtScope(evolution_.getSCEV(pointer), scope);
    auto* base = llvm::dyn_cast<llvm::SCEVUnknown>(evolution_.getPointerBase(scev));
    if (!base) {
      model_.gaps.push_back({line, "an address that is chosen between several"});
      return {add_object({}), number(0)};
    }
    auto* offset = evolution_.getMinusSCEV(scev, base);
    // The same address in another address space, as __ldg takes it.
    auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(base->getValue());
    if (llvm::isa<llvm::SCEVCouldNotCompute>(offset))
      return {object(llvm::getUnderlyingObject(base->getValue()), line), unknown_term("an address", line)};
    Expression further = integer(offset, scope);
    if (behind.is_constant(0)) behind = std::move(further);
    else if (!further.is_constant(0)) behind = std::move(behind) + std::move(further);
    if (!cast) return {object(base->getValue(), line), std::move(behind)};
    pointer = cast->getPointerOperand();
  }
}

/// Parameters that a kernel reads as unsigned are taken to be not negative, which the model says.
bool ValueReader::is_not_negative(const Expression& value) {
  std::set<std::string> parameters;
  if (!never_negative(value, &parameters)) return false;
  for (auto& name : parameters) {
    Expression condition = Expression::binary(Op::GreaterEqual, Expression::variable(name), number(0));
    if (std::ranges::find(model_.assumed, condition) == model_.assumed.end()) model_.assumed.push_back(condition);
  }
  return true;
}

/// Of numbers that are not negative, x - x / w * w: so scalar evolution writes x % w.
bool ValueReader::is_remainder(const llvm::SCEV* scev, const llvm::Loop* scope) {
  auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(scev);
  auto not_negative = [&](const llvm::SCEV* part) {
    return evolution_.isKnownNonNegative(part) || is_not_negative(integer(part, scope));
  };
  for (auto* part : sum ? sum->operands() : llvm::ArrayRef<const llvm::SCEV*>())
    if (auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(part))
      for (auto* factor : product->operands()) {
        auto* quotient = llvm::dyn_cast<llvm::SCEVUDivExpr>(factor);
        if (!quotient) continue;
        auto *number = quotient->getLHS(), *by = quotient->getRHS();
        if (part == evolution_.getNegativeSCEV(evolution_.getMulExpr(factor, by)) &&
            evolution_.getMinusSCEV(scev, part) == number && not_negative(number) && not_negative(by))
          return true;
      }
  return false;
}

/// The value when its bits are read as an unsigned number.
Expression ValueReader::as_unsigned(const llvm::SCEV* scev, const llvm::Loop* scope) {
  const unsigned bits = evolution_.getTypeSizeInBits(scev->getType());
  if (auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(scev); unknown && bits == 1)
    return Expression::conditional(condition(unknown->getValue(), scope), number(1), number(0));
  if (bits < kLeastIndexBits)
    return Expression::binary(Op::BitAnd, congruent(scev, scope), number((int64_t(1) << bits) - 1));
  Expression value = integer(scev, scope);
  if (auto low = unsigned_of_low_bits(value, bits)) return *low;
  if (evolution_.isKnownNonNegative(scev) || is_not_negative(value) || is_remainder(scev, scope)) return value;
  if (bits > 32) return unknown_term("an unsigned number of 64 bits that may be negative as a signed one", 0);
  Expression negative = Expression::binary(Op::Less, value, number(0));
  return Expression::conditional(std::move(negative), value + number(int64_t(1) << bits), value);
}

Expression ValueReader::as_unsigned(llvm::Value* value, const llvm::Loop* scope) {
  return as_unsigned(evolution_.getSCEVAtScope(evolution_.getSCEV(value), scope), scope);
}

/// What `read` makes of the value where it is used in that loop, read once: each of a chain of values may use those
/// before it several times. Nothing is kept of what a block's own unfinished condition went into.
template <class Read>
Expression ValueReader::once(Known& known, const void* value, const llvm::Loop* scope, Read read) {
  const std::pair key(value, scope);
  if (auto found = known.find(key); found != known.end()) return found->second;
  const size_t before = unfinished_reads_;
  Expression made = read();
  if (unfinished_reads_ == before) known.try_emplace(key, made);
  return made;
}

Expression ValueReader::integer(llvm::Value* value, const llvm::Loop* scope) {
  if (value->getType()->isIntegerTy(1)) return condition(value, scope);
  if (auto* kept = llvm::dyn_cast<llvm::Instruction>(value); kept && is_kept(*kept))
    return once(integers_, value, scope, [&] { return kept_value(*kept, scope); });
  if (!evolution_.isSCEVable(value->getType()) || value->getType()->isPointerTy())
    return once(integers_, value, scope, [&] { return term(value, scope); });
  return integer(evolution_.getSCEVAtScope(evolution_.getSCEV(value), scope), scope);
}

Expression ValueReader::integer(const llvm::SCEV* scev, const llvm::Loop* scope) {
  return once(integers_, scev, scope, [&] {
    Expression made = compute_integer(scev, scope);
    return made.size() > kLargestExpression ? unknown_term("a long computation", 0) : made;
  });
}

Expression ValueReader::compute_integer(const llvm::SCEV* scev, const llvm::Loop* scope) {
  // Narrower integers are computed on purpose: a character that wraps around is no mistake.
  const unsigned bits = evolution_.getTypeSizeInBits(scev->getType());
  const bool narrow = bits > 1 && bits < kLeastIndexBits;
  if (narrow && llvm::isa<llvm::SCEVAddExpr, llvm::SCEVMulExpr, llvm::SCEVAddRecExpr, llvm::SCEVTruncateExpr>(scev))
    return low_bits(congruent(scev, scope), bits);
  return unwrapped_integer(scev, scope);
}

/// Of a narrow value another one that has the same low bits, as which its parts need not be cut off: a sum wraps around
/// once, in the end.
Expression ValueReader::congruent(const llvm::SCEV* scev, const llvm::Loop* scope) {
  if (evolution_.getTypeSizeInBits(scev->getType()) >= kLeastIndexBits) return integer(scev, scope);
  auto fold = [&](Op op) {
    std::optional<Expression> all;
    for (auto* operand : llvm::cast<llvm::SCEVNAryExpr>(scev)->operands()) {
      Expression next = congruent(operand, scope);
      all = all ? Expression::binary(op, std::move(*all), std::move(next)) : std::move(next);
    }
    return *all;
  };
  switch (scev->getSCEVType()) {
    case llvm::scTruncate: return congruent(operand_of(scev), scope);
    case llvm::scAddExpr: return fold(Op::Add);
    case llvm::scMulExpr: return fold(Op::Multiply);
    default: return unwrapped_integer(scev, scope);
  }
}

Expression ValueReader::unwrapped_integer(const llvm::SCEV* scev, const llvm::Loop* scope) {
  auto fold = [&](Op op, bool is_unsigned = false) {
    auto operands = llvm::cast<llvm::SCEVNAryExpr>(scev)->operands();
    auto read = [&](const llvm::SCEV* operand) {
      return is_unsigned ? as_unsigned(operand, scope) : integer(operand, scope);
    };
    Expression all = read(operands[0]);
    for (auto* operand : operands.drop_front()) {
      Expression next = read(operand);
      all = Expression::binary(op, std::move(all), std::move(next));
    }
    return all;
  };
  switch (scev->getSCEVType()) {
    case llvm::scConstant: {
      auto& value = llvm::cast<llvm::SCEVConstant>(scev)->getAPInt();
      if (value.getSignificantBits() > 64) return unknown_term("a number that 64 bits do not hold", 0);
      return number(value.getSExtValue());
    }
    case llvm::scZeroExtend: return as_unsigned(operand_of(scev), scope);
    case llvm::scTruncate: return truncated(scev, scope);
    case llvm::scSignExtend:
    case llvm::scPtrToInt: return integer(operand_of(scev), scope);
    case llvm::scAddExpr: return fold(Op::Add);
    case llvm::scMulExpr: return fold(Op::Multiply);
    case llvm::scSMaxExpr: return fold(Op::Max);
    case llvm::scUMaxExpr: return fold(Op::Max, /*is_unsigned=*/true);
    case llvm::scSMinExpr: return fold(Op::Min);
    case llvm::scUMinExpr:
    case llvm::scSequentialUMinExpr: return fold(Op::Min, /*is_unsigned=*/true);
    case llvm::scUDivExpr: {
      auto* division = llvm::cast<llvm::SCEVUDivExpr>(scev);
      return as_unsigned(division->getLHS(), scope) / as_unsigned(division->getRHS(), scope);
    }
    case llvm::scAddRecExpr: {
      auto* recurrence = llvm::cast<llvm::SCEVAddRecExpr>(scev);
      if (!recurrence->isAffine() || !recurrence->getLoop()->contains(scope))
        return unknown_term("a value that changes from iteration to iteration",
                            line_of(*recurrence->getLoop()->getHeader()->getTerminator()));
      Expression start = integer(recurrence->getStart(), scope);
      Expression step = integer(recurrence->getStepRecurrence(evolution_), scope);
      Expression change = step.is_constant(1) ? counter(recurrence->getLoop()) : step * counter(recurrence->getLoop());
      return start.is_constant(0) ? change : start + change;
    }
    case llvm::scUnknown: {
      auto* value = llvm::cast<llvm::SCEVUnknown>(scev)->getValue();
      if (!value->getType()->isIntegerTy(1)) return own_value(value, scope);
      // As a signed number of one bit.
      return Expression::conditional(condition(value, scope), number(-1), number(0));
    }
    default: return unknown_term("a value", 0);
  }
}

/// A value that is no polynomial of others to scalar evolution.
Expression ValueReader::own_value(llvm::Value* value, const llvm::Loop* scope) {
  if (auto named = parameter(value); named && !value->getType()->isPointerTy()) return *named;
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
    if (auto where = position(*call)) return *where;
    return term(value, scope);
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || ++depth_ > kDeepestValue) {
    if (instruction) --depth_;
    return unknown_term("a value", 0);
  }
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};
  auto operand = [&](unsigned i) { return integer(instruction->getOperand(i), scope); };
  auto unsigned_operand = [&](unsigned i) { return as_unsigned(instruction->getOperand(i), scope); };
  auto* constant =
      instruction->getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1)) : nullptr;
  const int64_t by = constant && constant->getBitWidth() <= 64 ? constant->getSExtValue() : 0;
  switch (instruction->getOpcode()) {
    case llvm::Instruction::SDiv: {
      Expression dividend = operand(0);
      return std::move(dividend) / operand(1);
    }
    case llvm::Instruction::UDiv: {
      Expression dividend = unsigned_operand(0);
      return std::move(dividend) / unsigned_operand(1);
    }
    case llvm::Instruction::SRem: {
      Expression dividend = operand(0);
      return Expression::binary(Op::Remainder, std::move(dividend), operand(1));
    }
    case llvm::Instruction::URem: {
      Expression dividend = unsigned_operand(0);
      return Expression::binary(Op::Remainder, std::move(dividend), unsigned_operand(1));
    }
    case llvm::Instruction::AShr:
      if (constant && holds_high_bits(instruction->getOperand(0), by))
        return low_bits(Expression::binary(Op::ShiftRight, operand(0), number(by)), constant->getBitWidth() - by);
      if (constant) return Expression::binary(Op::ShiftRight, operand(0), number(by));
      break;
    case llvm::Instruction::LShr:
      if (constant && holds_high_bits(instruction->getOperand(0), by))
        return Expression::binary(Op::BitAnd, Expression::binary(Op::ShiftRight, operand(0), number(by)),
                                  number((int64_t(1) << (constant->getBitWidth() - by)) - 1));
      if (constant) return Expression::binary(Op::ShiftRight, unsigned_operand(0), number(by));
      break;
    case llvm::Instruction::And:
      if (constant) return Expression::binary(Op::BitAnd, operand(0), number(by));
      break;
    case llvm::Instruction::Freeze: {
      auto* kept = llvm::dyn_cast<llvm::Instruction>(instruction->getOperand(0));
      return kept && is_kept(*kept) ? kept_value(*kept, scope) : operand(0);
    }
    case llvm::Instruction::PHI:
      if (auto merged = merged_value(llvm::cast<llvm::PHINode>(*instruction), scope)) return *merged;
      break;
    case llvm::Instruction::Select: {
      auto& select = llvm::cast<llvm::SelectInst>(*instruction);
      Expression chosen = condition(select.getCondition(), scope), then = integer(select.getTrueValue(), scope);
      return Expression::conditional(std::move(chosen), std::move(then), integer(select.getFalseValue(), scope));
    }
    case llvm::Instruction::ZExt:
      if (instruction->getOperand(0)->getType()->isIntegerTy(1)) {
        Expression chosen = condition(instruction->getOperand(0), scope);
        return Expression::conditional(std::move(chosen), number(1), number(0));
      }
      return unsigned_operand(0);
    case llvm::Instruction::SExt:
      if (instruction->getOperand(0)->getType()->isIntegerTy(1)) {
        Expression chosen = condition(instruction->getOperand(0), scope);
        return Expression::conditional(std::move(chosen), number(-1), number(0));
      }
      return operand(0);
    default: break;
  }
  return term(value, scope);
}

/// The value of a variable where branches meet, by the condition under which each was taken; nullopt: the branches are
/// those of a loop that is over or goes on.
std::optional<Expression> ValueReader::merged_value(llvm::PHINode& phi, const llvm::Loop* scope) {
  auto* block = phi.getParent();
  auto* loop = loops_.getLoopFor(block);
  if ((loop && (loop->getHeader() == block || !scope || !loop->contains(scope))) || phi.getNumIncomingValues() > 4)
    return std::nullopt;
  std::optional<Expression> merged;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    auto* from = phi.getIncomingBlock(i);
    if (loops_.getLoopFor(from) != loop) return std::nullopt;
    Expression value = integer(phi.getIncomingValue(i), loop);
    merged = merged ? Expression::conditional(arrives(from, block), std::move(value), *merged) : std::move(value);
  }
  if (!merged || merged->size() > kLargestExpression) return std::nullopt;
  return merged;
}

Expression ValueReader::is_zero(llvm::Value* value, const llvm::Loop* scope) {
  auto* instruction = llvm::dyn_cast<llvm::BinaryOperator>(value);
  const bool joined = instruction && instruction->getOpcode() == llvm::Instruction::Or;
  if (!joined || depth_ > kDeepestValue) return Expression::binary(Op::Equal, integer(value, scope), number(0));
  ++depth_;
  Expression zero = both(is_zero(instruction->getOperand(0), scope), is_zero(instruction->getOperand(1), scope));
  --depth_;
  return zero;
}

Expression ValueReader::comparison(llvm::ICmpInst& compare, const llvm::Loop* scope) {
  if (!compare.getOperand(0)->getType()->isIntegerTy()) return term(&compare, scope);
  auto* against = llvm::dyn_cast<llvm::ConstantInt>(compare.getOperand(1));
  if (against && against->isZero() && compare.isEquality()) {
    Expression zero = is_zero(compare.getOperand(0), scope);
    return compare.getPredicate() == llvm::ICmpInst::ICMP_EQ ? zero : negation(zero);
  }
  Expression a = integer(compare.getOperand(0), scope), b = integer(compare.getOperand(1), scope);
  for (int64_t low : {24, 16}) {
    auto* bound = llvm::dyn_cast<llvm::ConstantInt>(compare.getOperand(1));
    if (!bound || !holds_high_bits(compare.getOperand(0), low)) continue;
    if (bound->getValue().countTrailingZeros() < low) return term(&compare, scope);
    a = low_bits(Expression::binary(Op::ShiftRight, std::move(a), number(low)), 32 - low);
    b = number(bound->getSExtValue() >> low);
    break;
  }
  auto of = [&](Op op) { return Expression::binary(op, a, b); };
  auto predicate = compare.getPredicate();
  if (compare.isUnsigned()) {
    auto not_negative = [&](unsigned i) {
      return is_not_negative(i == 0 ? a : b) ||
             evolution_.isKnownNonNegative(evolution_.getSCEVAtScope(evolution_.getSCEV(compare.getOperand(i)), scope));
    };
    const Expression zero = number(0);
    const bool a_fine = not_negative(0), b_fine = not_negative(1);
    Expression plain = of(predicate == llvm::ICmpInst::ICMP_ULT   ? Op::Less
                          : predicate == llvm::ICmpInst::ICMP_ULE ? Op::LessEqual
                          : predicate == llvm::ICmpInst::ICMP_UGT ? Op::Greater
                                                                  : Op::GreaterEqual);
    if (a_fine && b_fine) return plain;
    // A negative number is larger than all others when it is read as unsigned.
    const bool less = predicate == llvm::ICmpInst::ICMP_ULT || predicate == llvm::ICmpInst::ICMP_ULE;
    Expression same = Expression::binary(Op::Equal, Expression::binary(Op::GreaterEqual, a, zero),
                                         Expression::binary(Op::GreaterEqual, b, zero));
    Expression larger_is_negative = Expression::binary(Op::Less, less ? b : a, zero);
    if (a_fine || b_fine) {
      const Expression& other = a_fine ? b : a;
      const bool negative_holds = a_fine == less;  // 0 <= a < huge b; huge a > b >= 0.
      Expression negative = Expression::binary(Op::Less, other, zero);
      return negative_holds ? either(std::move(negative), std::move(plain))
                            : both(negation(negative), std::move(plain));
    }
    return Expression::conditional(std::move(same), std::move(plain), std::move(larger_is_negative));
  }
  switch (predicate) {
    case llvm::ICmpInst::ICMP_EQ: return of(Op::Equal);
    case llvm::ICmpInst::ICMP_NE: return of(Op::NotEqual);
    case llvm::ICmpInst::ICMP_SLT: return of(Op::Less);
    case llvm::ICmpInst::ICMP_SLE: return of(Op::LessEqual);
    case llvm::ICmpInst::ICMP_SGT: return of(Op::Greater);
    default: return of(Op::GreaterEqual);
  }
}

Expression ValueReader::condition(llvm::Value* value, const llvm::Loop* scope) {
  return once(conditions_, value, scope, [&] {
    Expression made = compute_condition(value, scope);
    return made.size() > kLargestExpression
               ? Expression::binary(Op::NotEqual, unknown_term("a long condition", 0), number(0))
               : made;
  });
}

Expression ValueReader::compute_condition(llvm::Value* value, const llvm::Loop* scope) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return number(constant->isZero() ? 0 : 1);
  if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(value)) return comparison(*compare, scope);
  if (llvm::isa<llvm::Argument>(value)) return Expression::binary(Op::NotEqual, *parameter(value), number(0));
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth_ > kDeepestValue) return unknown_term("a condition", 0);
  struct Nest {
    int& depth;
    explicit Nest(int& d) : depth(d) { ++depth; }
    ~Nest() { --depth; }
  } nest(depth_);
  auto operand = [&](unsigned i) { return condition(instruction->getOperand(i), scope); };
  switch (instruction->getOpcode()) {
    case llvm::Instruction::And: return both(operand(0), operand(1));
    case llvm::Instruction::Or: return either(operand(0), operand(1));
    case llvm::Instruction::Xor: {
      Expression a = operand(0), b = operand(1);
      if (b.is_constant(1)) return negation(a);
      return either(both(a, negation(b)), both(negation(a), b));
    }
    case llvm::Instruction::Freeze: return operand(0);
    case llvm::Instruction::PHI:
      if (auto merged = merged_value(llvm::cast<llvm::PHINode>(*instruction), scope))
        return Expression::binary(Op::NotEqual, *merged, number(0));
      return Expression::binary(Op::NotEqual, term(value, scope), number(0));
    case llvm::Instruction::Select: {
      Expression chosen = operand(0);
      return either(both(chosen, operand(1)), both(negation(chosen), operand(2)));
    }
    case llvm::Instruction::Trunc:
      return Expression::binary(Op::NotEqual,
                                Expression::binary(Op::BitAnd, integer(instruction->getOperand(0), scope), number(1)),
                                number(0));
    default: return Expression::binary(Op::NotEqual, term(value, scope), number(0));
  }
}

}  // namespace kernelift
