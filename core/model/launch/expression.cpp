// A precedence-climbing parser and a tree evaluator for launch and constraint expressions. Sub-expressions are shared,
// immutable nodes. Arithmetic is checked: a launch computed from a silently wrapped product would be a wrong launch.
#include "core/model/launch/expression.h"

#include <cctype>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace kernelift {

struct Expression::Node {
  enum class Kind { Constant, Variable, Unary, Binary, Ternary, Call } kind = Kind::Constant;
  int64_t value = 0;
  std::string name;  ///< Variable or function name, or operator spelling.
  std::vector<std::shared_ptr<const Node>> children;
};

namespace {

using Node = Expression::Node;
using NodePtr = std::shared_ptr<const Node>;
using Kind = Node::Kind;

struct Operator {
  const char* spelling;
  int precedence;
};
// C's table; longer spellings first so that "<<" is not read as "<".
constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
                                   {"<<", 8}, {">>", 8}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
                                   {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
constexpr int kTernaryPrecedence = 0, kUnaryPrecedence = 11, kPrimary = 12;
// A pathological text must end in an error, not in a stack overflow.
constexpr int kMaxDepth = 200;
constexpr int kMostOperators = 10000;  // A chain of them is a deep tree, which is walked by recursion.

int precedence_of(const std::string& spelling) {
  for (auto& op : kOperators)
    if (spelling == op.spelling) return op.precedence;
  return kUnaryPrecedence;
}

NodePtr make(Kind kind, std::string name, std::vector<NodePtr> children, int64_t value = 0) {
  auto node = std::make_shared<Node>();
  node->kind = kind, node->name = std::move(name), node->children = std::move(children), node->value = value;
  return node;
}

/// Of types that hold every size of a launch; a cast to a narrower one would have to be followed.
bool is_integer_type_word(std::string_view word) {
  for (auto known : {"int", "unsigned", "long", "size_t", "signed", "const", "uint32_t", "int32_t", "uint64_t",
                     "int64_t", "uint", "dim3", "std::size_t"})
    if (word == known) return true;
  return false;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<NodePtr> parse_all() {
    KERNELIFT_ASSIGN(NodePtr root, ternary());
    skip_space();
    if (at_ != text_.size()) return fail("unexpected '" + std::string(1, text_[at_]) + "'");
    return root;
  }

 private:
  Error fail(const std::string& what) const {
    return usage_error("cannot read the expression '" + std::string(text_) + "': " + what + " at column " +
                       std::to_string(at_ + 1));
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string_view peek_word() {
    skip_space();
    size_t end = at_;
    if (end < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      while (end < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_' || text_[end] == '.' ||
              text_.substr(end, 2) == "::" || (text_[end] == ':' && end > 0 && text_[end - 1] == ':')))
        ++end;
    return text_.substr(at_, end - at_);
  }

  Result<NodePtr> ternary() {
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    KERNELIFT_ASSIGN(NodePtr condition, binary(1));
    if (!take("?")) {
      --depth_;
      return condition;
    }
    KERNELIFT_ASSIGN(NodePtr then, ternary());
    if (!take(":")) return fail("expected ':'");
    KERNELIFT_ASSIGN(NodePtr otherwise, ternary());
    --depth_;
    return make(Kind::Ternary, "?", {condition, then, otherwise});
  }

  Result<NodePtr> binary(int lowest) {
    KERNELIFT_ASSIGN(NodePtr left, unary());
    for (;;) {
      const Operator* found = nullptr;
      skip_space();
      for (auto& op : kOperators)
        if (text_.substr(at_, std::string_view(op.spelling).size()) == op.spelling) {
          found = &op;
          break;
        }
      if (!found || found->precedence < lowest) return left;
      if (++operators_ > kMostOperators) return fail("too long");
      at_ += std::string_view(found->spelling).size();
      KERNELIFT_ASSIGN(NodePtr right, binary(found->precedence + 1));
      left = make(Kind::Binary, found->spelling, {left, right});
    }
  }

  Result<NodePtr> unary() {
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    struct Leave {
      int& depth;
      ~Leave() { --depth; }
    } leave{depth_};
    for (auto op : {"-", "+", "!", "~"})
      if (take(op)) {
        KERNELIFT_ASSIGN(NodePtr operand, unary());
        return *op == '+' ? operand : make(Kind::Unary, op, {operand});
      }
    return primary();
  }

  Result<NodePtr> number() {
    size_t begin = at_;
    int base = 10;
    if (text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X") base = 16, at_ += 2;
    __int128 value = 0;
    size_t digits = 0;
    for (; at_ < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[at_])); ++at_, ++digits) {
      char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_])));
      int digit = c >= 'a' ? c - 'a' + 10 : c - '0';
      if (digit >= base) break;
      value = value * base + digit;
      if (value > std::numeric_limits<int64_t>::max()) return fail("number too large");
    }
    if (!digits) return fail("expected a number");
    while (at_ < text_.size() && std::strchr("uUlLzZ", text_[at_])) ++at_;
    if (at_ < text_.size() && (text_[at_] == '.' || std::isalnum(static_cast<unsigned char>(text_[at_])))) {
      at_ = begin;
      return fail("only integers can be used");
    }
    return make(Kind::Constant, {}, {}, static_cast<int64_t>(value));
  }

  Result<NodePtr> primary() {
    skip_space();
    if (at_ == text_.size()) return fail("the text ends too early");
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    if (take("(")) {
      // `(unsigned int)x` is a cast to be ignored; `(n + 1)` is a parenthesis.
      size_t saved = at_;
      bool only_types = false;
      for (std::string_view word = peek_word(); is_integer_type_word(word); word = peek_word())
        at_ += word.size(), only_types = true;
      if (only_types && take(")")) return unary();
      at_ = saved;
      KERNELIFT_ASSIGN(NodePtr inner, ternary());
      if (!take(")")) return fail("expected ')'");
      return inner;
    }
    std::string word(peek_word());
    if (word.empty()) return fail("unexpected '" + std::string(1, text_[at_]) + "'");
    at_ += word.size();
    if (word == "static_cast") {
      if (!take("<")) return fail("expected '<'");
      for (std::string_view type = peek_word(); is_integer_type_word(type); type = peek_word()) at_ += type.size();
      if (!take(">")) return fail("only casts to int or a wider integer type can be used");
      return primary();
    }
    if (!take("(")) return make(Kind::Variable, word, {});
    if (word.starts_with("std::")) word = word.substr(5);
    std::vector<NodePtr> arguments;
    if (!take(")")) {
      do {
        KERNELIFT_ASSIGN(NodePtr argument, ternary());
        arguments.push_back(argument);
      } while (take(","));
      if (!take(")")) return fail("expected ')'");
    }
    if (is_integer_type_word(word) && arguments.size() == 1) return arguments[0];
    if ((word == "min" || word == "max" || word == "ceil_div") && arguments.size() == 2)
      return make(Kind::Call, word, arguments);
    return fail("'" + word + "' is not a function that can be used here (min, max and ceil_div of two values are)");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0, operators_ = 0;
};

