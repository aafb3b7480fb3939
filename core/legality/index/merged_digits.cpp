// See merged_digits.h. A variable is a digit of what it is multiplied by alike everywhere: in the index and in each
// condition. Digits of one number have multipliers of which each is the one before times the values that that has.
#include "core/legality/index/merged_digits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/legality/index/polynomial.h"

namespace kernelift::legality {
namespace {

using Op = Expression::Op;
using Factors = Polynomial::Factors;

/// The values that a position has: 0 to `count` - 1; absent: there is no bound.
using Counts = std::map<std::string, std::optional<int64_t>>;

void add_conjuncts(const Expression& domain, std::vector<Expression>& all) {
  if (domain.op() != Op::And) return all.push_back(domain);
  for (auto& operand : domain.operands()) add_conjuncts(operand, all);
}

bool is_comparison(const Expression& node) {
  return node.op() == Op::Less || node.op() == Op::LessEqual || node.op() == Op::Greater ||
         node.op() == Op::GreaterEqual || node.op() == Op::Equal;
}

/// `k >= 0`, and k; or `k < 8`, and k with 8.
struct OwnBound {
  std::string variable;
  std::optional<int64_t> count;
};
std::optional<OwnBound> own_bound(const Expression& conjunct, const std::vector<std::string>& counters) {
  auto* name = is_comparison(conjunct) ? conjunct.operands()[0].as_variable() : nullptr;
  const auto constant = name ? conjunct.operands()[1].as_constant() : std::nullopt;
  if (!constant || std::ranges::find(counters, *name) == counters.end()) return std::nullopt;
  if (conjunct.op() == Op::GreaterEqual && *constant == 0) return OwnBound{*name, {}};
  if (conjunct.op() == Op::Less && *constant > 0) return OwnBound{*name, constant};
  return std::nullopt;
}

/// What a sum is divided by, or by which its remainder is taken: a constant, and of BitAnd one more than its mask.
std::optional<int64_t> divisor_of(const Expression& node) {
  const Op op = node.op();
  if (op != Op::Divide && op != Op::Remainder && op != Op::BitAnd) return std::nullopt;
  auto by = node.operands()[1].as_constant();
  if (by && op == Op::BitAnd) by = *by + 1;
  if (!by || *by <= 1 || (op == Op::BitAnd && (*by & (*by - 1)) != 0)) return std::nullopt;
  return by;
}

/// The sum; of BitAnd with what its mask leaves of each multiplier: -16 * tid.y & 31 is 16 * tid.y & 31.
std::optional<Polynomial> dividend_of(const Expression& node, int64_t by) {
  auto sum = Polynomial::of(node.operands()[0]);
  if (!sum || node.op() != Op::BitAnd) return sum;
  Polynomial low;
  for (auto& [factors, coefficient] : sum->products())
    if (const int64_t left = ((coefficient % by) + by) % by; left != 0 && !low.add(factors, left)) return std::nullopt;
  return low;
}

/// Sums of positions, as what they are divided by leaves them.
class Reducer {
 public:
  explicit Reducer(const Counts& counts) : counts_(counts) {}

  Expression reduced(const Expression& expression) const {
    if (expression.operands().empty()) return expression;
    return expression.rewritten([&](const Expression& node) -> std::optional<Expression> {
      const auto by = divisor_of(node);
      return by ? divided(node, *by) : std::nullopt;
    });
  }

 private:
  std::optional<Expression> divided(const Expression& node, int64_t by) const {
    auto sum = dividend_of(node, by);
    if (!sum) return std::nullopt;
    Expression whole = Expression::constant(0), rest = whole;
    int64_t most = 0;
    for (auto& [factors, coefficient] : sum->products()) {
      auto known = factors.size() == 1 ? counts_.find(factors[0]) : counts_.end();
      if (coefficient < 0 || (!factors.empty() && known == counts_.end())) return std::nullopt;
      const bool divides = coefficient % by == 0;
      auto part = [&](int64_t times) {
        Expression number = Expression::constant(times);
        return factors.empty() ? number : number * Expression::variable(factors[0]);
      };
      if (divides) {
        whole = whole + part(coefficient / by);
        continue;
      }
      rest = rest + part(coefficient);
      const std::optional<int64_t> count = factors.empty() ? std::optional<int64_t>(2) : known->second;
      int64_t largest = 0;
      if (!count || __builtin_mul_overflow(coefficient, *count - 1, &largest) || (most += largest) >= by)
        return std::nullopt;
    }
    return (node.op() == Op::Divide ? whole : rest).simplified({});
  }

