// See instance_text.h.
#include "core/legality/index/instance_text.h"

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

}  // namespace

std::string isl_name(const std::string& variable) {
  std::string name = variable;
  std::ranges::replace(name, '.', '_');
  return name;
}

std::string blocks_name(const LaunchShape& launch, int axis, Parameters& parameters) {
  const std::string unknown = std::string("nctaid_") + kAxes[axis];
  auto& grid = launch.grid[axis];
  if (!grid) {
    parameters.try_emplace(unknown, Expression::variable(std::string("nctaid.") + kAxes[axis]));
    return unknown;
  }
  if (auto constant = grid->as_constant()) return std::to_string(*constant);
  for (auto& [name, expression] : parameters)
    if (expression == *grid) return name;
  const std::string name = "blocks_" + std::to_string(parameters.size());
  parameters.emplace(name, *grid);
  return name;
}

InstanceText::InstanceText(const LaunchShape& launch, Parameters& parameters, Scope scope)
    : launch_(launch), parameters_(parameters), scope_(scope) {
  for (int axis = 0; axis < 3; ++axis) blocks_[axis] = blocks_name(launch, axis, parameters);
}

std::string InstanceText::dimension(std::string name) {
  if (std::ranges::find(dimensions_, name) == dimensions_.end()) dimensions_.push_back(name);
  return name;
}

std::string InstanceText::fresh() { return dimension("v" + std::to_string(dimensions_.size())); }

void InstanceText::fix_term(const std::string& variable, const Expression& stands_for) {
  std::string name;
  for (auto& [known, expression] : parameters_)
    if (expression == stands_for) name = known;
  if (name.empty()) parameters_.emplace(name = "uniform_" + std::to_string(parameters_.size()), stands_for);
  fixed_terms_[variable] = name;
}

/// What depends on the instance. Within a block its position does not.
bool InstanceText::is_position(const std::string& factor) const {
  return std::ranges::any_of(Polynomial::factor(factor).variables(), [&](auto& variable) {
    return variable.starts_with("tid.") || variable.starts_with("loop.") ||
           (variable.starts_with("term.") && !fixed_terms_.contains(variable)) ||
           (scope_ == Scope::Grid && variable.starts_with("bid."));
  });
}

/// The position of the one block that is looked at. It is no dimension's name: other texts share the parameters, and
/// may look at all blocks.
static std::string parameter_of_block(int axis) { return std::string("one_block_") + kAxes[axis]; }

std::string InstanceText::position(const char* kind, int axis) {
  const bool is_thread = std::string_view(kind) == "tid";
  if (along(launch_.block, axis) == 1) {
    if (is_thread) return "0";
    if (scope_ == Scope::Grid) return number(axis);
  }
  if (blocks_[axis] == "1") {
    if (!is_thread) return "0";
    if (scope_ == Scope::Grid) return number(axis);
  }
  (is_thread ? thread_apart_ : block_apart_)[axis] = true;
  if (scope_ == Scope::Block && !is_thread) {
    std::string name = parameter_of_block(axis);
    parameters_.try_emplace(name, Expression::variable(std::string("bid.") + kAxes[axis]));
    return name;
  }
  return std::string(kind) + "_" + kAxes[axis];
}

/// The thread's number along the axis of the grid.
std::string InstanceText::number(int axis) {
  joined_[axis] = true;
  return std::string("g_") + kAxes[axis];
}

std::string InstanceText::name(const std::string& variable) {
  for (int axis = 0; axis < 3; ++axis) {
    if (variable == std::string("tid.") + kAxes[axis]) return position("tid", axis);
    if (variable == std::string("bid.") + kAxes[axis]) return position("bid", axis);
    if (variable == std::string("nctaid.") + kAxes[axis]) return blocks_[axis];
    if (variable == std::string("ntid.") + kAxes[axis]) return std::to_string(along(launch_.block, axis));
  }
  std::string spelled = isl_name(variable);
  if (auto fixed = fixed_terms_.find(variable); fixed != fixed_terms_.end()) return fixed->second;
  if (variable.starts_with("term.")) uses_terms_ = true;
  if (variable.starts_with("loop.")) plain_.insert(variable);
  if (variable.starts_with("loop.") || variable.starts_with("term.")) return dimension(std::move(spelled));
  parameters_.try_emplace(spelled, Expression::variable(variable));
  return spelled;
}

