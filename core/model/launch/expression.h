// Integer expressions over named variables: launch geometry ("(n + BLOCK - 1) / BLOCK"), constraints
// ("bx * by <= 1024") and scratch sizes. C syntax and C semantics on int64: + - * / % << >> & | ^ ~ ! && || ?: and
// comparisons, plus min, max and ceil_div. Division by zero, overflow and an unbound variable are Errors, never a
// value.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace kernelift {

using Bindings = std::map<std::string, int64_t, std::less<>>;

class Expression {
 public:
  struct Node;

  Expression();  ///< The constant 0.
  static Expression constant(int64_t value);
  /// Parses C-like text; `where` names it in the error. Casts to int and wider integer types
  /// are accepted and ignored, all others refused.
  static Result<Expression> parse(std::string_view text);

  Result<int64_t> evaluate(const Bindings& bindings) const;
  std::set<std::string> variables() const;
  /// Text that parses back to the same expression, with only the parentheses that it needs.
  std::string text() const;
  /// As C++: ceil_div, min and max written out, a variable as `names` spells it, in brackets where it needs them.
  std::string cpp(const std::map<std::string, std::string>& names) const;
  /// With what is known put in and worked out: constants folded, `ceil_div(x * 16, 32)` as `ceil_div(x, 2)`. Has the
  /// same value wherever this has one.
  Expression simplified(const Bindings& known = {}) const;
  bool operator==(const Expression& other) const { return text() == other.text(); }

 private:
  explicit Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace kernelift