  const Counts& counts_;
};

/// What multiplies a position, by the index or condition and by the other factors there.
using Multipliers = std::map<std::pair<size_t, Factors>, int64_t>;

struct Digit {
  std::string variable;
  int64_t scale = 1;
};

class DigitMerger {
 public:
  DigitMerger(const KernelModel::Access& access, const Dim3& block) : access_(access) {
    add_conjuncts(access.domain, conjuncts_);
    for (int axis = 0; axis < 3; ++axis) counts_[std::string("tid.") + "xyz"[axis]] = along(block, axis);
    for (auto& counter : access.counters) counts_[counter] = std::nullopt;
    std::set<std::string> begin_at_0;
    for (auto& conjunct : conjuncts_)
      if (auto bound = own_bound(conjunct, access.counters)) {
        auto& count = counts_[bound->variable];
        if (!bound->count) begin_at_0.insert(bound->variable);
        else count = count ? std::min(*count, *bound->count) : bound->count;
      }
    for (auto& counter : access.counters)
      if (!begin_at_0.contains(counter)) counts_.erase(counter);
  }

  std::optional<KernelModel::Access> merged() {
    split();
    reduce();
    if (!read()) return changed_ ? std::optional(made()) : std::nullopt;
    drop_implied();
    std::map<Multipliers, std::vector<Digit>> numbers;
    for (auto& [variable, multipliers] : multipliers_) {
      if (fixed_.contains(variable) || multipliers.empty()) continue;
      int64_t scale = 0;
      for (auto& [where, coefficient] : multipliers) scale = std::gcd(scale, coefficient);
      Multipliers normal = multipliers;
      for (auto& [where, coefficient] : normal) coefficient /= scale;
      numbers[normal].push_back({variable, scale});
    }
    for (auto& [normal, digits] : numbers) merge(digits);
    return changed_ ? std::optional(made()) : std::nullopt;
  }

 private:
  /// Where what divides a sum falls within a digit, that is two: (16 * tid.y + tid.x) / 32 with 4 threads along y.
  void split() {
    constexpr int kMost = 6;
    for (int times = 0; times < kMost; ++times) {
      std::optional<std::pair<std::string, int64_t>> found;
      auto look = [&](const Expression& node) {
        const auto by = divisor_of(node);
        const auto sum = by ? dividend_of(node, *by) : std::nullopt;
        for (auto& [factors, scale] : sum ? sum->products() : std::map<Factors, int64_t>()) {
          const auto known = factors.size() == 1 ? counts_.find(factors[0]) : counts_.end();
          if (known == counts_.end() || !known->second || scale <= 0 || *by % scale != 0) continue;
          const int64_t low = *by / scale, count = *known->second;
          if (low > 1 && low < count && count % low == 0) found = {factors[0], low};
        }
        return found.has_value();
      };
      (void)access_.offset.find(look);
      for (auto& conjunct : conjuncts_) (void)conjunct.find(look);
      if (!found) return;
      const auto& [variable, low] = *found;
      const std::string first = "loop.l" + std::to_string(++numbers_), second = "loop.h" + std::to_string(numbers_);
      const std::map<std::string, Expression> by{
          {variable, Expression::variable(first) + Expression::constant(low) * Expression::variable(second)}};
      auto add_bounds = [&](const std::string& name, int64_t count) {
        const Expression digit = Expression::variable(name);
        conjuncts_.push_back(Expression::binary(Op::GreaterEqual, digit, Expression::constant(0)));
        conjuncts_.push_back(Expression::binary(Op::Less, digit, Expression::constant(count)));
        counts_[name] = count, access_.counters.push_back(name);
      };
      const int64_t count = *counts_.at(variable);
      std::erase_if(conjuncts_, [&](auto& conjunct) {
        const auto bound = own_bound(conjunct, access_.counters);
        return bound && bound->variable == variable;
      });
      access_.offset = access_.offset.substitute(by);
      for (auto& conjunct : conjuncts_) conjunct = conjunct.substitute(by);
      std::erase(access_.counters, variable), counts_.erase(variable);
      add_bounds(first, low), add_bounds(second, count / low);
      changed_ = true;
    }
  }

  void reduce() {
    const Reducer reducer(counts_);
    auto in_place = [&](Expression& expression) {
      Expression reduced = reducer.reduced(expression);
      changed_ |= !(reduced == expression);
      expression = std::move(reduced);
    };
    in_place(access_.offset);
    for (auto& conjunct : conjuncts_) in_place(conjunct);
  }

  /// False: the index is no sum of products.
  bool read() {
    auto offset = Polynomial::of(access_.offset);
    if (!offset) return false;
    items_.assign(1, *offset);
    note(0);
    for (auto& conjunct : conjuncts_) {
      items_.emplace_back();
      const size_t item = items_.size() - 1;
      if (own_bound(conjunct, access_.counters)) continue;
      auto left = is_comparison(conjunct) ? Polynomial::of(conjunct.operands()[0]) : std::nullopt;
      auto right = left ? Polynomial::of(conjunct.operands()[1]) : std::nullopt;
      auto difference = right ? left->minus(*right) : std::nullopt;
      if (difference) items_.back() = *difference, note(item);
      else
        for (auto& name : conjunct.variables()) fixed_.insert(name);
    }
    return true;
  }
  void note(size_t item) {
    for (auto& [factors, coefficient] : items_[item].products()) {
      const auto positions = std::ranges::count_if(factors, [&](auto& factor) { return counts_.contains(factor); });
      for (auto& factor : factors) {
        if (!counts_.contains(factor) || positions > 1) {
          for (auto& name : Polynomial::factor(factor).variables()) fixed_.insert(name);
          continue;
        }
        Factors others = factors;
        others.erase(std::ranges::find(others, factor));
        multipliers_[factor][{item, others}] = coefficient;
      }
    }
  }

