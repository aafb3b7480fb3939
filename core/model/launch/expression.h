// Integer expressions over named variables: launch geometry ("(n + BLOCK - 1) / BLOCK"), constraints
// ("bx * by <= 1024") and scratch sizes. C syntax and C semantics on int64: + - * / % << >> & | ^ ~ ! && || ?: and
// comparisons, plus min, max and ceil_div. Division by zero, overflow and an unbound variable are Errors, never a value.
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

  Expression();                                   ///< The constant 0.
  static Expression constant(int64_t value);
  /// Parses C-like text; `where` names it in the error. Casts to int and wider integer types
  /// are accepted and ignored, all others refused.
  static Result<Expression> parse(std::string_view text);

  Result<int64_t> evaluate(const Bindings& bindings) const;
  std::set<std::string> variables() const;
  /// Text that parses back to the same expression, with only the parentheses that it needs.
  std::string text() const;
  bool operator==(const Expression& other) const { return text() == other.text(); }

 private:
  explicit Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace kernelift
