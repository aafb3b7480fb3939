// See premise.h. isl writes a set as C, and the tree of that becomes an Expression.
#include "core/legality/premise.h"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/set.h>
#include <isl/val.h>

namespace kernelift::legality {
namespace {

using Op = Expression::Op;

constexpr int64_t kLargestPeriod = 4096;

std::optional<Expression> convert(__isl_keep isl_ast_expr* expression, const Parameters& parameters) {
  switch (isl_ast_expr_get_type(expression)) {
    case isl_ast_expr_int: {
      isl_val* value = isl_ast_expr_get_val(expression);
      const bool whole = isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, 8) <= 1;
      const long number = whole ? isl_val_get_num_si(value) : 0;
      isl_val_free(value);
      return whole ? std::optional(Expression::constant(number)) : std::nullopt;
    }
    case isl_ast_expr_id: {
      isl_id* id = isl_ast_expr_get_id(expression);
      const std::string name = isl_id_get_name(id);
      isl_id_free(id);
      auto found = parameters.find(name);
      return found == parameters.end() ? std::nullopt : std::optional(found->second);
    }
    case isl_ast_expr_op: break;
    default: return std::nullopt;
  }
  std::vector<Expression> operands;
  for (int i = 0; i < isl_ast_expr_get_op_n_arg(expression); ++i) {
    isl_ast_expr* argument = isl_ast_expr_get_op_arg(expression, i);
    auto converted = convert(argument, parameters);
    isl_ast_expr_free(argument);
    if (!converted) return std::nullopt;
    operands.push_back(std::move(*converted));
  }
  auto fold = [&](Op op) {
    Expression all = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) all = Expression::binary(op, all, operands[i]);
    return std::optional(all);
  };
  switch (isl_ast_expr_get_op_type(expression)) {
    case isl_ast_op_and:
    case isl_ast_op_and_then: return fold(Op::And);
    case isl_ast_op_or:
    case isl_ast_op_or_else: return fold(Op::Or);
    case isl_ast_op_max: return fold(Op::Max);
    case isl_ast_op_min: return fold(Op::Min);
    case isl_ast_op_add: return fold(Op::Add);
    case isl_ast_op_sub: return fold(Op::Subtract);
    case isl_ast_op_mul: return fold(Op::Multiply);
    case isl_ast_op_minus: return Expression::unary(Op::Negate, operands[0]);
    case isl_ast_op_div:     // Without a remainder.
    case isl_ast_op_pdiv_q:  // Of a number that is not negative.
      return fold(Op::Divide);
    case isl_ast_op_pdiv_r:
    case isl_ast_op_zdiv_r: return fold(Op::Remainder);
    case isl_ast_op_fdiv_q: {
      // Rounded down; a division truncates.
      const Expression &a = operands[0], &b = operands[1];
      auto by = b.as_constant();
      if (!by || *by <= 0) return std::nullopt;
      Expression down = (a - Expression::constant(*by - 1)) / b;
      return Expression::conditional(Expression::binary(Op::GreaterEqual, a, Expression::constant(0)), a / b, down);
    }
    case isl_ast_op_cond:
    case isl_ast_op_select: return Expression::conditional(operands[0], operands[1], operands[2]);
    case isl_ast_op_eq: return fold(Op::Equal);
    case isl_ast_op_le: return fold(Op::LessEqual);
    case isl_ast_op_lt: return fold(Op::Less);
    case isl_ast_op_ge: return fold(Op::GreaterEqual);
    case isl_ast_op_gt: return fold(Op::Greater);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Expression> as_expression(const isl::set& set, const isl::set& context, const Parameters& parameters) {
  isl::set plain = set.gist_params(context).coalesce();
  if (plain.is_null()) return std::nullopt;
  isl_ast_build* build = isl_ast_build_from_context(context.copy());
  isl_ast_expr* expression = isl_ast_build_expr_from_set(build, plain.release());
  std::optional<Expression> converted;
  if (expression) converted = convert(expression, parameters);
  isl_ast_expr_free(expression);
  isl_ast_build_free(build);
  return converted;
}

isl::set likely_part(const isl::set& set) {
  constexpr int kFar = 1 << 30;
  isl::set likely = isl::manage(isl_set_empty(isl_set_get_space(set.get())));
  const isl::stat all = set.foreach_basic_set([&](isl::basic_set part) {
    isl::set near = isl::set(part);
    for (int i = 0, count = isl_set_dim(set.get(), isl_dim_param); i < count; ++i) {
      near = isl::manage(isl_set_upper_bound_si(near.release(), isl_dim_param, i, kFar));
      near = isl::manage(isl_set_lower_bound_si(near.release(), isl_dim_param, i, -kFar));
    }
    const isl::boolean none = near.is_empty();
    if (none.is_error()) return isl::stat::error();
    if (none.is_false()) likely = likely.unite(isl::set(part));
    return isl::stat::ok();
  });
  return all.is_error() || likely.is_null() || !likely.is_empty().is_false() ? set : likely.coalesce();
}

std::optional<Expression> remainder_premise(const isl::set& set, const isl::set& context,
                                            const Parameters& parameters) {
  // The one parameter that decides.
  isl::set plain = set.gist_params(context);
  const isl::set bad = context.subtract(set);
  std::string name;
  for (int i = 0, count = isl_set_dim(plain.get(), isl_dim_param); i < count; ++i) {
    if (isl_set_involves_dims(plain.get(), isl_dim_param, i, 1) != isl_bool_true) continue;
    if (!name.empty()) return std::nullopt;
    name = isl_set_get_dim_name(plain.get(), isl_dim_param, i);
  }
  auto found = parameters.find(name);
  if (found == parameters.end()) return std::nullopt;
  const Expression& value = found->second;
  for (int64_t period = 2; period <= kLargestPeriod; period *= 2) {
    const std::string size = std::to_string(period);
    isl::set some(set.ctx(), "[" + name + "] -> { [r] : 0 <= r < " + size + " and exists q : " + name + " = " + size +
                                 " * q + r }");
    const int place = isl_set_find_dim_by_name(some.get(), isl_dim_param, name.c_str());
    isl::set wrong = some.intersect_params(bad);
    if (wrong.is_null() || place < 0) return std::nullopt;
    isl_set* remainders = isl_set_project_out(wrong.copy(), isl_dim_param, 0, isl_set_dim(wrong.get(), isl_dim_param));
    isl::set all(set.ctx(), "{ [r] : 0 <= r < " + size + " }");
    isl::set right = all.subtract(isl::manage(remainders)).coalesce();
    if (right.is_null()) return std::nullopt;
    if (right.is_empty().is_true()) continue;
    // One interval, or 0 and one that ends the period: the numbers from `first` on, counted from 1.
    auto is = [&](const std::string& text) { return right.is_equal(isl::set(set.ctx(), text)).is_true(); };
    if (is("{ [0] }"))
      return Expression::binary(Op::Equal, Expression::binary(Op::Remainder, value, Expression::constant(period)),
                                Expression::constant(0));
    isl::set rest = right.subtract(isl::set(set.ctx(), "{ [0] }"));
    const isl::val first = rest.dim_min_val(0);
    if (first.is_null() || !first.is_int()) continue;
    const int64_t from = isl_val_get_num_si(first.get());
    if (!is("{ [r] : r = 0 or " + std::to_string(from) + " <= r < " + size + " }")) continue;
    Expression counted =
        Expression::binary(Op::Remainder, value - Expression::constant(1), Expression::constant(period));
    return Expression::binary(Op::GreaterEqual, counted, Expression::constant(from - 1));
  }
  return std::nullopt;
}

std::optional<Expression> positive_premise(const isl::set& set, const isl::set& context, const Parameters& parameters) {
  constexpr size_t kMost = 4;
  const isl::set bad = context.subtract(set);
  std::vector<std::string> names;
  for (int i = 0, count = isl_set_dim(bad.get(), isl_dim_param); i < count; ++i) {
    const std::string name = isl_set_get_dim_name(bad.get(), isl_dim_param, i);
    if (isl_set_involves_dims(bad.get(), isl_dim_param, i, 1) == isl_bool_true && parameters.contains(name))
      names.push_back(name);
  }
  auto is_bad = [&](const std::vector<std::string>& positive) {
    isl::set left = bad;
    for (auto& name : positive)
      left = left.intersect_params(isl::set(set.ctx(), "[" + name + "] -> { : " + name + " > 0 }"));
    return left.is_null() || !left.is_empty().is_true();
  };
  if (names.empty() || names.size() > kMost || is_bad(names)) return std::nullopt;
  for (size_t i = 0; i < names.size();) {
    std::vector<std::string> fewer = names;
    fewer.erase(fewer.begin() + static_cast<long>(i));
    if (fewer.empty() || is_bad(fewer)) ++i;
    else names = std::move(fewer);
  }
  std::optional<Expression> all;
  for (auto& name : names) {
    const Expression one = Expression::binary(Op::Greater, parameters.at(name), Expression::constant(0));
    all = all ? Expression::binary(Op::And, *all, one) : one;
  }
  return all;
}

std::optional<std::map<std::string, int64_t>> small_member(const isl::set& set) {
  const int count = isl_set_dim(set.get(), isl_dim_param);
  if (count < 0) return std::nullopt;
  std::map<std::string, int64_t> member;
  isl_set* rest = set.copy();
  for (int i = 0; i < count && rest; ++i) {
    // As a set dimension isl finds its least value; one that has none takes any.
    isl_set* moved = isl_set_move_dims(isl_set_from_params(isl_set_copy(rest)), isl_dim_set, 0, isl_dim_param, i, 1);
    isl_set* alone = isl_set_project_out(isl_set_copy(moved), isl_dim_param, 0, count - 1);
    isl_set_free(moved);
    isl_val* value = nullptr;
    isl_set* natural = isl_set_lower_bound_si(isl_set_copy(alone), isl_dim_set, 0, 0);
    const bool bounded = isl_set_dim_has_lower_bound(alone, isl_dim_set, 0) == isl_bool_true;
    if (!bounded && isl_set_is_empty(natural) == isl_bool_false) value = isl_set_dim_min_val(isl_set_copy(natural), 0);
    else if (bounded) value = isl_set_dim_min_val(isl_set_copy(alone), 0);
    isl_set_free(natural);
    if (!value || isl_val_is_int(value) != isl_bool_true) {
      isl_val_free(value);
      isl_point* point = isl_set_sample_point(isl_set_copy(alone));
      value = point && isl_point_is_void(point) == isl_bool_false ? isl_point_get_coordinate_val(point, isl_dim_set, 0)
                                                                  : nullptr;
      isl_point_free(point);
    }
    isl_set_free(alone);
    if (!value || isl_val_is_int(value) != isl_bool_true || isl_val_n_abs_num_chunks(value, 8) > 1) {
      isl_val_free(value), isl_set_free(rest);
      return std::nullopt;
    }
    member[isl_set_get_dim_name(rest, isl_dim_param, i)] = isl_val_get_num_si(value);
    rest = isl_set_fix_val(rest, isl_dim_param, i, value);
  }
  const bool empty = !rest || isl_set_is_empty(rest) != isl_bool_false;
  isl_set_free(rest);
  if (empty) return std::nullopt;
  return member;
}

}  // namespace kernelift::legality
