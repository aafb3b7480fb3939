// See index_terms.h.
#include "core/legality/index/index_terms.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/legality/index/polynomial.h"

namespace kernelift::legality {
namespace {

using Op = Expression::Op;

bool is_quotient(const Expression& expression) {
  return expression.op() == Op::Divide || expression.op() == Op::Remainder;
}

/// It divides what depends on the position by what is no number.
bool divides_by_parameters(const Expression& expression) {
  if (is_quotient(expression) && has_position(expression) && !expression.operands()[1].simplified().as_constant())
    return true;
  return std::ranges::any_of(expression.operands(), divides_by_parameters);
}

/// An expression with places for its arguments: "#" for each, in their order.
struct Form {
  std::string text;
  std::vector<Expression> arguments;
};

/// The launch's geometry, which differs between the sides of a comparison.
bool has_geometry(const Expression& expression) {
  return std::ranges::any_of(expression.variables(), [](auto& variable) {
    return variable.starts_with("ntid.") || variable.starts_with("nctaid.");
  });
}

std::optional<Form> form_of(const Expression& expression, int64_t unit);

/// A product of `times` and a quotient.
std::optional<Form> quotient(const std::string& times, const Expression& expression) {
  if (!is_quotient(expression) || has_position(expression.operands()[1])) return std::nullopt;
  auto dividend = form_of(expression.operands()[0], 1);
  const std::string divisor = expression.operands()[1].text();
  if (!dividend || has_geometry(expression.operands()[1])) return std::nullopt;
  const char* op = expression.op() == Op::Divide ? ") / (" : ") % (";
  return Form{times + "((" + dividend->text + op + divisor + "))", std::move(dividend->arguments)};
}

/// Sums of what is affine in the positions, by the product of parameters that they are multiplied with, and quotients.
std::optional<Form> form_of(const Expression& expression, int64_t unit) {
  const auto sum = Polynomial::of(expression);
  if (!sum) return std::nullopt;
  std::map<std::string, Expression> affine;
  std::vector<Form> parts;
  for (auto& [factors, coefficient] : sum->products()) {
    if (coefficient % unit != 0) return std::nullopt;
    std::string others;
    std::optional<Expression> position;
    Expression argument = Expression::constant(coefficient / unit);
    bool of_grid = false;
    for (auto& factor : factors) {
      const Expression parsed = Polynomial::factor(factor);
      const bool moves = has_position(parsed), geometry = !moves && has_geometry(parsed);
      if (moves && std::exchange(position, parsed)) return std::nullopt;
      of_grid |= geometry;
      // An iteration of a grid-stride loop is multiplied with the grid.
      if (moves || geometry) argument = argument * parsed;
      else others += "(" + factor + ") * ";
    }
    if (position && divides_by_parameters(*position)) {
      auto part = quotient(std::to_string(coefficient / unit) + " * " + others, *position);
      if (!part || of_grid) return std::nullopt;
      parts.push_back(std::move(*part));
      continue;
    }
    auto [known, fresh] = affine.try_emplace(others, argument);
    if (!fresh) known->second = known->second + argument;
  }
  std::ranges::sort(parts, {}, &Form::text);
  Form form;
  for (auto& [others, argument] : affine) {
    form.text += (form.text.empty() ? "" : " + ") + others + "#";
    form.arguments.push_back(argument);
  }
  for (auto& part : parts) {
    form.text += (form.text.empty() ? "" : " + ") + part.text;
    form.arguments.insert(form.arguments.end(), part.arguments.begin(), part.arguments.end());
  }
  return form;
}

class Rewriter {
 public:
  explicit Rewriter(const KernelModel& model) : model_(model) {}

  std::optional<KernelModel> run() {
    for (auto& access : model_.accesses) replace(access.offset, access.bytes, access.line);
    for (size_t i = 0, given = model_.terms.size(); i < given; ++i)
      for (size_t k = 0; k < model_.terms[i].arguments.size(); ++k) {
        Expression argument = model_.terms[i].arguments[k];
        if (replace(argument, 1, model_.terms[i].line)) model_.terms[i].arguments[k] = argument;
      }
    return changed_ ? std::optional(std::move(model_)) : std::nullopt;
  }

 private:
  /// True if `expression`, a number of bytes for an access of that width, is now made of a term.
  bool replace(Expression& expression, unsigned bytes, unsigned line) {
    if (!divides_by_parameters(expression)) return false;
    for (unsigned unit : {std::max(bytes, 1u), 1u}) {
      auto form = form_of(expression, unit);
      if (!form) continue;
      const Expression index = term(std::move(*form), line);
      expression = unit == 1 ? index : Expression::constant(unit) * index;
      return changed_ = true;
    }
    return false;
  }

  Expression term(Form form, unsigned line) {
    TermValue value{.kind = TermValue::Kind::Operation, .what = "index " + form.text};
    auto known = std::ranges::find_if(model_.terms, [&](auto& one) {
      return one.value == value && std::ranges::equal(one.arguments, form.arguments);
    });
    if (known != model_.terms.end()) return Expression::variable(known->name);
    std::string name = "term.i" + std::to_string(model_.terms.size());
    model_.terms.push_back({name, std::move(value), std::move(form.arguments), true, line});
    return Expression::variable(std::move(name));
  }

  KernelModel model_;
  bool changed_ = false;
};

}  // namespace

std::optional<KernelModel> with_index_terms(const KernelModel& model) { return Rewriter(model).run(); }

}  // namespace kernelift::legality
