// See guard_arithmetic.h. Every part of a comparison has a range, which follows from those of its variables; what comes
// before an && narrows those of what stands behind.
#include "reintegrate/patch/launch/guard_arithmetic.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/model/kernel/declared_number.h"

namespace kernelift::reintegrate {
namespace {

using Op = Expression::Op;
using Wide = __int128;

constexpr Wide kLargestWide = (Wide(1) << 126) + ((Wide(1) << 126) - 1);
constexpr Wide kLargestLong = INT64_MAX, kLargestUnsigned = UINT64_MAX;

struct Range {
  Wide low = 0, high = 0;
  bool within(Wide least, Wide most) const { return least <= low && high <= most; }
  Range with(const Range& other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

using Ranges = std::map<std::string, Range>;

struct WideType {
  const char* name;
  Wide least, most;
};
constexpr std::array kTypes{WideType{"long long", -kLargestLong - 1, kLargestLong},
                            WideType{"unsigned long long", 0, kLargestUnsigned},
                            WideType{"__int128", -kLargestWide, kLargestWide}};

bool is_bool_operation(Op op) { return op == Op::And || op == Op::Or || op == Op::Not; }

bool is_comparison(Op op) {
  return op == Op::Equal || op == Op::NotEqual || op == Op::Less || op == Op::LessEqual || op == Op::Greater ||
         op == Op::GreaterEqual;
}

/// The least range that all corners are in; nullopt: one does not fit.
template <class Apply>
std::optional<Range> of_corners(const Range& a, const Range& b, Apply apply) {
  std::optional<Range> all;
  for (Wide x : {a.low, a.high})
    for (Wide y : {b.low, b.high}) {
      Wide value = 0;
      if (!apply(x, y, value)) return std::nullopt;
      all = all ? all->with({value, value}) : Range{value, value};
    }
  return all;
}

/// Of all parts of an expression: those of its own operands are in `parts`, too. nullopt: it may be too large for any
/// type, divides by what may be zero, or is none of what premises are made of.
std::optional<Range> range_of(const Expression& node, const Ranges& ranges, std::vector<Range>& parts) {
  auto note = [&](std::optional<Range> range) {
    if (range && !range->within(-kLargestWide, kLargestWide)) range.reset();
    if (range) parts.push_back(*range);
    return range;
  };
  if (auto value = node.as_constant())  // The least of all has no literal.
    return *value == INT64_MIN ? std::nullopt : note(Range{*value, *value});
  if (auto* name = node.as_variable()) {
    auto found = ranges.find(*name);
    return found == ranges.end() ? std::nullopt : note(found->second);
  }
  std::vector<Range> operands;
  for (auto& operand : node.operands()) {
    auto range = range_of(operand, ranges, parts);
    if (!range) return std::nullopt;
    operands.push_back(*range);
  }
  if (node.is_condition()) return Range{0, 1};
  const Range& a = operands[0];
  if (node.op() == Op::Negate) return note(Range{-a.high, -a.low});
  if (node.op() == Op::Conditional) return note(operands[1].with(operands[2]));
  if (operands.size() != 2) return std::nullopt;
  const Range& b = operands[1];
  const bool divides = node.op() == Op::Divide || node.op() == Op::Remainder || node.op() == Op::CeilDiv;
  if (divides && b.low <= 0 && b.high >= 0) return std::nullopt;
  switch (node.op()) {
    case Op::Add:
      return note(of_corners(a, b, [](Wide x, Wide y, Wide& sum) { return !__builtin_add_overflow(x, y, &sum); }));
    case Op::Subtract:
      return note(of_corners(a, b, [](Wide x, Wide y, Wide& rest) { return !__builtin_sub_overflow(x, y, &rest); }));
    case Op::Multiply:
      return note(of_corners(a, b, [](Wide x, Wide y, Wide& all) { return !__builtin_mul_overflow(x, y, &all); }));
    case Op::CeilDiv: {  // As it is written out: (a + (b - 1)) / b.
      if (a.low < 0 || b.low < 0) return std::nullopt;
      Wide sum = 0;
      if (__builtin_add_overflow(a.high, b.high - 1, &sum)) return std::nullopt;
      return note(Range{0, sum});
    }
    case Op::Divide: {
      const Wide most = std::max(a.high < 0 ? -a.high : a.high, a.low < 0 ? -a.low : a.low);
      return note(Range{a.low < 0 || b.low < 0 ? -most : Wide(0), most});
    }
    case Op::Remainder: {
      const Wide most = std::max(b.high < 0 ? -b.high : b.high, b.low < 0 ? -b.low : b.low) - 1;
      return note(Range{a.low < 0 ? -most : Wide(0), a.high > 0 ? most : Wide(0)});
    }
    case Op::Min: return note(Range{std::min(a.low, b.low), std::min(a.high, b.high)});
    case Op::Max: return note(Range{std::max(a.low, b.low), std::max(a.high, b.high)});
    case Op::BitAnd:
      if (b.low < 0) return std::nullopt;
      return note(Range{0, b.high});
    default: return std::nullopt;
  }
}

/// `ranges` where the condition holds.
void narrow(const Expression& condition, Ranges& ranges) {
  if (condition.op() == Op::And)
    for (auto& operand : condition.operands()) narrow(operand, ranges);
  if (!is_comparison(condition.op())) return;
  for (bool turned : {false, true}) {
    auto* name = condition.operands()[turned].as_variable();
    auto number = condition.operands()[!turned].as_constant();
    if (!name || !number || !ranges.contains(*name)) continue;
    Range& range = ranges.at(*name);
    const Op op = condition.op();
    const bool less = op == Op::Less || op == Op::LessEqual, strict = op == Op::Less || op == Op::Greater;
    if (op == Op::NotEqual) continue;
    if (op == Op::Equal || less != turned) range.high = std::min(range.high, Wide(*number) - (strict ? 1 : 0));
    if (op == Op::Equal || less == turned) range.low = std::max(range.low, Wide(*number) + (strict ? 1 : 0));
    if (range.low > range.high) range = {*number, *number};  // What stands behind is never asked.
  }
}

/// Of an integer type; nullopt: it is none.
std::optional<Range> range_of_type(std::string_view type) {
  const auto declared = DeclaredNumber::of(type);
  if (!declared) return std::nullopt;
  const Wide end = Wide(1) << (declared->bits - (declared->is_unsigned ? 0 : 1));
  return Range{declared->is_unsigned ? 0 : -end, end - 1};
}

class Writer {
 public:
  explicit Writer(const std::map<std::string, AskedNumber>& numbers) : numbers_(numbers) {}

  /// The condition with its variables renamed to those of `names`.
  std::optional<Expression> written(const Expression& node, const Ranges& ranges) {
    if (is_bool_operation(node.op())) {
      auto first = written(node.operands()[0], ranges);
      if (!first || node.op() == Op::Not) return first ? std::optional(Expression::unary(Op::Not, *first)) : first;
      Ranges behind = ranges;
      if (node.op() == Op::And) narrow(node.operands()[0], behind);
      auto second = written(node.operands()[1], behind);
      return second ? std::optional(Expression::binary(node.op(), *first, *second)) : second;
    }
    const Expression folded = node.rewritten([](const Expression& part) -> std::optional<Expression> {
      if (part.as_constant() || !part.variables().empty()) return std::nullopt;
      auto value = part.evaluate({});
      return value.ok() ? std::optional(Expression::constant(*value)) : std::nullopt;
    });
    if (is_alike_in_all_types(folded)) return renamed(folded, [](const AskedNumber& number) { return number.plain; });
    std::vector<Range> parts;
    if (!range_of(folded, ranges, parts)) return std::nullopt;
    if (auto range = range_at_launch(folded);
        range && std::ranges::all_of(parts, [&](auto& part) { return part.within(range->low, range->high); }))
      return renamed(folded, [](const AskedNumber& number) { return number.plain; });
    auto holds_all = [&](const WideType& type) {
      return std::ranges::all_of(parts, [&](auto& range) { return range.within(type.least, type.most); });
    };
    auto type = std::ranges::find_if(kTypes, holds_all);
    if (type != kTypes.end() && asks_whether_unknown_has_sign(folded)) ++type;
    if (type == kTypes.end()) return std::nullopt;
    return renamed(folded, [&](const AskedNumber& number) { return number.as(type->name); });
  }

  std::map<std::string, std::string> names;

 private:
  /// `v.n <= 9223372036854775807`, which says that the member is an unsigned number.
  bool asks_whether_unknown_has_sign(const Expression& node) const {
    if (!is_comparison(node.op()) || !node.operands()[1].is_constant(INT64_MAX)) return false;
    auto* name = node.operands()[0].as_variable();
    return name && numbers_.at(*name).type.empty();
  }

  /// `v.n <= 7` and `v.n % 4 == 0`: one number, beside numbers that are not negative, has the same answer in whatever
  /// integer type C++ compares them.
  bool is_alike_in_all_types(const Expression& node) const {
    if (!is_comparison(node.op())) return false;
    auto is_number = [](const Expression& part, int64_t least) {
      auto value = part.as_constant();
      return value && *value >= least;
    };
    const Expression& left = node.operands()[0];
    auto* name = left.as_variable();
    if (left.op() == Op::Remainder && is_number(left.operands()[1], 1)) name = left.operands()[0].as_variable();
    return name && is_number(node.operands()[1], 0) && numbers_.at(*name).type.empty() &&
           !numbers_.at(*name).plain.empty();
  }

  /// Of the type in which C++ computes with the numbers as they stand at the launch; nullopt: there is not one.
  std::optional<Range> range_at_launch(const Expression& node) const {
    std::string type;
    for (auto& variable : node.variables()) {
      const AskedNumber& number = numbers_.at(variable);
      const auto declared = DeclaredNumber::of(number.type);
      const std::string promoted = declared && declared->bits < 32 ? "int" : number.type;
      if (number.plain.empty() || !declared || (!type.empty() && type != promoted)) return std::nullopt;
      type = promoted;
    }
    return range_of_type(type);
  }

  template <class Text>
  Expression renamed(const Expression& node, Text text) {
    std::map<std::string, Expression> by;
    for (auto& variable : node.variables()) {
      const Expression name = Expression::variable("as" + std::to_string(names.size()));
      names[*name.as_variable()] = text(numbers_.at(variable));
      by.emplace(variable, name);
    }
    return node.substitute(by);
  }

  const std::map<std::string, AskedNumber>& numbers_;
};

}  // namespace

Result<std::string> without_overflow(const Expression& condition, const std::map<std::string, AskedNumber>& numbers) {
  Ranges ranges;
  for (auto& [name, number] : numbers)
    if (auto range = range_of_type(number.type.empty() ? "long long" : number.type)) ranges[name] = *range;
  Writer writer(numbers);
  auto written = writer.written(condition, ranges);
  if (!written) return refused("whether " + condition.text() + " cannot be computed at a launch without overflow");
  return written->cpp(writer.names);
}

}  // namespace kernelift::reintegrate
