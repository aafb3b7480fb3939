// See conditions.h.
#include "core/compiler/model/conditions.h"

namespace kernelift {

using Op = Expression::Op;

Expression number(int64_t value) { return Expression::constant(value); }
Expression both(Expression a, Expression b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (a.is_constant(0) || b.is_constant(0)) return number(0);
  return Expression::binary(Op::And, std::move(a), std::move(b));
}
Expression either(Expression a, Expression b) {
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  if (a.is_constant(1) || b.is_constant(1)) return number(1);
  return a == b ? a : Expression::binary(Op::Or, std::move(a), std::move(b));
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
