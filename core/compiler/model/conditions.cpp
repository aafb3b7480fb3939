// See conditions.h.
#include "core/compiler/model/conditions.h"

#include <algorithm>
#include <vector>

namespace kernelift {

using Op = Expression::Op;

namespace {

constexpr size_t kMostParts = 64;

Expression plain_both(Expression a, Expression b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (a.is_constant(0) || b.is_constant(0)) return number(0);
  return Expression::binary(Op::And, std::move(a), std::move(b));
}
Expression plain_either(Expression a, Expression b) {
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  if (a.is_constant(1) || b.is_constant(1)) return number(1);
  return a == b ? a : Expression::binary(Op::Or, std::move(a), std::move(b));
}

void add_parts(const Expression& condition, Op op, std::vector<Expression>& into) {
  if (condition.op() != op) return into.push_back(condition);
  for (auto& operand : condition.operands()) add_parts(operand, op, into);
}

/// What the condition joins by `op`; none where that is much.
std::vector<Expression> parts(const Expression& condition, Op op) {
  std::vector<Expression> all;
  add_parts(condition, op, all);
  if (all.size() > kMostParts) all.clear();
  return all;
}

/// The condition where all that is known holds: the ways to a block that early returns lead past repeat each other.
Expression given(const Expression& condition, const std::vector<Expression>& known) {
  if (condition.as_constant() || known.empty()) return condition;
  if (std::ranges::find(known, condition) != known.end()) return number(1);
  if (condition.op() == Op::And || condition.op() == Op::Or) {
    Expression first = given(condition.operands()[0], known), second = given(condition.operands()[1], known);
    return condition.op() == Op::And ? plain_both(std::move(first), std::move(second))
                                     : plain_either(std::move(first), std::move(second));
  }
  return std::ranges::find(known, negation(condition)) != known.end() ? number(0) : condition;
}

}  // namespace

Expression number(int64_t value) { return Expression::constant(value); }
Expression both(Expression a, Expression b) {
  b = given(b, parts(a, Op::And));
  return plain_both(std::move(a), std::move(b));
}
Expression either(Expression a, Expression b) {
  auto otherwise = parts(a, Op::Or);
  for (auto& part : otherwise) part = negation(part);
  b = given(b, otherwise);
  return plain_either(std::move(a), std::move(b));
}
Expression negation(const Expression& a) {
  if (auto value = a.as_constant()) return number(*value == 0);
  auto of = [&](Op op) { return Expression::binary(op, a.operands()[0], a.operands()[1]); };
  switch (a.op()) {
    case Op::Less: return of(Op::GreaterEqual);
    case Op::LessEqual: return of(Op::Greater);
    case Op::Greater: return of(Op::LessEqual);
    case Op::GreaterEqual: return of(Op::Less);
    case Op::Equal: return of(Op::NotEqual);
    case Op::NotEqual: return of(Op::Equal);
    case Op::Not: return a.operands()[0];
    case Op::And: return either(negation(a.operands()[0]), negation(a.operands()[1]));
    case Op::Or: return both(negation(a.operands()[0]), negation(a.operands()[1]));
    default: return Expression::binary(Op::Equal, a, number(0));
  }
}

}  // namespace kernelift
