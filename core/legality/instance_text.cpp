// See instance_text.h.
#include "core/legality/instance_text.h"

#include <algorithm>
#include <bit>

namespace kernelift::legality {
namespace {

using Op = Expression::Op;

constexpr const char* kAxes = "xyz";

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (auto& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

bool is_condition(Op op) {
  switch (op) {
    case Op::Or: case Op::And: case Op::Not: case Op::Equal: case Op::NotEqual:
    case Op::Less: case Op::LessEqual: case Op::Greater: case Op::GreaterEqual: return true;
    default: return false;
  }
}

}  // namespace

std::string isl_name(const std::string& variable) {
  std::string name = variable;
  std::ranges::replace(name, '.', '_');
  return name;
}

InstanceText::InstanceText(const LaunchShape& launch, Parameters& parameters)
    : launch_(launch), parameters_(parameters) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string tid = std::string("tid_") + kAxes[axis], bid = std::string("bid_") + kAxes[axis];
    dimensions_.push_back(tid), dimensions_.push_back(bid);
    add("0 <= " + tid + " < " + std::to_string(along(launch_.block, axis)));
    const std::string blocks = std::string("nctaid_") + kAxes[axis];
    if (launch_.grid[axis]) {
      dimensions_.push_back(blocks);
      auto size = affine(*launch_.grid[axis]);
      if (size) add(blocks + " = " + *size);
      else exact_ = false, open_ = "the grid's size along " + std::string(1, kAxes[axis]);
    } else {
      parameters_[blocks] = Expression::variable(std::string("nctaid.") + kAxes[axis]);
    }
    add("1 <= " + blocks + " and 0 <= " + bid + " < " + blocks);
  }
  plain_.clear();
}

bool InstanceText::is_position(const Expression& expression) {
  return std::ranges::any_of(expression.variables(), [](auto& variable) {
    return variable.starts_with("tid.") || variable.starts_with("bid.") || variable.starts_with("loop.") ||
           variable.starts_with("term.") || variable.starts_with("nctaid.");
  });
}

std::string InstanceText::fresh() {
  dimensions_.push_back("v" + std::to_string(dimensions_.size()));
  return dimensions_.back();
}

std::string InstanceText::name(const std::string& variable) {
  std::string spelled = isl_name(variable);
  const bool of_launch = variable.starts_with("tid.") || variable.starts_with("bid.") || variable.starts_with("nctaid.");
  const bool local = variable.starts_with("loop.") || variable.starts_with("term.");
  if (of_launch || local) plain_.insert(variable);
  if (local && std::ranges::find(dimensions_, spelled) == dimensions_.end()) dimensions_.push_back(spelled);
  if (!of_launch && !local) parameters_.try_emplace(spelled, Expression::variable(variable));
  return spelled;
}

/// A product of parameters is one more parameter: what is proven for all values of it holds for those that it has.
std::string InstanceText::parameter(const Polynomial::Factors& factors) {
  std::string spelled = factors.size() == 1 && Expression::is_name(factors[0]) ? isl_name(factors[0]) : "p";
  Expression product = Polynomial::factor(factors[0]);
  for (size_t i = 1; i < factors.size(); ++i) product = product * Polynomial::factor(factors[i]);
  if (spelled == "p") {
    for (auto& [known, expression] : parameters_)
      if (expression == product) return known;
    spelled = "product_" + std::to_string(parameters_.size());
  }
  parameters_.try_emplace(spelled, std::move(product));
  return spelled;
}

std::optional<std::string> InstanceText::affine(const Expression& expression) {
  auto polynomial = Polynomial::of(expression);
  return polynomial ? affine(*polynomial) : std::nullopt;
}

