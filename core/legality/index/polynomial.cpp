// See polynomial.h.
#include "core/legality/index/polynomial.h"

#include <algorithm>

namespace kernelift::legality {
namespace {

constexpr size_t kMostProducts = 64;

using Op = Expression::Op;

std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b, int64_t factor) {
  Polynomial result = a;
  for (auto& [factors, coefficient] : b.products()) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(coefficient, factor, &scaled) || !result.add(factors, scaled)) return std::nullopt;
  }
  return result;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (auto& [left, x] : a.products())
    for (auto& [right, y] : b.products()) {
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(x, y, &coefficient)) return std::nullopt;
      Polynomial::Factors factors;
      std::ranges::merge(left, right, std::back_inserter(factors));
      if (!result.add(factors, coefficient) || result.products().size() > kMostProducts) return std::nullopt;
    }
  return result;
}

}  // namespace

bool has_position(const Expression& expression) {
  return std::ranges::any_of(expression.variables(), [](auto& variable) {
    return variable.starts_with("tid.") || variable.starts_with("bid.") || variable.starts_with("loop.") ||
           variable.starts_with("term.");
  });
}

Polynomial::Polynomial(int64_t constant) {
  if (constant != 0) products_[{}] = constant;
}

bool Polynomial::add(const Factors& factors, int64_t coefficient) {
  auto& there = products_[factors];
  if (__builtin_add_overflow(there, coefficient, &there)) return false;
  if (there == 0) products_.erase(factors);
  return true;
}

/// a / b * b + a % b is a: a row and a column that were computed from a position give it back.
void Polynomial::join_remainders() {
  for (auto& [factors, coefficient] : std::map(products_)) {
    for (auto& text : factors) {
      if (Expression::is_name(text)) continue;
      Expression remainder = factor(text);
      if (remainder.op() != Op::Remainder) continue;
      const Expression &a = remainder.operands()[0], &b = remainder.operands()[1];
      auto divisor = of(b), dividend = of(a);
      if (!divisor || !dividend || divisor->products_.size() != 1) continue;
      Factors rest = factors;
      rest.erase(std::ranges::find(rest, text));
      auto& [divided_by, scale] = *divisor->products_.begin();
      Factors quotient = rest, with_divisor;
      quotient.insert(std::ranges::upper_bound(quotient, (a / b).text()), (a / b).text());
      std::ranges::merge(quotient, divided_by, std::back_inserter(with_divisor));
      auto found = products_.find(with_divisor);
      int64_t whole = 0;
      if (__builtin_mul_overflow(coefficient, scale, &whole) || found == products_.end() || found->second != whole ||
          !products_.contains(factors))
        continue;
      Polynomial joined = *this;
      joined.products_.erase(with_divisor), joined.products_.erase(factors);
      Polynomial others;
      others.products_[rest] = coefficient;
      auto product_of = product(others, *dividend);
      auto total = product_of ? sum(joined, *product_of, 1) : std::nullopt;
      if (total) *this = std::move(*total);
      break;
    }
  }
}

std::optional<Polynomial> Polynomial::minus(const Polynomial& other) const { return sum(*this, other, -1); }

std::optional<Polynomial> Polynomial::of(const Expression& expression) {
  if (auto constant = expression.as_constant()) return Polynomial(*constant);
  const Op op = expression.op();
  if (op == Op::Add || op == Op::Subtract || op == Op::Multiply) {
    auto left = of(expression.operands()[0]), right = of(expression.operands()[1]);
    if (!left || !right) return std::nullopt;
    auto result = op == Op::Multiply ? product(*left, *right) : sum(*left, *right, op == Op::Add ? 1 : -1);
    if (result) result->join_remainders();
    return result;
  }
  if (op == Op::Negate) {
    auto operand = of(expression.operands()[0]);
    return operand ? sum(Polynomial(0), *operand, -1) : std::nullopt;
  }
  if (op == Op::ShiftLeft)
    if (auto by = expression.operands()[1].as_constant(); by && *by >= 0 && *by < 62) {
      auto operand = of(expression.operands()[0]);
      return operand ? product(*operand, Polynomial(int64_t(1) << *by)) : std::nullopt;
    }
  Polynomial single;
  single.products_[{expression.text()}] = 1;
  return single;
}

Expression Polynomial::factor(const std::string& text) {
  auto parsed = Expression::parse(text);
  return parsed.ok() ? *parsed : Expression::variable("term.unreadable");
}

}  // namespace kernelift::legality
