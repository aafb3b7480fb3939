// Text of expressions: a precedence-climbing parser, and the printer whose text it reads back.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <vector>

#include "core/model/launch/expression.h"

namespace kernelift {
namespace {

using Op = Expression::Op;

struct BinaryOperator {
  const char* spelling;
  Op op;
  int precedence;
};
// C's table; longer spellings first so that "<<" is not read as "<".
constexpr BinaryOperator kOperators[] = {
    {"||", Op::Or, 1},        {"&&", Op::And, 2},          {"==", Op::Equal, 6},     {"!=", Op::NotEqual, 6},
    {"<=", Op::LessEqual, 7}, {">=", Op::GreaterEqual, 7}, {"<<", Op::ShiftLeft, 8}, {">>", Op::ShiftRight, 8},
    {"|", Op::BitOr, 3},      {"^", Op::BitXor, 4},        {"&", Op::BitAnd, 5},     {"<", Op::Less, 7},
    {">", Op::Greater, 7},    {"+", Op::Add, 9},           {"-", Op::Subtract, 9},   {"*", Op::Multiply, 10},
    {"/", Op::Divide, 10},    {"%", Op::Remainder, 10}};
constexpr int kTernaryPrecedence = 0, kComparison = 7, kSum = 9, kProduct = 10, kUnaryPrecedence = 11, kPrimary = 12;
struct Function {
  const char* name;
  Op op;
};
constexpr Function kFunctions[] = {{"min", Op::Min}, {"max", Op::Max}, {"ceil_div", Op::CeilDiv}};
// A pathological text must end in an error, not in a stack overflow.
constexpr int kMaxDepth = 200;
constexpr int kMostOperators = 10000;  // A chain of them is a deep tree, which is walked by recursion.

/// Of types that hold every size of a launch; a cast to a narrower one would have to be followed.
bool is_integer_type_word(std::string_view word) {
  for (auto known : {"int", "unsigned", "long", "size_t", "signed", "const", "uint32_t", "int32_t", "uint64_t",
                     "int64_t", "uint", "dim3", "std::size_t"})
    if (word == known) return true;
  return false;
}

/// Where the name that begins at `begin` ends; `begin` itself if none begins there. An element of a member that is an
/// array is one: "v.sizes[0]".
size_t end_of_name(std::string_view text, size_t begin) {
  size_t end = begin;
  if (end == text.size() || (!std::isalpha(static_cast<unsigned char>(text[end])) && text[end] != '_')) return end;
  auto is_part = [&] {
    return std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.' ||
           text.substr(end, 2) == "::" || (text[end] == ':' && end > 0 && text[end - 1] == ':');
  };
  for (;;) {
    while (end < text.size() && is_part()) ++end;
    const size_t close = text.find_first_not_of("0123456789", std::min(end + 1, text.size()));
    const bool element = end < text.size() && text[end] == '[' && close != text.npos && close > end + 1 &&
                         text[close] == ']' && text.substr(begin, end - begin).find('.') != text.npos;
    if (!element) return end;
    end = close + 1;
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression> parse_all() {
    KERNELIFT_ASSIGN(Expression root, ternary());
    skip_space();
    if (at_ != text_.size()) return fail("unexpected " + here());
    // "- -x" is printed as "-(-x)", which is nested deeper: what is read must be readable again once it is printed.
    constexpr int kSurelyPrintable = kMaxDepth / 4;
    if (deepest_ > kSurelyPrintable && !again_ && !Parser(root.text(), true).parse_all().ok()) return too_deep();
    return root;
  }

 private:
  /// The character at which reading ended, of however many bytes it is.
  std::string here() const {
    if (at_ >= text_.size()) return "end";
    auto continues = [&](size_t i) {
      return i < text_.size() && (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80;
    };
    size_t end = at_ + 1;
    while (continues(end)) ++end;
    return "'" + std::string(text_.substr(at_, end - at_)) + "'";
  }
  Parser(std::string_view text, bool again) : text_(text), again_(again) {}
  Error fail(const std::string& what) const {
    return usage_error("cannot read the expression '" + std::string(text_) + "': " + what + " at column " +
                       std::to_string(at_ + 1));
  }
  Error too_deep() const { return fail("nested too deeply"); }
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
    return text_.substr(at_, end_of_name(text_, at_) - at_);
  }
  bool at_digit() const { return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); }

  /// Counts a level of recursion while it lives.
  struct Level {
    explicit Level(Parser& parser) : parser(parser) { parser.deepest_ = std::max(parser.deepest_, ++parser.depth_); }
    ~Level() { --parser.depth_; }
    bool too_deep() const { return parser.depth_ > kMaxDepth; }
    Parser& parser;
  };

  Result<Expression> ternary() {
    Level level(*this);
    if (level.too_deep()) return too_deep();
    KERNELIFT_ASSIGN(Expression condition, binary(1));
    if (!take("?")) return condition;
    KERNELIFT_ASSIGN(Expression then, ternary());
    if (!take(":")) return fail("expected ':'");
    KERNELIFT_ASSIGN(Expression otherwise, ternary());
    return Expression::conditional(condition, then, otherwise);
  }

  Result<Expression> binary(int lowest) {
    KERNELIFT_ASSIGN(Expression left, unary());
    for (;;) {
      const BinaryOperator* found = nullptr;
      skip_space();
      for (auto& op : kOperators)
        if (text_.substr(at_, std::string_view(op.spelling).size()) == op.spelling) {
          found = &op;
          break;
        }
      if (!found || found->precedence < lowest) return left;
      if (++operators_ > kMostOperators) return fail("too long");
      at_ += std::string_view(found->spelling).size();
      KERNELIFT_ASSIGN(Expression right, binary(found->precedence + 1));
      left = Expression::binary(found->op, left, right);
    }
  }

  Result<Expression> unary() {
    Level level(*this);
    if (level.too_deep()) return too_deep();
    if (take("+")) return unary();
    if (take("-")) {
      skip_space();
      if (at_digit()) return number(true);
      KERNELIFT_ASSIGN(Expression operand, unary());
      return Expression::unary(Op::Negate, operand);
    }
    for (auto [spelling, op] : {std::pair("!", Op::Not), std::pair("~", Op::Complement)})
      if (take(spelling)) {
        KERNELIFT_ASSIGN(Expression operand, unary());
        return Expression::unary(op, operand);
      }
    return primary();
  }

  /// With the sign in front of it, since the smallest number has no positive counterpart.
  Result<Expression> number(bool negative) {
    size_t begin = at_;
    int base = 10;
    if (text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X") base = 16, at_ += 2;
    else if (text_[at_] == '0') base = 8;
    __int128 value = 0;
    size_t digits = 0;
    for (; at_ < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[at_])); ++at_, ++digits) {
      char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_])));
      int digit = c >= 'a' ? c - 'a' + 10 : c - '0';
      if (digit >= base) break;
      value = value * base + digit;
      if (value - negative > std::numeric_limits<int64_t>::max()) return fail("number too large");
    }
    if (!digits) return fail("expected a number");
    while (at_ < text_.size() && std::strchr("uUlLzZ", text_[at_])) ++at_;
    if (at_ < text_.size() && (text_[at_] == '.' || std::isalnum(static_cast<unsigned char>(text_[at_])))) {
      at_ = begin;
      return fail("only integers can be used");
    }
    if (negative && value == 0) return Expression::unary(Op::Negate, Expression());
    return Expression::constant(static_cast<int64_t>(negative ? -value : value));
  }

  Result<Expression> primary() {
    skip_space();
    if (at_ == text_.size()) return fail("the text ends too early");
    if (at_digit()) return number(false);
    if (take("(")) {
      // `(unsigned int)x` is a cast to be ignored; `(n + 1)` is a parenthesis.
      size_t saved = at_;
      bool only_types = false;
      for (std::string_view word = peek_word(); is_integer_type_word(word); word = peek_word())
        at_ += word.size(), only_types = true;
      if (only_types && take(")")) return unary();
      at_ = saved;
      KERNELIFT_ASSIGN(Expression inner, ternary());
      if (!take(")")) return fail("expected ')'");
      return inner;
    }
    std::string word(peek_word());
    if (word.empty()) return fail("unexpected " + here());
    at_ += word.size();
    if (word == "static_cast") {
      if (!take("<")) return fail("expected '<'");
      for (std::string_view type = peek_word(); is_integer_type_word(type); type = peek_word()) at_ += type.size();
      if (!take(">")) return fail("only casts to int or a wider integer type can be used");
      return primary();
    }
    if (!take("(")) return Expression::variable(word);
    if (word.starts_with("std::")) word = word.substr(5);
    std::vector<Expression> arguments;
    if (!take(")")) {
      do {
        KERNELIFT_ASSIGN(Expression argument, ternary());
        arguments.push_back(argument);
      } while (take(","));
      if (!take(")")) return fail("expected ')'");
    }
    if (is_integer_type_word(word) && arguments.size() == 1) return arguments[0];
    for (auto& function : kFunctions)
      if (word == function.name && arguments.size() == 2)
        return Expression::binary(function.op, arguments[0], arguments[1]);
    return fail("'" + word + "' is not a function that can be used here (min, max and ceil_div of two values are)");
  }

  std::string_view text_;
  bool again_ = false;
  size_t at_ = 0;
  int depth_ = 0, deepest_ = 0, operators_ = 0;
};

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