std::optional<std::string> InstanceText::affine(const Polynomial& polynomial) {
  std::string text;
  auto products = polynomial.products();
  auto put = [&](int64_t coefficient, const std::string& factor) {
    text += (text.empty() ? "" : " + ") + std::to_string(coefficient) + (factor.empty() ? "" : " * (" + factor + ")");
  };
  // bid.x + nctaid.x * k: the blocks that a thread of a grid-stride loop stands for, one after the other.
  for (auto& [factors, coefficient] : polynomial.products()) {
    if (factors.size() != 2 || !factors[0].starts_with("loop.") || !factors[1].starts_with("nctaid.")) continue;
    const std::string block = "bid." + factors[1].substr(factors[1].size() - 1);
    auto same = products.find({block});
    if (same == products.end() || same->second != coefficient) return std::nullopt;
    products.erase(same), products.erase(factors);
    std::string spelled = "stride_" + isl_name(block) + "_" + isl_name(factors[0]);
    if (strided_.insert({block, factors[0]}).second) {
      dimensions_.push_back(spelled);
      add("0 <= " + spelled);
    }
    put(coefficient, spelled);
  }
  for (auto& [factors, coefficient] : products) {
    if (factors.empty()) {
      put(coefficient, "");
      continue;
    }
    std::vector<std::string> positions;
    Polynomial::Factors others;
    for (auto& factor : factors) (is_position(Polynomial::factor(factor)) ? positions : others).push_back(factor);
    if (positions.size() > 1 || (positions.size() == 1 && !others.empty())) return std::nullopt;
    // A quotient of parameters is understood, or is one more parameter.
    auto single = factors.size() == 1 ? value(factors[0]) : std::nullopt;
    if (!single && !positions.empty()) return std::nullopt;
    put(coefficient, single ? *single : parameter(others));
  }
  return text.empty() ? "0" : text;
}

/// nullopt: not understood.
std::optional<std::string> InstanceText::value(const std::string& factor) {
  if (Expression::is_name(factor)) return name(factor);
  if (auto found = known_.find(factor); found != known_.end()) return found->second;
  Expression expression = Polynomial::factor(factor);
  const Op op = expression.op();
  auto operands = expression.operands();
  auto keep = [&](std::string text) { return std::optional(known_[factor] = std::move(text)); };
  if (is_condition(op)) {
    std::string yes = condition(expression, true), no = condition(expression, false), v = fresh();
    add("((" + yes + " and " + v + " = 1) or (" + no + " and " + v + " = 0))");
    return keep(v);
  }
  if (op == Op::Conditional) {
    std::string yes = condition(operands[0], true), no = condition(operands[0], false);
    auto then = affine(operands[1]), otherwise = affine(operands[2]);
    if (!then || !otherwise) return std::nullopt;
    std::string v = fresh();
    add("((" + yes + " and " + v + " = " + *then + ") or (" + no + " and " + v + " = " + *otherwise + "))");
    return keep(v);
  }
  if (operands.size() != 2) return std::nullopt;
  auto left = affine(operands[0]);
  if (!left) return std::nullopt;
  if (op == Op::Min || op == Op::Max) {
    auto right = affine(operands[1]);
    if (!right) return std::nullopt;
    std::string v = fresh(), first = op == Op::Min ? " <= " : " >= ", second = op == Op::Min ? " < " : " > ";
    add("((" + v + " = " + *left + " and " + *left + first + *right + ") or (" + v + " = " + *right + " and " + *right +
        second + *left + "))");
    return keep(v);
  }
  auto constant = operands[1].as_constant();
  if (!constant) return std::nullopt;
  auto floored = [&](int64_t by) {
    std::string q = fresh(), size = std::to_string(by);
    add("0 <= " + *left + " - " + size + " * " + q + " < " + size);
    return q;
  };
  switch (op) {
    case Op::ShiftRight: return *constant >= 0 && *constant < 40 ? keep(floored(int64_t(1) << *constant)) : std::nullopt;
    case Op::BitAnd:
      // The low bits, or all but those.
      if (*constant > 0 && std::has_single_bit(uint64_t(*constant) + 1))
        return keep(*left + " - " + std::to_string(*constant + 1) + " * " + floored(*constant + 1));
      if (*constant < 0 && *constant > -(int64_t(1) << 40) && std::has_single_bit(uint64_t(-*constant)))
        return keep(std::to_string(-*constant) + " * " + floored(-*constant));
      return std::nullopt;
    case Op::CeilDiv: {
      if (*constant <= 0) return std::nullopt;
      std::string q = fresh(), size = std::to_string(*constant);
      add("0 <= " + size + " * " + q + " - (" + *left + ") < " + size);
      return keep(q);
    }
    case Op::Divide:
    case Op::Remainder: {
      if (*constant <= 0) return std::nullopt;
      std::string q = fresh(), size = std::to_string(*constant), rest = *left + " - " + size + " * " + q;
      add("((" + *left + " >= 0 and 0 <= " + rest + " < " + size + ") or (" + *left + " < 0 and 0 >= " + rest + " > -" +
          size + "))");
      return keep(op == Op::Divide ? q : rest);
    }
    default: return std::nullopt;
  }
}