/// A product of parameters is one more parameter: what is proven for all values of it holds for those that it has.
std::string InstanceText::parameter(const Polynomial::Factors& factors) {
  if (factors.size() == 1 && Expression::is_name(factors[0])) return name(factors[0]);
  Expression product = Polynomial::factor(factors[0]);
  for (size_t i = 1; i < factors.size(); ++i) product = product * Polynomial::factor(factors[i]);
  // The two sides of a comparison have different numbers of blocks, and numbers for their terms.
  for (auto& [term, fixed] : fixed_terms_) product = product.substitute({{term, parameters_.at(fixed)}});
  for (int axis = 0; axis < 3; ++axis)
    if (launch_.grid[axis]) product = product.substitute({{std::string("nctaid.") + kAxes[axis], *launch_.grid[axis]}});
  for (auto& [known, expression] : parameters_)
    if (expression == product) return known;
  std::string spelled = "product_" + std::to_string(parameters_.size());
  parameters_.emplace(spelled, std::move(product));
  return spelled;
}

std::optional<std::string> InstanceText::affine(const Expression& expression) {
  auto polynomial = Polynomial::of(expression);
  return polynomial ? affine(*polynomial) : std::nullopt;
}

std::optional<std::string> InstanceText::counter(const std::string& variable) {
  auto strided = strided_.find(variable);
  if (strided == strided_.end()) return name(variable);
  return plain_.contains(variable) ? std::nullopt : std::optional(strided->second);
}

namespace {
void put(std::string& text, int64_t coefficient, const std::string& factor) {
  text += (text.empty() ? "" : " + ") + std::to_string(coefficient) + (factor.empty() ? "" : " * (" + factor + ")");
}
}  // namespace

/// Takes positions that occur together out of the products: a thread's number in the grid, and what a grid-stride loop
/// makes of it or of the block, bid.x + nctaid.x * k, which over all blocks and iterations is every number once.
/// False: a grid's size is multiplied with a counter in some other way.
bool InstanceText::join_positions(std::map<Polynomial::Factors, int64_t>& products, std::string& text) {
  auto coefficient = [&](const std::string& factor) {
    auto found = products.find({factor});
    return found == products.end() ? int64_t(0) : found->second;
  };
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, kAxes[axis]), tid = "tid." + letter, bid = "bid." + letter, blocks = "nctaid." + letter;
    const int64_t threads = along(launch_.block, axis);
    auto strided = std::ranges::find_if(products, [&](auto& product) {
      return product.first.size() == 2 && product.first[0].starts_with("loop.") && product.first[1] == blocks;
    });
    if (strided != products.end()) {
      const std::string loop = strided->first[0];
      const int64_t step = strided->second;
      const bool constant = launch_.grid[axis] && launch_.grid[axis]->as_constant();
      if (coefficient(bid) != step) {
        if (!constant) return false;
        continue;
      }
      const bool whole = scope_ == Scope::Grid && (threads == 1 || coefficient(tid) * threads == step);
      const std::string spelled = (whole ? "gs_" : "bs_") + letter + "_" + isl_name(loop);
      auto [known, fresh] = strided_.try_emplace(loop, spelled);
      if (known->second != spelled) return false;
      products.erase({bid}), products.erase({loop, blocks});
      if (whole) products.erase({tid});
      if (fresh) dimension(spelled), add("0 <= " + spelled);
      put(text, whole ? step / threads : step, spelled);
    }
    const int64_t one = coefficient(tid);
    if (scope_ == Scope::Grid && one != 0 && threads > 1 && coefficient(bid) == one * threads) {
      products.erase({tid}), products.erase({bid});
      put(text, one, number(axis));
    }
  }
  return true;
}

