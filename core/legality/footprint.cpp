// See footprint.h.
#include "core/legality/footprint.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <numeric>

namespace kernelift::legality {
namespace {

bool is_position(const std::string& factor) {
  return std::ranges::any_of(Polynomial::factor(factor).variables(), [](auto& variable) {
    return variable.starts_with("tid.") || variable.starts_with("bid.") || variable.starts_with("loop.") ||
           variable.starts_with("term.");
  });
}

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

}  // namespace

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
  for (auto& offset : offsets)
    for (auto& [factors, coefficient] : offset.products()) {
      shape.unit = std::gcd(shape.unit, coefficient);
      auto stride = stride_of(factors);
      if (!stride) return {{}, 1, "its index is a product of positions"};
      const bool moves = std::ranges::any_of(factors, is_position);
      if (moves) strides[*stride] = std::gcd(strides[*stride], coefficient);
    }
  if (shape.unit == 0) shape.unit = 1;
  for (auto& [factors, coefficient] : strides)
    shape.strides.push_back({factors, factors.empty() ? 1 : std::abs(coefficient) / shape.unit});
  std::ranges::sort(shape.strides, std::ranges::greater{}, [](auto& stride) { return stride.first.size(); });
  for (size_t i = 1; i < shape.strides.size(); ++i)
    if (!includes(shape.strides[i - 1].first, shape.strides[i].first) ||
        shape.strides[i - 1].second % shape.strides[i].second != 0)
      return {{}, 1, "its rows have several lengths"};
  return shape;
}

size_t time_length(const KernelModel& model) {
  size_t longest = 0;
  for (auto& access : model.accesses) longest = std::max(longest, access.time.size());
  for (auto& barrier : model.barriers) longest = std::max(longest, barrier.time.size());
  return longest;
}

std::string time_tuple(InstanceText& text, const KernelModel::Time& time, size_t length) {
  std::string tuple = "T[bid_x, bid_y, bid_z";
  for (size_t i = 0; i < length; ++i) {
    auto value = i < time.size() ? text.affine(time[i]) : std::optional<std::string>("0");
    tuple += ", " + (value ? *value : "0");
  }
  return tuple + "]";
}

Touch touch(isl::ctx context, const Side& side, const KernelModel::Access& access, const Shape& shape,
            Parameters& parameters, size_t time_length) {
  Touch result;
  result.access = &access;
  InstanceText text(side.launch, parameters);
  text.constrain(access.domain);
  std::vector<Polynomial> subscripts(shape.strides.size());
  auto offset = Polynomial::of(access.offset);
  bool affine = offset.has_value();
  for (auto& [factors, coefficient] : offset ? offset->products() : std::map<Polynomial::Factors, int64_t>()) {
    auto stride = stride_of(factors);
    // A summand without a position belongs to the stride that it is made of; else it moves within the last row.
    size_t at = shape.strides.size() - 1;
    for (size_t i = 0; stride && i < shape.strides.size(); ++i)
      if (shape.strides[i].first == *stride) at = i;
    const int64_t in_units = coefficient / shape.unit, scale = shape.strides[at].second;
    Polynomial::Factors rest = without(factors, shape.strides[at].first);
    if (at + 1 < shape.strides.size() && in_units % scale != 0) affine = false;
    affine = affine && subscripts[at].add(rest, in_units / scale);
  }
  std::string tuple;
  auto append = [&](const std::string& value) { tuple += (tuple.empty() ? "" : ", ") + value; };
  std::vector<std::string> inside;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    auto subscript = affine ? text.affine(subscripts[i]) : std::nullopt;
    std::string value = subscript ? *subscript : text.fresh();
    if (!subscript) affine = false;
    if (i + 1 == subscripts.size() && int64_t(access.bytes) > shape.unit) {
      std::string within = text.fresh();
      text.add("0 <= " + within + " < " + std::to_string(access.bytes / shape.unit));
      value += " + " + within;
    }
    if (i > 0) {
      Polynomial length;
      length.add(without(shape.strides[i - 1].first, shape.strides[i].first),
                 shape.strides[i - 1].second / shape.strides[i].second);
      if (auto bound = text.affine(length)) inside.push_back("0 <= " + value + " and " + value + " < " + *bound);
    }
    append(value);
  }
  if (!affine) result.exact = false, result.reason = "its index " + access.offset.text() + " is not affine";
  std::set<std::string> used = access.domain.variables();
  used.merge(access.offset.variables());
  for (auto& variable : used) {
    if (!variable.starts_with("term.")) continue;
    auto* term = side.model.term(variable);
    bool known = term && term->repeats;
    std::vector<std::string> values;
    if (known)
      for (auto& argument : term->arguments) {
        auto value = text.affine(argument);
        known &= value.has_value();
        if (value) values.push_back(*value);
      }
    if (!known) {
      result.exact = false;
      if (result.reason.empty()) result.reason = term ? term->text : variable;
      continue;
    }
    for (auto& value : values) append(value);
    append(isl_name(variable));
    result.terms.push_back(std::to_string(values.size()) + " " + term->text);
  }
  if (!text.exact()) {
    result.exact = false;
    if (result.reason.empty()) result.reason = text.reason();
  }
  result.threads = text.thread_dimensions();
  result.strides = text.strides();
  const std::string when = time_tuple(text, access.time, time_length);
  const std::string head = "[" + text.parameter_list() + "] -> { I[" + text.dimensions() + "] -> E[" + tuple + "] : ";
  result.elements = isl::map(context, head + text.constraints() + " }");
  result.times = isl::map(context, "[" + text.parameter_list() + "] -> { I[" + text.dimensions() + "] -> " + when +
                                       " : " + text.constraints() + " }");
  if (!inside.empty()) {
    std::string all;
    for (auto& bound : inside) all += (all.empty() ? "" : " and ") + bound;
    isl::map stays(context, head + text.constraints() + " and " + all + " }");
    result.leaves_row = result.elements.subtract(stays).params();
  } else {
    result.leaves_row = result.elements.subtract(result.elements).params();
  }
  return result;
}

}  // namespace kernelift::legality