Result<int64_t> apply(const std::string& op, int64_t a, int64_t b) {
  int64_t result = 0;
  auto overflow = [&] { return usage_error("overflow in " + std::to_string(a) + " " + op + " " + std::to_string(b)); };
  if (op == "+") return __builtin_add_overflow(a, b, &result) ? Result<int64_t>(overflow()) : result;
  if (op == "-") return __builtin_sub_overflow(a, b, &result) ? Result<int64_t>(overflow()) : result;
  if (op == "*") return __builtin_mul_overflow(a, b, &result) ? Result<int64_t>(overflow()) : result;
  if (op == "/" || op == "%" || op == "ceil_div") {
    if (b == 0) return usage_error("division by zero in " + std::to_string(a) + " " + op + " 0");
    if (b == -1 && a == std::numeric_limits<int64_t>::min()) return overflow();
    if (op == "%") return a % b;
    return a / b + (op == "ceil_div" && a % b != 0 && ((a % b > 0) == (b > 0)));
  }
  if (op == "<<" || op == ">>") {
    if (b < 0 || b > 62 || a < 0) return overflow();
    if (op == ">>") return a >> b;
    return (a << b) >> b == a ? Result<int64_t>(a << b) : Result<int64_t>(overflow());
  }
  if (op == "min") return std::min(a, b);
  if (op == "max") return std::max(a, b);
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<") return int64_t(a < b);
  if (op == ">") return int64_t(a > b);
  if (op == "<=") return int64_t(a <= b);
  if (op == ">=") return int64_t(a >= b);
  if (op == "==") return int64_t(a == b);
  KERNELIFT_ASSERT(op == "!=", "an operator of the table");
  return int64_t(a != b);
}