std::optional<std::string> InstanceText::affine(const Polynomial& polynomial) {
  std::string text;
  auto products = polynomial.products();
  if (!join_positions(products, text)) return std::nullopt;
  for (auto& [factors, coefficient] : products) {
    if (factors.empty()) {
      put(text, coefficient, "");
      continue;
    }
    std::vector<std::string> positions;
    Polynomial::Factors others;
    int64_t scale = coefficient;
    for (auto& factor : factors) {
      auto* grid = factor.starts_with("nctaid.") ? &launch_.grid[factor.back() - 'x'] : nullptr;
      auto blocks = grid && *grid ? (*grid)->as_constant() : std::nullopt;
      if (blocks && __builtin_mul_overflow(scale, *blocks, &scale)) return std::nullopt;
      if (!blocks) (is_position(factor) ? positions : others).push_back(factor);
    }
    if (positions.size() > 1 || (positions.size() == 1 && !others.empty())) return std::nullopt;
    if (positions.empty() && others.empty()) {
      put(text, scale, "");
      continue;
    }
    // A quotient of parameters is understood, or is one more parameter.
    auto single =
        positions.size() + others.size() == 1 ? value(positions.empty() ? others[0] : positions[0]) : std::nullopt;
    if (!single && !positions.empty()) return std::nullopt;
    put(text, scale, single ? *single : parameter(others));
  }
  return text.empty() ? "0" : text;
}

