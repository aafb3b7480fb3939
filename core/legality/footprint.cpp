// See footprint.h.
#include "core/legality/footprint.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <numeric>

#include "core/legality/index/merged_digits.h"

namespace kernelift::legality {
namespace {

bool is_position(const std::string& factor) { return has_position(Polynomial::factor(factor)); }

/// The factors that do not depend on the position; nullopt: more than one does.
std::optional<Polynomial::Factors> stride_of(const Polynomial::Factors& factors) {
  Polynomial::Factors stride;
  int positions = 0;
  for (auto& factor : factors) {
    if (is_position(factor)) ++positions;
    else if (!factor.starts_with("nctaid.")) stride.push_back(factor);
  }
  if (positions > 1) return std::nullopt;
  return stride;
}

bool includes(const Polynomial::Factors& larger, const Polynomial::Factors& smaller) {
  return std::ranges::includes(larger, smaller);
}

/// The factors of `larger` that `smaller` lacks.
Polynomial::Factors without(const Polynomial::Factors& larger, const Polynomial::Factors& smaller) {
  Polynomial::Factors rest;
  std::ranges::set_difference(larger, smaller, std::back_inserter(rest));
  return rest;
}

using Op = Expression::Op;
using Access = KernelModel::Access;
using Step = std::map<Polynomial::Factors, int64_t>;  ///< Products of parameters.

/// Where a run of accesses begins, without what depends on the position, and how it goes on.
struct Run {
  Step begin;
  std::vector<std::pair<Step, int64_t>> steps;  ///< Each with how often, counting the beginning.
};

Step sum(const Step& a, const Step& b, int64_t times) {
  Step all = a;
  for (auto& [factors, coefficient] : b)
    if (auto& there = all[factors]; (there += coefficient * times) == 0) all.erase(factors);
  return all;
}

/// Joins runs that differ by where they begin, the longest series of them first; false: there are none.
bool join(std::vector<Run>& runs) {
  std::vector<Run> joined;
  const size_t before = runs.size();
  while (!runs.empty()) {
    const Run first = runs.front();
    auto with_begin = [&](const Step& begin) {
      return std::ranges::find_if(runs, [&](auto& run) { return run.begin == begin && run.steps == first.steps; });
    };
    Run best = first;
    Step by;
    int64_t longest = 1;
    for (auto& other : runs) {
      if (other.steps != first.steps || other.begin == first.begin) continue;
      const Step step = sum(other.begin, first.begin, -1);
      int64_t from = 0, end = 2;
      while (with_begin(sum(first.begin, step, from - 1)) != runs.end()) --from;
      while (with_begin(sum(first.begin, step, end)) != runs.end()) ++end;
      if (end - from > longest) longest = end - from, by = step, best.begin = sum(first.begin, step, from);
    }
    for (int64_t k = 0; k < longest; ++k) runs.erase(with_begin(sum(best.begin, by, k)));
    if (longest > 1) best.steps.emplace_back(by, longest);
    joined.push_back(std::move(best));
  }
  runs = std::move(joined);
  return runs.size() < before;
}

Expression as_expression(const Step& step) {
  Expression all = Expression::constant(0);
  for (auto& [factors, coefficient] : step) {
    Expression product = Expression::constant(coefficient);
    for (auto& factor : factors) product = product * Polynomial::factor(factor);
    all = all.is_constant(0) ? product : all + product;
  }
  return all;
}

std::vector<Access> as_runs(const std::vector<const Access*>& accesses) {
  constexpr int64_t kLargestStep = int64_t(1) << 32;
  struct Group {
    const Access* like;  ///< In all but the offset.
    Step moving;
    std::vector<Run> runs;
  };
  std::vector<Group> groups;
  std::vector<Access> all;
  for (auto* access : accesses) {
    auto offset = Polynomial::of(access->offset);
    Step moving, begin;
    bool plain = offset.has_value();
    for (auto& [factors, coefficient] : offset ? offset->products() : Step()) {
      (std::ranges::any_of(factors, is_position) ? moving : begin)[factors] = coefficient;
      plain &= std::abs(coefficient) < kLargestStep;
    }
    if (!plain) {
      all.push_back(*access);
      continue;
    }
    auto group = std::ranges::find_if(groups, [&](auto& one) {
      return one.like->kind == access->kind && one.like->bytes == access->bytes && one.moving == moving &&
             one.like->domain == access->domain;
    });
    if (group == groups.end()) group = groups.insert(group, {access, std::move(moving), {}});
    auto there = [&](auto& run) { return run.begin == begin; };
    if (std::ranges::none_of(group->runs, there)) group->runs.push_back({std::move(begin), {}});
  }
  for (auto& group : groups) {
    std::ranges::sort(group.runs, {}, &Run::begin);
    while (join(group.runs)) {}
    for (auto& run : group.runs) {
      Access one = *group.like;
      Expression offset = as_expression(sum(group.moving, run.begin, 1));
      for (auto& [step, times] : run.steps) {
        const std::string counter = "loop.r" + std::to_string(one.counters.size() + 1);
        const Expression k = Expression::variable(counter);
        offset = offset + as_expression(step) * k;
        one.domain = Expression::binary(
            Op::And, one.domain,
            Expression::binary(Op::And, Expression::binary(Op::GreaterEqual, k, Expression::constant(0)),
                               Expression::binary(Op::Less, k, Expression::constant(times))));
        one.counters.push_back(counter);
      }
      one.offset = std::move(offset), one.time.clear();
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace

std::vector<Access> joined_accesses(const std::vector<const Access*>& accesses, const Dim3& block) {
  constexpr size_t kFew = 8;
  std::vector<Access> all;
  if (accesses.size() >= kFew) all = as_runs(accesses);
  bool joined = !all.empty() && 2 * all.size() <= accesses.size();
  if (!joined) {
    all.clear();
    for (auto* access : accesses) all.push_back(*access);
  }
  for (auto& one : all)
    if (auto merged = with_merged_digits(one, block)) one = std::move(*merged), joined = true;
  return joined ? all : std::vector<Access>();
}

Shape common_shape(const std::vector<const KernelModel::Access*>& accesses) {
  Shape shape;
  std::map<Polynomial::Factors, int64_t> strides{{{}, 0}};  // To the common divisor of the coefficients.
  shape.unit = 0;
  std::vector<Polynomial> offsets;
  for (auto* access : accesses) {
    auto offset = Polynomial::of(access->offset);
    if (!offset) return {{}, 1, "its address is too long an expression"};
    shape.unit = std::gcd(shape.unit, int64_t(access->bytes));
    offsets.push_back(std::move(*offset));
  }
  for (bool moving : {true, false})
    for (auto& offset : offsets)
      for (auto& [factors, coefficient] : offset.products()) {
        auto stride = stride_of(factors);
        if (!stride) return {{}, 1, "its index is a product of positions"};
        const bool moves = std::ranges::any_of(factors, is_position);
        if (moves != moving) continue;
        shape.unit = std::gcd(shape.unit, coefficient);
        // A row that all threads skip counts in rows, too; other sizes do not make rows.
        if (moves || (!stride->empty() && strides.contains(*stride)))
          strides[*stride] = std::gcd(strides[*stride], coefficient);
      }
  if (shape.unit == 0) shape.unit = 1;
  for (auto& [factors, coefficient] : strides)
    shape.strides.push_back({factors, factors.empty() ? 1 : std::abs(coefficient) / shape.unit});
  std::ranges::sort(shape.strides, std::ranges::greater{}, [](auto& stride) { return stride.first.size(); });
  for (size_t i = 1; i < shape.strides.size(); ++i)
    if (!includes(shape.strides[i - 1].first, shape.strides[i].first) ||
        shape.strides[i - 1].second % shape.strides[i].second != 0)
      shape.crossing = true, shape.trouble = "its rows have several lengths";
  return shape;
}

Touch::Touch(Setting& setting, const Side& side, const KernelModel::Access& access, const Shape& shape, Scope scope)
    : setting_(&setting), access_(&access) {
  InstanceText text(side.launch, setting.parameters, scope);
  std::set<std::string> used = access.domain.variables();
  used.merge(access.offset.variables());
  side.model.add_inner_terms(used);
  setting.fix_uniform_terms(text, side.model, used, scope);
  text.constrain(access.domain);
  std::vector<Polynomial> subscripts(shape.strides.size());
  constants_.resize(subscripts.size());
  auto offset = Polynomial::of(access.offset);
  bool affine = offset.has_value();
  for (auto& [factors, coefficient] : offset ? offset->products() : std::map<Polynomial::Factors, int64_t>()) {
    // A summand moves along the stride that it is made of: with a position exactly, without one as a number of such
    // steps (n / 4 * 4 rows of w elements), if they are whole; else within the last row.
    const auto stride = stride_of(factors);
    const bool moves = std::ranges::any_of(factors, is_position);
    const int64_t in_units = coefficient / shape.unit;
    size_t at = 0;
    while (stride && at + 1 < shape.strides.size() &&
           (moves ? shape.strides[at].first != *stride
                  : !includes(*stride, shape.strides[at].first) || in_units % shape.strides[at].second != 0))
      ++at;
    if (!stride) at = shape.strides.size() - 1;
    const int64_t scale = shape.strides[at].second;
    if (at + 1 < shape.strides.size() && in_units % scale != 0) affine = false;
    const auto rest = without(factors, shape.strides[at].first);
    if (!moves && rest.empty() && in_units % scale == 0) constants_[at] += in_units / scale;
    else moving_[factors] = coefficient;
    affine = affine && subscripts[at].add(rest, in_units / scale);
  }
  auto append = [&](const std::string& value) { tuple_ += (tuple_.empty() ? "" : ", ") + value; };
  std::string inside;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    auto subscript = affine ? text.affine(subscripts[i]) : std::nullopt;
    std::string value = subscript ? *subscript : text.fresh();
    affine &= subscript.has_value();
    if (i + 1 == subscripts.size() && int64_t(access.bytes) > shape.unit) {
      std::string within = text.fresh();
      text.add("0 <= " + within + " < " + std::to_string(access.bytes / shape.unit));
      value += " + " + within;
    }
    if (i > 0 && !shape.crossing) {
      Polynomial length;
      length.add(without(shape.strides[i - 1].first, shape.strides[i].first),
                 shape.strides[i - 1].second / shape.strides[i].second);
      if (auto bound = text.affine(length))
        inside += (inside.empty() ? "" : " and ") + ("0 <= " + value + " and " + value + " < " + *bound);
    }
    append(value);
  }
  if (!affine) reason_ = "its index " + setting.shown(access.offset) + ", which is not affine";
  for (auto& variable : used) {
    if (!variable.starts_with("term.")) continue;
    auto* term = side.model.term(variable);
    const bool known = term && term->repeats;
    std::vector<std::string> values;
    if (known)
      for (auto& argument : term->arguments)
        if (auto value = text.affine(argument)) values.push_back(*value);
    if (!known || values.size() != term->arguments.size()) {
      if (reason_.empty()) reason_ = term ? setting.shown(*term) : variable;
      continue;
    }
    auto value = text.affine(Expression::variable(variable));
    for (auto& argument : values) append(argument);
    append(*value);
    terms_.push_back({values.size(), term->value, setting.shown(*term)});
  }
  for (auto& component : access.time) {
    if (component.as_constant()) continue;
    auto counter = component.as_variable() ? text.counter(*component.as_variable()) : std::nullopt;
    timed_ &= counter.has_value();
    counters_.push_back(counter ? *counter : "0");
  }
  if (reason_.empty() && !text.exact()) reason_ = text.reason();
  strides_ = text.strides();
  auto block = text.block();
  timed_ &= block.has_value();
  block_ = block ? (*block)[0] + ", " + (*block)[1] + ", " + (*block)[2] : "0, 0, 0";
  dimensions_ = text.dimensions(), constraints_ = text.constraints(), threads_ = text.threads();
  parameters_ = "[" + text.parameter_list() + "] -> ";
  isl::map map = instances();
  elements_ = map.range();
  // Where an index leaves its row, subscripts say nothing about elements.
  leaves_row_ = map.params().subtract(map.params());
  if (!inside.empty())
    leaves_row_ =
        all_instances()
            .intersect(isl::set(setting.context, parameters_ + "{ I[" + dimensions_ + "] : not (" + inside + ") }"))
            .params();
}

bool Touch::strides_in(int component) const {
  size_t begin = 0;
  for (int i = 0; i < component; ++i) begin = threads_.find(", ", begin) + 2;
  const std::string name = threads_.substr(begin, threads_.find(',', begin) - begin);
  return name.starts_with("gs_") || name.starts_with("bs_");
}

bool Touch::terms_are_inputs() const {
  return std::ranges::all_of(terms_, [](auto& term) { return term.value.is_input(); });
}

isl::map Touch::instances() const {
  return isl::map(setting_->context, parameters_ + "{ I[" + dimensions_ + "] -> E[" + tuple_ + "] }")
      .intersect_domain(all_instances());
}

const isl::set& Touch::all_instances() const {
  return setting_->set(parameters_ + "{ I[" + dimensions_ + "] : " + constraints_ + " }");
}

isl::map Touch::placed() const {
  std::string head = threads_ + ", " + block_;
  for (auto& counter : counters_) head += ", " + counter;
  isl::map places(setting_->context, parameters_ + "{ I[" + dimensions_ + "] -> X[" + head + "] }");
  return places.reverse().apply_range(instances());
}

isl::map Touch::by_thread() const {
  isl::map threads(setting_->context, parameters_ + "{ I[" + dimensions_ + "] -> X[" + threads_ + "] }");
  return threads.reverse().apply_range(instances());
}

std::vector<std::string> Touch::time(const std::string& prefix) const {
  std::vector<std::string> components;
  size_t number = 0;
  for (auto& component : access_->time) {
    auto constant = component.as_constant();
    components.push_back(constant ? std::to_string(*constant) : prefix + std::to_string(number));
    number += !constant;
  }
  return components;
}

}  // namespace kernelift::legality
