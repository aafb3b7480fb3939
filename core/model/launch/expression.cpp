// Nodes of expressions: building, matching, evaluation and simplification; expression_text.cpp parses and prints them.
// Arithmetic is checked: a launch computed from a silently wrapped product would be a wrong launch.
#include "core/model/launch/expression.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace kernelift {

using Op = Expression::Op;

struct Expression::Node {
  Op op = Op::Constant;
  int64_t value = 0;  ///< Of a constant.
  std::string name;   ///< Of a variable.
  std::vector<Expression> operands;
  uint32_t size = 1;  ///< Nodes below and this one.
};

Expression Expression::made(Op op, int64_t value, std::string name, std::vector<Expression> operands) {
  uint64_t size = 1;
  for (auto& operand : operands) size += operand.node_->size;
  const auto most = std::numeric_limits<uint32_t>::max();
  return Expression(std::make_shared<const Node>(
      Node{op, value, std::move(name), std::move(operands), static_cast<uint32_t>(std::min<uint64_t>(size, most))}));
}

Expression::Expression() {
  static const auto zero = std::make_shared<const Node>();
  node_ = zero;
}
Expression Expression::constant(int64_t value) { return made(Op::Constant, value, {}, {}); }
Expression Expression::variable(std::string name) {
  KERNELIFT_ASSERT(is_name(name), "a variable has a name that can be parsed");
  return made(Op::Variable, 0, std::move(name), {});
}
Expression Expression::unary(Op op, Expression operand) {
  KERNELIFT_ASSERT(op >= Op::Negate && op <= Op::Complement, "an operation of one operand");
  if (auto value = operand.as_constant(); op == Op::Negate && value && *value > 0) return constant(-*value);
  return made(op, 0, {}, {std::move(operand)});
}
Expression Expression::binary(Op op, Expression left, Expression right) {
  KERNELIFT_ASSERT(op >= Op::Or && op <= Op::CeilDiv, "an operation of two operands");
  return made(op, 0, {}, {std::move(left), std::move(right)});
}
Expression Expression::conditional(Expression condition, Expression then, Expression otherwise) {
  return made(Op::Conditional, 0, {}, {std::move(condition), std::move(then), std::move(otherwise)});
}

Op Expression::op() const { return node_->op; }
std::span<const Expression> Expression::operands() const { return node_->operands; }
size_t Expression::size() const { return node_->size; }
bool Expression::is_condition() const {
  switch (op()) {
    case Op::Or:
    case Op::And:
    case Op::Not:
    case Op::Equal:
    case Op::NotEqual:
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual: return true;
    default: return false;
  }
}

std::optional<int64_t> Expression::as_constant() const {
  return op() == Op::Constant ? std::optional(node_->value) : std::nullopt;
}
const std::string* Expression::as_variable() const { return op() == Op::Variable ? &node_->name : nullptr; }
std::optional<Quotient> Expression::as_quotient() const {
  if (op() != Op::Divide && op() != Op::CeilDiv) return std::nullopt;
  return Quotient{operands()[0], operands()[1], op() == Op::CeilDiv};
}

std::optional<Expression> Expression::find(const Predicate& wanted) const {
  if (wanted(*this)) return *this;
  for (auto& operand : operands())
    if (auto found = operand.find(wanted)) return found;
  return std::nullopt;
}
bool Expression::contains(Op op) const {
  return find([op](auto& node) { return node.op() == op; }).has_value();
}
bool Expression::uses(std::string_view name) const {
  return find([name](auto& node) { return node.is_variable(name); }).has_value();
}
bool Expression::uses_any(const std::set<std::string>& names) const {
  return find([&](auto& node) { return node.as_variable() && names.contains(*node.as_variable()); }).has_value();
}
std::set<std::string> Expression::variables() const {
  std::set<std::string> names;
  find([&](auto& node) {
    if (auto* name = node.as_variable()) names.insert(*name);
    return false;
  });
  return names;
}

bool Expression::operator==(const Expression& other) const {
  if (node_ == other.node_) return true;
  return op() == other.op() && size() == other.size() && node_->value == other.node_->value &&
         node_->name == other.node_->name && std::ranges::equal(operands(), other.operands());
}

