// See rounding_up.h.
#include "core/model/launch/rounding_up.h"

#include <set>
#include <string>
#include <vector>

#include "core/model/kernel/kernel_model.h"

namespace kernelift {
namespace {

using Op = Expression::Op;

/// If no variable is negative.
bool is_not_negative(const Expression& expression) {
  std::set<std::string> parameters;
  return never_negative(expression, &parameters);
}

/// `left - right`, where the one is a sum that the other is a part of.
std::optional<Expression> without(const Expression& left, const Expression& right) {
  if (left == right) return Expression::constant(0);
  auto number = left.as_constant(), part = right.as_constant();
  if (number && part && *number >= *part && *part >= 0) return Expression::constant(*number - *part);
  if (left.op() != Op::Add && left.op() != Op::Subtract) return std::nullopt;
  for (size_t which = 0; which < (left.op() == Op::Add ? 2u : 1u); ++which)
    if (auto rest = without(left.operands()[which], right)) {
      auto& other = left.operands()[1 - which];
      return (left.op() == Op::Add ? *rest + other : *rest - other).simplified();
    }
  return std::nullopt;
}

/// x of `x + D - 1`, in any order: it is rounded up to multiples of D.
std::optional<Expression> rounded_up(const Expression& dividend, const Expression& divisor) {
  auto without_divisor = [&]() -> std::optional<Expression> {
    if (auto number = divisor.as_constant()) {
      if (*number <= 1) return std::nullopt;
      if (auto rest = without(dividend, Expression::constant(*number - 1))) return rest;
    }
    auto rest = without(dividend, divisor);
    return rest ? std::optional((*rest + Expression::constant(1)).simplified()) : std::nullopt;
  };
  auto rest = without_divisor();
  return rest && is_not_negative(*rest) ? rest : std::nullopt;
}

Expression by_one_division(Expression node) {
  auto quotient = node.as_quotient();
  if (quotient && !quotient->ceiling)
    if (auto number = rounded_up(quotient->dividend, quotient->divisor)) {
      node = ceil_div(*number, quotient->divisor);
      quotient = node.as_quotient();
    }
  auto inner = quotient ? quotient->dividend.as_quotient() : std::nullopt;
  if (!inner || inner->ceiling != quotient->ceiling || !is_not_negative(inner->dividend) ||
      !is_not_negative(inner->divisor) || !is_not_negative(quotient->divisor))
    return node;
  return Expression::binary(node.op(), inner->dividend, inner->divisor * quotient->divisor);
}

}  // namespace

Expression rounded_up_once(const Expression& expression) {
  std::vector<Expression> parts;
  for (auto& operand : expression.operands()) parts.push_back(rounded_up_once(operand));
  if (parts.size() == 2) return by_one_division(Expression::binary(expression.op(), parts[0], parts[1])).simplified();
  if (parts.size() == 3) return Expression::conditional(parts[0], parts[1], parts[2]);
  return parts.empty() ? expression : Expression::unary(expression.op(), parts[0]);
}

size_t divisions(const Expression& expression) {
  size_t count = expression.as_quotient() ? 1 : 0;
  for (auto& operand : expression.operands()) count += divisions(operand);
  return count;
}

}  // namespace kernelift