Result<int64_t> evaluate_node(const Node& node, const Bindings& bindings) {
  switch (node.kind) {
    case Kind::Constant: return node.value;
    case Kind::Variable: {
      auto found = bindings.find(node.name);
      if (found == bindings.end()) return usage_error("'" + node.name + "' has no value");
      return found->second;
    }
    case Kind::Unary: {
      KERNELIFT_ASSIGN(int64_t value, evaluate_node(*node.children[0], bindings));
      if (node.name == "!") return int64_t(!value);
      if (node.name == "~") return ~value;
      return apply("-", 0, value);
    }
    case Kind::Ternary: {
      KERNELIFT_ASSIGN(int64_t condition, evaluate_node(*node.children[0], bindings));
      return evaluate_node(*node.children[condition ? 1 : 2], bindings);
    }
    case Kind::Binary:
    case Kind::Call: break;
  }
  KERNELIFT_ASSIGN(int64_t left, evaluate_node(*node.children[0], bindings));
  if (node.name == "&&" && !left) return int64_t(0);
  if (node.name == "||" && left) return int64_t(1);
  KERNELIFT_ASSIGN(int64_t right, evaluate_node(*node.children[1], bindings));
  if (node.name == "&&" || node.name == "||") return int64_t(right != 0);
  return apply(node.name, left, right);
}

void collect_variables(const Node& node, std::set<std::string>& into) {
  if (node.kind == Kind::Variable) into.insert(node.name);
  for (auto& child : node.children) collect_variables(*child, into);
}

/// Text that needs no brackets whatever is written beside it: `grid.x`, `sizes[i + 1]`, `blocks(n)`, `(a + b)`.
bool is_primary(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '(' || c == '[') ++depth;
    else if (c == ')' || c == ']') --depth;
    else if (depth == 0) {
      bool arrow = text.substr(at, 2) == "->";
      if (!arrow && !std::isalnum(static_cast<unsigned char>(c)) && !std::strchr("_.:", c)) return false;
      if (!arrow && at > 0 && text[at - 1] == ')' && c != '.') return false;  // `(int)x` is a cast.
      at += arrow;
    }
  }
  return true;
}

/// `names`: null for text that parses back, else for C++.
std::string print(const Node& node, int lowest, const std::map<std::string, std::string>* names) {
  auto child = [&](int which, int least) { return print(*node.children[which], least, names); };
  auto bracketed = [&](const std::string& text, int precedence) {
    return precedence < lowest ? "(" + text + ")" : text;
  };
  switch (node.kind) {
    case Kind::Constant: return bracketed(std::to_string(node.value), node.value < 0 ? kUnaryPrecedence : kPrimary);
    case Kind::Variable: {
      auto found = names ? names->find(node.name) : std::map<std::string, std::string>::const_iterator();
      if (!names || found == names->end()) return node.name;
      return bracketed(found->second, is_primary(found->second) ? kPrimary : kTernaryPrecedence);
    }
    case Kind::Unary: return bracketed(node.name + child(0, kPrimary), kUnaryPrecedence);
    case Kind::Binary: {
      int mine = precedence_of(node.name);
      return bracketed(child(0, mine) + " " + node.name + " " + child(1, mine + 1), mine);
    }
    case Kind::Ternary: return bracketed(child(0, 1) + " ? " + child(1, 1) + " : " + child(2, 0), kTernaryPrecedence);
    case Kind::Call: break;
  }
  if (!names) return node.name + "(" + child(0, 0) + ", " + child(1, 0) + ")";
  int sum = precedence_of("+"), product = precedence_of("*"), comparison = precedence_of("<");
  if (node.name != "ceil_div")
    return bracketed(child(0, comparison + 1) + (node.name == "min" ? " < " : " > ") + child(1, comparison + 1) +
                         " ? " + child(0, 1) + " : " + child(1, 0),
                     kTernaryPrecedence);
  const Node& divisor = *node.children[1];
  std::string less_one = divisor.kind == Kind::Constant ? std::to_string(divisor.value - 1) : child(1, sum) + " - 1";
  return bracketed("(" + child(0, sum) + " + " + less_one + ") / " + child(1, product + 1), product);
}

