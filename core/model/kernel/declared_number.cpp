// See declared_number.h. Numbers of 64 bits without a sign have no constants beyond the largest signed one, so all
// limits are written as the last number below them.
#include "core/model/kernel/declared_number.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/model/element.h"

namespace kernelift {
namespace {

using Op = Expression::Op;

/// `variable op number`, in that order.
struct Comparison {
  std::string variable;
  Op op = Op::Equal;
  int64_t number = 0;
};

std::optional<Comparison> as_comparison(const Expression& node) {
  if (node.operands().size() != 2) return std::nullopt;
  auto &a = node.operands()[0], &b = node.operands()[1];
  if (a.as_variable() && b.as_constant()) return Comparison{*a.as_variable(), node.op(), *b.as_constant()};
  if (!a.as_constant() || !b.as_variable()) return std::nullopt;
  auto turned = [](Op op) {
    switch (op) {
      case Op::Less: return Op::Greater;
      case Op::LessEqual: return Op::GreaterEqual;
      case Op::Greater: return Op::Less;
      case Op::GreaterEqual: return Op::LessEqual;
      default: return op;
    }
  };
  return Comparison{*b.as_variable(), turned(node.op()), *a.as_constant()};
}

/// Whether the comparison asks for the sign: true, that there is none.
std::optional<bool> asks_for_sign(const Comparison& one) {
  if ((one.op == Op::GreaterEqual && one.number == 0) || (one.op == Op::Greater && one.number == -1)) return true;
  if ((one.op == Op::Less && one.number == 0) || (one.op == Op::LessEqual && one.number == -1)) return false;
  return std::nullopt;
}

/// The variable of which the node asks whether the lowest bits are 0.
const std::string* lowest_bits_of(const Expression& node) {
  if ((node.op() != Op::Equal && node.op() != Op::NotEqual) || !node.operands()[1].is_constant(0)) return nullptr;
  auto& rest = node.operands()[0];
  if (rest.op() != Op::Remainder) return nullptr;
  auto divisor = rest.operands()[1].as_constant();
  const bool power = divisor && *divisor > 0 && std::has_single_bit(static_cast<uint64_t>(*divisor));
  return power ? rest.operands()[0].as_variable() : nullptr;
}

/// Whether `variable` has no sign.
Expression has_no_sign(const std::string& variable, unsigned bits, bool wanted = true) {
  const int64_t largest = static_cast<int64_t>(~uint64_t(0) >> (65 - bits));
  const Expression name = Expression::variable(variable);
  if (bits >= 64) return Expression::binary(wanted ? Op::LessEqual : Op::Greater, name, Expression::constant(largest));
  return Expression::binary(wanted ? Op::Less : Op::GreaterEqual, name, Expression::constant(largest + 1));
}

/// A conjunction or disjunction without operands that are constant.
Expression joined(Op op, const Expression& a, const Expression& b) {
  const bool decides = op == Op::Or;
  for (auto& [one, other] : {std::pair(a, b), std::pair(b, a)})
    if (auto value = one.as_constant()) return (*value != 0) == decides ? Expression::constant(decides) : other;
  return Expression::binary(op, a, b);
}

/// The condition says that the parameter is no larger than a number that has no sign. What a launch knows of members
/// is not their type: of them the sign is asked.
bool is_bounded(const Expression& condition, const std::string& name, unsigned bits) {
  if (condition.op() == Op::And)
    return std::ranges::any_of(condition.operands(), [&](auto& one) { return is_bounded(one, name, bits); });
  const auto compared = as_comparison(condition);
  const bool member = name.find('.') != name.rfind('.');
  return compared && compared->variable == name && !member && compared->number >= 0 &&
         (compared->op == Op::Less || compared->op == Op::LessEqual) &&
         compared->number <= static_cast<int64_t>(~uint64_t(0) >> (65 - bits));
}

class Translation {
 public:
  explicit Translation(const std::map<std::string, DeclaredNumber>& declared) : declared_(declared) {}

  Expression of(const Expression& condition) {
    read(condition);
    Expression all = written(condition);
    for (auto& name : without_sign_)
      if (const unsigned bits = declared_.at(name).bits; !is_bounded(all, name, bits))
        all = joined(Op::And, has_no_sign(name, bits), all);
    return all;
  }

 private:
  bool is_unsigned(const std::string& name) const {
    auto found = declared_.find(name);
    return found != declared_.end() && found->second.is_unsigned;
  }

  /// Notes of which variables more counts than can be asked for each of their values.
  void read(const Expression& node) {
    if (auto* name = node.as_variable(); name && is_unsigned(*name)) without_sign_.insert(*name);
    const auto compared = as_comparison(node);
    if ((compared && asks_for_sign(*compared)) || lowest_bits_of(node)) return;
    for (auto& operand : node.operands()) read(operand);
  }

  Expression written(const Expression& node) const {
    if (node.op() == Op::And || node.op() == Op::Or)
      return joined(node.op(), written(node.operands()[0]), written(node.operands()[1]));
    return node.rewritten([&](const Expression& part) -> std::optional<Expression> {
      if (&part != &node && (part.op() == Op::And || part.op() == Op::Or)) return written(part);
      const auto compared = as_comparison(part);
      const auto asked = compared && is_unsigned(compared->variable) ? asks_for_sign(*compared) : std::nullopt;
      if (!asked) return std::nullopt;
      if (without_sign_.contains(compared->variable)) return Expression::constant(*asked);
      return has_no_sign(compared->variable, declared_.at(compared->variable).bits, *asked);
    });
  }

  const std::map<std::string, DeclaredNumber>& declared_;
  std::set<std::string> without_sign_;  ///< Variables that the condition takes to have none.
};

}  // namespace

std::optional<DeclaredNumber> DeclaredNumber::of(std::string_view type) {
  const ElementType element = ElementType::parse(type);
  using Kind = ElementType::Kind;
  if (element.kind != Kind::Signed && element.kind != Kind::Unsigned && element.kind != Kind::Bool) return std::nullopt;
  return DeclaredNumber{8 * element.width, element.kind == Kind::Unsigned};
}

int64_t DeclaredNumber::as_signed(int64_t value) const {
  const unsigned unused = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

int64_t as_models_read(std::string_view type, int64_t value) {
  const auto declared = DeclaredNumber::of(type);
  return declared ? declared->as_signed(value) : value;
}

std::optional<Expression> over_declared(const Expression& condition,
                                        const std::map<std::string, DeclaredNumber>& declared) {
  for (auto& name : condition.variables())
    if (name.starts_with("arg.") && !declared.contains(name)) return std::nullopt;
  return Translation(declared).of(condition);
}

}  // namespace kernelift