std::string InstanceText::open_condition(const std::string& what) {
  exact_ = false;
  if (open_.empty()) open_ = what;
  return "1 = 1";
}

std::string InstanceText::compare(const Expression& left, const Expression& right, const char* op) {
  auto a = Polynomial::of(left), b = Polynomial::of(right);
  auto difference = a && b ? a->minus(*b) : std::nullopt;
  // An iteration is never negative, whichever dimension stands for it.
  if (difference && difference->products().size() == 1 && std::string_view(op) == ">=" &&
      difference->products().begin()->first.size() == 1 &&
      difference->products().begin()->first[0].starts_with("loop.") && difference->products().begin()->second == 1) {
    const bool had = plain_.contains(difference->products().begin()->first[0]);
    std::string text = *affine(*difference) + " >= 0";
    if (!had) plain_.erase(difference->products().begin()->first[0]);
    return text;
  }
  auto text = difference ? affine(*difference) : std::nullopt;
  if (!text) return open_condition(left.text() + " " + op + " " + right.text());
  return *text + " " + op + " 0";
}

std::string InstanceText::condition(const Expression& expression, bool wanted) {
  auto operands = expression.operands();
  auto both = [&](const char* word) {
    return "(" + condition(operands[0], wanted) + " " + word + " " + condition(operands[1], wanted) + ")";
  };
  if (auto value = expression.as_constant()) return (*value != 0) == wanted ? "1 = 1" : "1 = 0";
  switch (expression.op()) {
    case Op::And: return both(wanted ? "and" : "or");
    case Op::Or: return both(wanted ? "or" : "and");
    case Op::Not: return condition(operands[0], !wanted);
    case Op::Less: return compare(operands[0], operands[1], wanted ? "<" : ">=");
    case Op::LessEqual: return compare(operands[0], operands[1], wanted ? "<=" : ">");
    case Op::Greater: return compare(operands[0], operands[1], wanted ? ">" : "<=");
    case Op::GreaterEqual: return compare(operands[0], operands[1], wanted ? ">=" : "<");
    case Op::Equal:
    case Op::NotEqual: {
      const bool equal = (expression.op() == Op::Equal) == wanted;
      if (operands[1].is_constant(0) && is_condition(operands[0].op())) return condition(operands[0], !equal);
      if (equal) return compare(operands[0], operands[1], "=");
      return "(" + compare(operands[0], operands[1], "<") + " or " + compare(operands[0], operands[1], ">") + ")";
    }
    case Op::Conditional:
      return "((" + condition(operands[0], true) + " and " + condition(operands[1], wanted) + ") or (" +
             condition(operands[0], false) + " and " + condition(operands[2], wanted) + "))";
    default: {
      auto text = affine(expression);
      if (!text) return open_condition(expression.text());
      return wanted ? "(" + *text + " < 0 or " + *text + " > 0)" : *text + " = 0";
    }
  }
}

void InstanceText::constrain(const Expression& domain) { add(condition(domain, true)); }

std::set<std::string> InstanceText::clashes() const {
  std::set<std::string> both;
  for (auto& [block, counter] : strided_)
    for (auto& variable : {block, counter})
      if (plain_.contains(variable)) both.insert(variable);
  return both;
}

std::string InstanceText::reason() const {
  if (!open_.empty()) return open_;
  auto clash = clashes();
  return clash.empty() ? "" : *clash.begin() + ", which a grid-stride loop also uses on its own";
}

std::vector<std::string> InstanceText::thread_dimensions() const {
  std::vector<std::string> names;
  for (int axis = 0; axis < 3; ++axis) {
    names.push_back(std::string("tid_") + kAxes[axis]);
    const std::string block = std::string("bid.") + kAxes[axis];
    auto stride = std::ranges::find(strided_, block, [](auto& pair) { return pair.first; });
    names.push_back(stride == strided_.end() ? isl_name(block)
                                             : "stride_" + isl_name(block) + "_" + isl_name(stride->second));
  }
  return names;
}

std::string InstanceText::dimensions() const { return joined(dimensions_, ", "); }
std::string InstanceText::constraints() const { return joined(constraints_, " and "); }
std::string InstanceText::parameter_list() const {
  std::vector<std::string> names;
  for (auto& [name, expression] : parameters_) names.push_back(name);
  return joined(names, ", ");
}

}  // namespace kernelift::legality