const int64_t* constant_of(const NodePtr& node) { return node->kind == Kind::Constant ? &node->value : nullptr; }
bool is_constant(const NodePtr& node, int64_t value) { return node->kind == Kind::Constant && node->value == value; }
NodePtr constant_node(int64_t value) { return make(Kind::Constant, {}, {}, value); }

/// `a op b` of simplified operands.
NodePtr simplified_binary(Kind kind, const std::string& op, NodePtr a, NodePtr b) {
  const int64_t *left = constant_of(a), *right = constant_of(b);
  bool lazy = op == "&&" || op == "||";
  if (left && right && !lazy)
    if (auto value = apply(op, *left, *right); value.ok()) return constant_node(*value);
  bool divides = op == "/" || op == "ceil_div";
  if ((op == "*" || op == "+") && left) std::swap(a, b), std::swap(left, right);
  if (op == "*" && is_constant(b, 0)) return b;
  if ((op == "*" || divides) && is_constant(b, 1)) return a;
  if ((op == "+" || op == "-" || op == "<<" || op == ">>") && is_constant(b, 0)) return a;
  if (right && *right > 0 && a->kind != Kind::Constant && a->children.size() == 2) {
    const int64_t* inner = constant_of(a->children[1]);
    int64_t product = 0;
    bool fits = inner && *inner > 0 && !__builtin_mul_overflow(*inner, *right, &product);
    // (x * 4) * 2, and ceil_div(ceil_div(x, 4), 2): division rounds the same way in one step as in two.
    if (fits && a->name == op && (op == "*" || divides))
      return make(kind, op, {a->children[0], constant_node(product)});
    if (int64_t common = fits ? std::gcd(*inner, *right) : 1; divides && a->name == "*" && common > 1)
      return simplified_binary(kind, op,
                               simplified_binary(Kind::Binary, "*", a->children[0], constant_node(*inner / common)),
                               constant_node(*right / common));
  }
  return make(kind, op, {a, b});
}

NodePtr simplify(const NodePtr& node, const Bindings& known) {
  if (node->kind == Kind::Variable) {
    auto found = known.find(node->name);
    return found == known.end() ? node : constant_node(found->second);
  }
  std::vector<NodePtr> children;
  for (auto& child : node->children) children.push_back(simplify(child, known));
  if (node->kind == Kind::Binary || node->kind == Kind::Call)
    return simplified_binary(node->kind, node->name, children[0], children[1]);
  if (node->kind == Kind::Ternary && constant_of(children[0])) return children[is_constant(children[0], 0) ? 2 : 1];
  return node->kind == Kind::Constant ? node : make(node->kind, node->name, children);
}

}  // namespace

Expression::Expression() : root_(make(Kind::Constant, {}, {}, 0)) {}
Expression Expression::constant(int64_t value) { return Expression(make(Kind::Constant, {}, {}, value)); }

Result<Expression> Expression::parse(std::string_view text) {
  KERNELIFT_ASSIGN(NodePtr root, Parser(text).parse_all());
  return Expression(root);
}

Result<int64_t> Expression::evaluate(const Bindings& bindings) const {
  auto value = evaluate_node(*root_, bindings);
  if (!value.ok()) return std::move(value).error().in("cannot compute '" + text() + "'");
  return value;
}

std::set<std::string> Expression::variables() const {
  std::set<std::string> found;
  collect_variables(*root_, found);
  return found;
}

std::string Expression::text() const { return print(*root_, 0, nullptr); }
std::string Expression::cpp(const std::map<std::string, std::string>& names) const { return print(*root_, 0, &names); }
Expression Expression::simplified(const Bindings& known) const { return Expression(simplify(root_, known)); }

}  // namespace kernelift