namespace {

/// `node` with other operands.
Expression with_operands(const Expression& node, std::vector<Expression> operands) {
  if (operands.size() == 1) return Expression::unary(node.op(), operands[0]);
  if (operands.size() == 2) return Expression::binary(node.op(), operands[0], operands[1]);
  return operands.empty() ? node : Expression::conditional(operands[0], operands[1], operands[2]);
}

Result<int64_t> apply(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  auto what = [&] { return Expression::binary(op, Expression::constant(a), Expression::constant(b)).text(); };
  auto checked = [&](bool overflows) -> Result<int64_t> {
    return overflows ? Result<int64_t>(usage_error("overflow in " + what())) : result;
  };
  switch (op) {
    case Op::Add: return checked(__builtin_add_overflow(a, b, &result));
    case Op::Subtract: return checked(__builtin_sub_overflow(a, b, &result));
    case Op::Multiply: return checked(__builtin_mul_overflow(a, b, &result));
    case Op::Divide:
    case Op::Remainder:
    case Op::CeilDiv:
      if (b == 0) return usage_error("division by zero in " + what());
      if (b == -1 && a == std::numeric_limits<int64_t>::min()) return checked(true);
      if (op == Op::Remainder) return a % b;
      return a / b + (op == Op::CeilDiv && a % b != 0 && ((a % b > 0) == (b > 0)));
    case Op::ShiftLeft:
    case Op::ShiftRight:
      if (b < 0 || b > 62 || a < 0) return checked(true);
      if (op == Op::ShiftRight) return a >> b;
      result = a << b;
      return checked(result >> b != a);
    case Op::Min: return std::min(a, b);
    case Op::Max: return std::max(a, b);
    case Op::BitAnd: return a & b;
    case Op::BitOr: return a | b;
    case Op::BitXor: return a ^ b;
    case Op::Less: return int64_t(a < b);
    case Op::Greater: return int64_t(a > b);
    case Op::LessEqual: return int64_t(a <= b);
    case Op::GreaterEqual: return int64_t(a >= b);
    case Op::Equal: return int64_t(a == b);
    default: KERNELIFT_ASSERT(op == Op::NotEqual, "an operation of two values"); return int64_t(a != b);
  }
}

Result<int64_t> value_of(const Expression& node, const Bindings& bindings) {
  auto operand = [&](size_t which) { return value_of(node.operands()[which], bindings); };
  switch (node.op()) {
    case Op::Constant: return *node.as_constant();
    case Op::Variable: {
      auto found = bindings.find(*node.as_variable());
      if (found == bindings.end()) return usage_error("'" + *node.as_variable() + "' has no value");
      return found->second;
    }
    case Op::Negate:
    case Op::Not:
    case Op::Complement: {
      KERNELIFT_ASSIGN(int64_t value, operand(0));
      if (node.op() == Op::Not) return int64_t(!value);
      return node.op() == Op::Complement ? Result<int64_t>(~value) : apply(Op::Subtract, 0, value);
    }
    case Op::Conditional: {
      KERNELIFT_ASSIGN(int64_t condition, operand(0));
      return operand(condition ? 1 : 2);
    }
    default: break;
  }
  KERNELIFT_ASSIGN(int64_t left, operand(0));
  const bool is_and = node.op() == Op::And, is_or = node.op() == Op::Or;
  if ((is_and && !left) || (is_or && left)) return int64_t(is_or);
  KERNELIFT_ASSIGN(int64_t right, operand(1));
  return is_and || is_or ? Result<int64_t>(int64_t(right != 0)) : apply(node.op(), left, right);
}

/// A number that divides the expression whatever its variables are: 0 for the constant 0, 1 where none is known.
int64_t known_divisor(const Expression& node) {
  auto of = [&](size_t which) { return known_divisor(node.operands()[which]); };
  int64_t product = 0;
  switch (node.op()) {
    case Op::Constant: {
      int64_t value = *node.as_constant();
      return value == std::numeric_limits<int64_t>::min() ? 1 : std::abs(value);
    }
    case Op::Negate: return of(0);
    case Op::Add:
    case Op::Subtract: return std::gcd(of(0), of(1));
    case Op::Multiply: return __builtin_mul_overflow(of(0), of(1), &product) ? of(1) : product;
    case Op::Conditional: return std::gcd(of(1), of(2));
    default: return 1;
  }
}

/// `x + (a + b)` for `x + a + b`, where either may be subtracted; nullopt: `sum` is no x + a.
std::optional<Expression> with_further(const Expression& sum, int64_t number) {
  const bool adds = sum.op() == Op::Add;
  auto own = adds || sum.op() == Op::Subtract ? sum.operands()[1].as_constant() : std::nullopt;
  int64_t all = 0;
  if (!own || *own == std::numeric_limits<int64_t>::min() ||
      __builtin_add_overflow(adds ? *own : -*own, number, &all) || all == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  auto& first = sum.operands()[0];
  if (all == 0) return first;
  return Expression::binary(all > 0 ? Op::Add : Op::Subtract, first, Expression::constant(std::abs(all)));
}

/// `a op b` of simplified operands.
Expression simplified_binary(Op op, Expression a, Expression b) {
  auto left = a.as_constant(), right = b.as_constant();
  if (left && right && op != Op::And && op != Op::Or)
    if (auto value = apply(op, *left, *right); value.ok()) return Expression::constant(*value);
  if (op == Op::And || op == Op::Or) {
    const bool settles = op == Op::Or;  // This truth value, on the left, is the result; the other one adds nothing.
    if (left && (*left != 0) == settles) return Expression::constant(settles);
    if (left && b.is_condition()) return b;
    if (right && (*right != 0) != settles && a.is_condition()) return a;
    if (left && right) return Expression::constant(*right != 0);
  }
  const bool divides = op == Op::Divide || op == Op::CeilDiv;
  if ((op == Op::Multiply || op == Op::Add) && left) std::swap(a, b), std::swap(left, right);
  if (op == Op::Multiply && right == 0) return b;
  if ((op == Op::Multiply || divides) && right == 1) return a;
  if ((op == Op::Add || op == Op::Subtract || op == Op::ShiftLeft || op == Op::ShiftRight) && right == 0) return a;
  if (right && *right != std::numeric_limits<int64_t>::min() && (op == Op::Add || op == Op::Subtract))
    if (auto sum = with_further(a, op == Op::Add ? *right : -*right)) return *sum;
  if (right && *right > 0 && (op == Op::Multiply || divides)) {
    // (x * 4) * 2, and ceil_div(ceil_div(x, 4), 2): division rounds the same way in one step as in two.
    auto inner = a.op() == op ? a.operands()[1].as_constant() : std::nullopt;
    int64_t product = 0;
    if (inner && *inner > 0 && !__builtin_mul_overflow(*inner, *right, &product))
      return Expression::binary(op, a.operands()[0], Expression::constant(product));
    if (int64_t common = divides ? std::gcd(known_divisor(a), *right) : 1; common > 1)
      if (auto part = a.divided_by(common)) return simplified_binary(op, *part, Expression::constant(*right / common));
  }
  return Expression::binary(op, std::move(a), std::move(b));
}

}  // namespace

Expression Expression::rewritten(const std::function<std::optional<Expression>(const Expression&)>& rule) const {
  if (auto other = rule(*this)) return *other;
  std::vector<Expression> changed;
  for (auto& operand : operands()) changed.push_back(operand.rewritten(rule));
  return std::ranges::equal(changed, operands()) ? *this : with_operands(*this, std::move(changed));
}

Expression Expression::substitute(const std::map<std::string, Expression>& by) const {
  return rewritten([&](const Expression& node) -> std::optional<Expression> {
    auto found = node.as_variable() ? by.find(*node.as_variable()) : by.end();
    return found == by.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<Expression> Expression::divided_by(int64_t divisor) const {
  KERNELIFT_ASSERT(divisor > 0, "a positive divisor");
  if (divisor == 1) return *this;
  if (auto value = as_constant()) return *value % divisor ? std::nullopt : std::optional(constant(*value / divisor));
  if (op() == Op::Multiply) {
    const int64_t common = std::gcd(known_divisor(operands()[0]), divisor);
    auto left = operands()[0].divided_by(common), right = operands()[1].divided_by(divisor / common);
    return left && right ? std::optional(simplified_binary(op(), *left, *right)) : std::nullopt;
  }
  if (op() != Op::Negate && op() != Op::Add && op() != Op::Subtract && op() != Op::Conditional) return std::nullopt;
  std::vector<Expression> parts;
  for (auto& operand : operands()) {
    const bool condition = op() == Op::Conditional && parts.empty();
    auto part = condition ? operand : operand.divided_by(divisor);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return parts.size() == 2 ? simplified_binary(op(), parts[0], parts[1]) : with_operands(*this, parts);
}

Expression Expression::simplified(const Bindings& known) const {
  if (auto* name = as_variable()) {
    auto found = known.find(*name);
    return found == known.end() ? *this : constant(found->second);
  }
  std::vector<Expression> parts;
  for (auto& operand : operands()) parts.push_back(operand.simplified(known));
  if (parts.size() == 2) return simplified_binary(op(), parts[0], parts[1]);
  if (op() == Op::Conditional && parts[0].as_constant()) return parts[parts[0].is_constant(0) ? 2 : 1];
  return with_operands(*this, std::move(parts));
}

Result<int64_t> Expression::evaluate(const Bindings& bindings) const {
  auto value = value_of(*this, bindings);
  if (!value.ok()) return std::move(value).error().in("cannot compute '" + text() + "'");
  return value;
}

}  // namespace kernelift
