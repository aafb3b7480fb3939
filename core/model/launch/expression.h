// Integer expressions over named variables: launch geometry ("(n + BLOCK - 1) / BLOCK"), constraints
// ("bx * by <= 1024") and scratch sizes. C semantics on int64: + - * / % << >> & | ^ ~ ! && || ?: and comparisons, plus
// min, max and ceil_div. Division by zero, overflow and an unbound variable are Errors, never a value.
//
// An expression is an immutable tree; copies share it. Text is parsed once, where it comes in: from an artefact, a
// launch site, a model's answer. All other code builds, matches and substitutes nodes.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

using Bindings = std::map<std::string, int64_t, std::less<>>;
struct Quotient;

class Expression {
 public:
  enum class Op : uint8_t {
    // No operands.
    Constant,
    Variable,
    // One operand: - ! ~
    Negate,
    Not,
    Complement,
    // Two operands.
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    LessEqual,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Less,
    Greater,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Min,
    Max,
    CeilDiv,
    // Three operands: condition, then, otherwise.
    Conditional,
  };

  Expression();  ///< The constant 0.
  static Expression constant(int64_t value);
  /// EXPECTS: is_name(name).
  static Expression variable(std::string name);
  /// The negation of a positive constant is a constant: "-5" is one node however it came about.
  static Expression unary(Op op, Expression operand);
  static Expression binary(Op op, Expression left, Expression right);
  static Expression conditional(Expression condition, Expression then, Expression otherwise);
  /// Parses C-like text. Casts to int and wider integer types are accepted and ignored, all others refused.
  /// parse(e.text()) is e for every e that parse() returned.
  static Result<Expression> parse(std::string_view text);
  /// Whether parse() reads the text as one variable: "n", "p.width", "cfg::tile".
  static bool is_name(std::string_view text);
  /// The operation that C spells so with two operands, "<<"; nullopt: none of this grammar.
  static std::optional<Op> binary_op(std::string_view spelling);

  Op op() const;
  std::span<const Expression> operands() const;
  size_t size() const;  ///< Nodes of the tree, a shared one as often as it occurs; at most the largest uint32_t.
  std::optional<int64_t> as_constant() const;
  bool is_condition() const;               ///< A comparison, or ! && || of some: its value is 0 or 1.
  const std::string* as_variable() const;  ///< The name; nullptr for all other nodes.
  bool is_constant(int64_t value) const { return as_constant() == value; }
  bool is_variable(std::string_view name) const { return as_variable() && *as_variable() == name; }
  /// The parts of `a / b` and ceil_div(a, b); nullopt where the last operation is another one.
  std::optional<Quotient> as_quotient() const;

  using Predicate = std::function<bool(const Expression&)>;
  /// The first node for which `wanted` holds, the root first, then its operands from left to right.
  std::optional<Expression> find(const Predicate& wanted) const;
  bool contains(Op op) const;
  bool uses(std::string_view name) const;
  bool uses_any(const std::set<std::string>& names) const;
  std::set<std::string> variables() const;

  /// The expression with every node for which `rule` returns another one replaced by that, from the root down; what is
  /// put in is not visited.
  Expression rewritten(const std::function<std::optional<Expression>(const Expression&)>& rule) const;
  Expression substitute(const std::map<std::string, Expression>& by) const;
  /// The expression over `divisor` where the division is known to leave no remainder; else nullopt. EXPECTS: divisor >
  /// 0.
  std::optional<Expression> divided_by(int64_t divisor) const;
  /// The expression with known values put in, constants folded, and divisions by constants shortened: `ceil_div(x * 16,
  /// 32)` becomes `ceil_div(x, 2)`. It has the same value wherever this one has a value.
  Expression simplified(const Bindings& known = {}) const;

  Result<int64_t> evaluate(const Bindings& bindings) const;
  /// Canonical text, with only the parentheses that it needs.
  std::string text() const;
  /// The same for people, a variable as `names` spells it: no text that parse() must accept.
  std::string text(const std::map<std::string, std::string>& names) const;
  /// Whether parse() accepts the text: false for trees that are larger or nested more deeply than any text it reads.
  bool reads_back() const;
  /// As C++: ceil_div, min and max written out, a variable as `names` spells it, in parentheses where it needs them.
  std::string cpp(const std::map<std::string, std::string>& names) const;
  bool operator==(const Expression& other) const;  ///< The same tree, which is the same text.

 private:
  struct Node;
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Expression made(Op op, int64_t value, std::string name, std::vector<Expression> operands);
  std::shared_ptr<const Node> node_;
};

/// `dividend / divisor`, or ceil_div of the two.
struct Quotient {
  Expression dividend, divisor;
  bool ceiling = false;  ///< ceil_div; otherwise only the dividend can make it round up: `n + D - 1`.
};

inline Expression operator+(Expression left, Expression right) {
  return Expression::binary(Expression::Op::Add, std::move(left), std::move(right));
}
inline Expression operator-(Expression left, Expression right) {
  return Expression::binary(Expression::Op::Subtract, std::move(left), std::move(right));
}
inline Expression operator*(Expression left, Expression right) {
  return Expression::binary(Expression::Op::Multiply, std::move(left), std::move(right));
}
inline Expression operator/(Expression left, Expression right) {
  return Expression::binary(Expression::Op::Divide, std::move(left), std::move(right));
}
inline Expression ceil_div(Expression dividend, Expression divisor) {
  return Expression::binary(Expression::Op::CeilDiv, std::move(dividend), std::move(divisor));
}

}  // namespace kernelift