using Spellings = std::map<std::string, std::string>;

/// How tightly the text of someone else holds together: `(n + 31) / 32` needs no brackets in a sum, and gets some in a
/// product, for readers.
int precedence_of(const std::string& text) {
  if (is_primary(text)) return kPrimary;
  auto expression = Expression::parse(text);
  if (!expression.ok()) return kTernaryPrecedence;
  if (expression->op() == Op::CeilDiv || expression->op() == Op::Divide) return kSum;
  for (auto& [spelling, op, mine] : kOperators)
    if (op == expression->op()) return mine;
  return kTernaryPrecedence;
}

/// `names`: what stands for variables; null: the names that they have. `is_cpp`: in C++; else min, max and ceil_div are
/// functions.
std::string print(const Expression& node, int lowest, const Spellings* names, bool is_cpp) {
  auto child = [&](size_t which, int least) { return print(node.operands()[which], least, names, is_cpp); };
  auto bracketed = [&](const std::string& text, int precedence) {
    return precedence < lowest ? "(" + text + ")" : text;
  };
  if (auto value = node.as_constant())
    return bracketed(std::to_string(*value), *value < 0 ? kUnaryPrecedence : kPrimary);
  if (auto* name = node.as_variable()) {
    auto found = names ? names->find(*name) : Spellings::const_iterator();
    if (!names || found == names->end()) return *name;
    return bracketed(found->second, precedence_of(found->second));
  }
  if (node.operands().size() == 1) {
    const char* sign = node.op() == Op::Negate ? "-" : node.op() == Op::Not ? "!" : "~";
    return bracketed(sign + child(0, kPrimary), kUnaryPrecedence);
  }
  if (node.op() == Op::Conditional)
    return bracketed(child(0, 1) + " ? " + child(1, 1) + " : " + child(2, 0), kTernaryPrecedence);
  for (auto& [spelling, op, mine] : kOperators)
    if (op == node.op()) return bracketed(child(0, mine) + " " + spelling + " " + child(1, mine + 1), mine);
  if (!is_cpp)
    for (auto& [name, op] : kFunctions)
      if (op == node.op()) return std::string(name) + "(" + child(0, 0) + ", " + child(1, 0) + ")";
  if (node.op() != Op::CeilDiv)
    return bracketed(child(0, kComparison + 1) + (node.op() == Op::Min ? " < " : " > ") + child(1, kComparison + 1) +
                         " ? " + child(0, 1) + " : " + child(1, 0),
                     kTernaryPrecedence);
  auto divisor = node.operands()[1].as_constant();
  std::string less_one = divisor && *divisor > 0 ? std::to_string(*divisor - 1) : child(1, kSum) + " - 1";
  return bracketed("(" + child(0, kSum) + " + " + less_one + ") / " + child(1, kProduct + 1), kProduct);
}

}  // namespace

bool Expression::is_name(std::string_view text) {
  return !text.empty() && end_of_name(text, 0) == text.size() && text != "static_cast";
}

std::optional<Op> Expression::binary_op(std::string_view spelling) {
  for (auto& one : kOperators)
    if (spelling == one.spelling) return one.op;
  return std::nullopt;
}

bool Expression::reads_back() const { return size() <= kMostOperators && parse(text()).ok(); }

Result<Expression> Expression::parse(std::string_view text) { return Parser(text).parse_all(); }
std::string Expression::text() const { return print(*this, 0, nullptr, false); }
std::string Expression::text(const Spellings& names) const { return print(*this, 0, &names, false); }
std::string Expression::cpp(const Spellings& names) const { return print(*this, 0, &names, true); }

}  // namespace kernelift