  /// Of `32 * k < n` and `8 * tid.z + 32 * k < n` the second says all.
  void drop_implied() {
    for (size_t one = 1; one < items_.size(); ++one)
      for (size_t other = 1; other < items_.size(); ++other) {
        auto& weaker = conjuncts_[one - 1];
        if (one == other || dropped_.contains(one - 1) || dropped_.contains(other - 1) || weaker.op() != Op::Less ||
            conjuncts_[other - 1].op() != Op::Less || items_[one].products().empty() ||
            items_[other].products().empty())
          continue;
        auto more = items_[other].minus(items_[one]);
        const bool implied =
            more && std::ranges::all_of(more->products(), [&](auto& product) {
              return product.second >= 0 &&
                     (product.first.empty() || (product.first.size() == 1 && counts_.contains(product.first[0])));
            });
        if (!implied) continue;
        dropped_.insert(one - 1);
        for (auto& [variable, multipliers] : multipliers_)
          std::erase_if(multipliers, [&](auto& entry) { return entry.first.first == one; });
      }
  }

  void merge(std::vector<Digit>& digits) {
    std::ranges::sort(digits, {}, &Digit::scale);
    for (size_t begin = 0; begin < digits.size();) {
      size_t end = begin;
      int64_t expected = digits[begin].scale, count = 1;
      bool bounded = true;
      for (; end < digits.size() && bounded && digits[end].scale == expected; ++end) {
        const auto values = counts_.at(digits[end].variable);
        bounded = values.has_value();
        int64_t next = 0, more = 0;
        if (bounded &&
            (__builtin_mul_overflow(expected, *values, &next) || __builtin_mul_overflow(count, *values, &more)))
          break;
        if (bounded) expected = next, count = more;
      }
      if (end > begin + 1) join(digits, begin, end, bounded ? std::optional(count) : std::nullopt);
      begin = std::max(end, begin + 1);
    }
  }
  void join(const std::vector<Digit>& digits, size_t begin, size_t end, std::optional<int64_t> count) {
    const std::string name = "loop.m" + std::to_string(++numbers_);
    const Expression number = Expression::variable(name);
    for (size_t at = begin; at < end; ++at) {
      const std::string& variable = digits[at].variable;
      by_.emplace(variable, at == begin ? number : Expression::constant(0));
      for (size_t i = 0; i < conjuncts_.size(); ++i)
        if (auto bound = own_bound(conjuncts_[i], access_.counters); bound && bound->variable == variable)
          dropped_.insert(i);
    }
    bounds_.push_back(Expression::binary(Op::GreaterEqual, number, Expression::constant(0)));
    if (count) bounds_.push_back(Expression::binary(Op::Less, number, Expression::constant(*count)));
    access_.counters.push_back(name);
    changed_ = true;
  }

  KernelModel::Access made() {
    std::optional<Expression> domain;
    auto add = [&](Expression conjunct) {
      if (auto constant = conjunct.as_constant(); constant && *constant != 0) return;
      domain = domain ? Expression::binary(Op::And, *domain, conjunct) : std::move(conjunct);
    };
    for (size_t i = 0; i < conjuncts_.size(); ++i)
      if (!dropped_.contains(i)) add(conjuncts_[i].substitute(by_).simplified({}));
    for (auto& bound : bounds_) add(bound);
    std::erase_if(access_.counters, [&](auto& counter) { return by_.contains(counter); });
    access_.offset = access_.offset.substitute(by_).simplified({});
    access_.domain = domain.value_or(Expression::constant(1));
    access_.time.clear();
    return access_;
  }

  KernelModel::Access access_;
  Counts counts_;
  std::vector<Expression> conjuncts_;
  std::vector<Polynomial> items_;  ///< The index, then for each conjunct the difference of its sides.
  std::map<std::string, Multipliers> multipliers_;
  std::set<std::string> fixed_;  ///< Positions that are used otherwise, too.
  std::set<size_t> dropped_;     ///< Conjuncts.
  std::map<std::string, Expression> by_;
  std::vector<Expression> bounds_;
  int numbers_ = 0;
  bool changed_ = false;
};

}  // namespace

std::optional<KernelModel::Access> with_merged_digits(const KernelModel::Access& access, const Dim3& block) {
  // The arguments of a term are positions, too, and would no longer be those of the access.
  auto is_term = [](const std::string& name) { return name.starts_with("term."); };
  if (std::ranges::any_of(access.offset.variables(), is_term) ||
      std::ranges::any_of(access.domain.variables(), is_term))
    return std::nullopt;
  return DigitMerger(access, block).merged();
}

}  // namespace kernelift::legality