/// nullopt: not understood.
std::optional<std::string> InstanceText::value(const std::string& factor) {
  if (Expression::is_name(factor)) return name(factor);
  if (auto found = known_.find(factor); found != known_.end()) return found->second;
  Expression expression = Polynomial::factor(factor);
  std::map<std::string, Expression> numbers;  // n / (4 * gridDim.x * blockDim.x), of such a grid.
  for (int axis = 0; axis < 3; ++axis)
    if (auto& grid = launch_.grid[axis]; grid && grid->as_constant())
      numbers.emplace(std::string("nctaid.") + kAxes[axis], *grid);
  if (!numbers.empty()) expression = expression.substitute(numbers);
  const Op op = expression.op();
  auto operands = expression.operands();
  auto keep = [&](std::string text) { return std::optional(known_[factor] = std::move(text)); };
  if (expression.is_condition()) {
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
  const auto constant = operands[1].simplified().as_constant();
  if (!constant) return std::nullopt;
  auto floored = [&](int64_t by) {
    std::string q = fresh(), size = std::to_string(by);
    add("0 <= " + *left + " - " + size + " * " + q + " < " + size);
    return q;
  };
  switch (op) {
    case Op::ShiftRight:
      return *constant >= 0 && *constant < 40 ? keep(floored(int64_t(1) << *constant)) : std::nullopt;
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
      if (never_negative(operands[0])) add("0 <= " + rest + " < " + size);
      else
        add("((" + *left + " >= 0 and 0 <= " + rest + " < " + size + ") or (" + *left + " < 0 and 0 >= " + rest +
            " > -" + size + "))");
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
  if (difference && difference->products().size() == 1 && std::string_view(op) == ">=") {
    auto& [factors, coefficient] = *difference->products().begin();
    if (factors.size() == 1 && factors[0].starts_with("loop.") && coefficient == 1)
      return dimension(isl_name(factors[0])) + " >= 0";
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
      if (operands[1].is_constant(0) && operands[0].is_condition()) return condition(operands[0], !equal);
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
  for (auto& [counter, dimension] : strided_) {
    if (plain_.contains(counter)) both.insert(counter);
    // Each is a dimension of its own, though one thread executes both.
    for (auto& [other, its] : strided_)
      if (other != counter && its[3] == dimension[3]) both.insert(counter);
    if (scope_ == Scope::Block) continue;
    const int axis = dimension[3] - 'x';
    if (joined_[axis] || block_apart_[axis] || (dimension[0] == 'g' && thread_apart_[axis]))
      both.insert(std::string("bid.") + dimension[3]);
  }
  return both;
}

std::string InstanceText::reason() const {
  if (!open_.empty()) return open_;
  auto clash = clashes();
  return clash.empty() ? "" : *clash.begin() + ", which a grid-stride loop also uses on its own";
}

std::string InstanceText::strided_along(int axis) const {
  for (auto& [counter, dimension] : strided_)
    if (scope_ == Scope::Grid && dimension[3] == kAxes[axis]) return dimension;
  return "";
}

std::string InstanceText::threads() const {
  std::string names;
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, kAxes[axis]), strided = strided_along(axis);
    std::string name = (scope_ == Scope::Block ? "0, tid_" : "0, g_") + letter;
    if (!strided.empty()) name = strided[0] == 'g' ? "0, " + strided : strided + ", tid_" + letter;
    names += (axis > 0 ? ", " : "") + name;
  }
  return names;
}

std::optional<std::array<std::string, 3>> InstanceText::block() const {
  std::array<std::string, 3> names;
  for (int axis = 0; axis < 3; ++axis) {
    if (!strided_along(axis).empty()) return std::nullopt;
    const std::string letter(1, kAxes[axis]), threads = std::to_string(along(launch_.block, axis));
    names[axis] = scope_ == Scope::Block                      ? "0"
                  : thread_apart_[axis] || block_apart_[axis] ? "bid_" + letter
                                                              : "floor(g_" + letter + "/" + threads + ")";
  }
  return names;
}

std::string InstanceText::dimensions() const {
  std::vector<std::string> all;
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, kAxes[axis]), strided = strided_along(axis);
    const bool apart = thread_apart_[axis] || block_apart_[axis];
    if (scope_ == Scope::Grid && strided.empty()) all.push_back("g_" + letter);
    if (scope_ == Scope::Block || apart || strided.starts_with("bs")) all.push_back("tid_" + letter);
    if (scope_ == Scope::Grid && apart && strided.empty()) all.push_back("bid_" + letter);
  }
  all.insert(all.end(), dimensions_.begin(), dimensions_.end());
  // Where a grid-stride loop clashes with them, they have any value.
  for (auto& name : {"g_x", "g_y", "g_z", "bid_x", "bid_y", "bid_z"})
    if (scope_ == Scope::Grid && !strided_along(name[std::string(name).size() - 1] - 'x').empty()) all.push_back(name);
  return joined(all, ", ");
}

std::string InstanceText::constraints() const {
  auto all = constraints_;
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, kAxes[axis]), threads = std::to_string(along(launch_.block, axis));
    const std::string g = "g_" + letter, tid = "tid_" + letter, bid = "bid_" + letter, strided = strided_along(axis);
    const bool apart = thread_apart_[axis] || block_apart_[axis];
    if (scope_ == Scope::Block || apart || strided.starts_with("bs")) all.push_back("0 <= " + tid + " < " + threads);
    if (scope_ == Scope::Block && block_apart_[axis])
      all.push_back("0 <= " + parameter_of_block(axis) + " < " + blocks_[axis]);
    if (scope_ == Scope::Block || !strided.empty()) continue;
    all.push_back("0 <= " + g + " < " + threads + " * " + blocks_[axis]);
    if (apart)
      all.push_back("0 <= " + bid + " < " + blocks_[axis] + " and " + g + " = " + threads + " * " + bid + " + " + tid);
  }
  return joined(all, " and ");
}

std::string InstanceText::parameter_list() const {
  std::vector<std::string> names;
  for (auto& [name, expression] : parameters_) names.push_back(name);
  return joined(names, ", ");
}

}  // namespace kernelift::legality
