// narrow_division: a division of 64-bit integers takes some seventy instructions where their upper halves are not zero,
// and still a test and a branch where they are; one of 32 bits takes twenty.
//   const size_t row = i / width;      becomes      const size_t row = (size_t)((unsigned)i / (unsigned)width);
// Operands are sums, products, quotients and remainders of parameters, of the launch's indices and sizes, and of
// counters with a bound; each has then a bound over parameters and the launch. That none of these bounds, nor any that
// it is made of, exceeds 2^31 - 1 is the premise, which a launch can ask.
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>

#include "core/base/words.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

using Op = Expression::Op;

constexpr int64_t kLargest = 2147483647;
constexpr size_t kMostConditions = 8;  ///< More of them nobody reads.
constexpr unsigned kNarrow = 32;

bool is_division(const clang::Expr* value) {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(value);
  return binary && (binary->getOpcode() == clang::BO_Div || binary->getOpcode() == clang::BO_Rem);
}

/// The value before conversions between integers that keep every number up to kLargest.
const clang::Expr* before_conversions(const clang::Expr* value, const clang::ASTContext& context) {
  for (;;) {
    value = value->IgnoreParens();
    auto* cast = llvm::dyn_cast<clang::CastExpr>(value);
    if (!cast) return value;
    const clang::QualType to = cast->getType(), from = cast->getSubExpr()->getType();
    const bool keeps = cast->getCastKind() == clang::CK_LValueToRValue || cast->getCastKind() == clang::CK_NoOp ||
                       (cast->getCastKind() == clang::CK_IntegralCast && context.getTypeSize(to) >= kNarrow);
    if (!keeps || to->isDependentType() || from->isBooleanType()) return value;
    value = cast->getSubExpr();
  }
}

/// Bounds of values, over parameters and the launch's sizes, and the conditions under which they are any.
class UpperBounds {
 public:
  UpperBounds(const KernelSource& source, const clang::FunctionDecl* kernel)
      : source_(source), kernel_(kernel), changed_(changed_after_declaration(kernel->getBody())) {}

  /// Whether a number of 32 bits holds the operand, under conditions(); if not, these are as they were.
  bool fit(const clang::Expr* operand) {
    if (is_narrow(operand)) return true;
    const size_t before = conditions_.size();
    if (of(operand) && conditions_.size() <= kMostConditions) return true;
    conditions_.resize(before);
    return false;
  }
  const std::vector<Expression>& conditions() const { return conditions_; }

 private:
  /// An unsigned number of 32 bits, which was made wider.
  bool is_narrow(const clang::Expr* value) const {
    for (;;) {
      value = value->IgnoreParens();
      const auto width = source_.context().getTypeSize(value->getType());
      if (value->getType()->isUnsignedIntegerType() && width <= kNarrow) return true;
      auto* cast = llvm::dyn_cast<clang::CastExpr>(value);
      const auto kind = cast ? cast->getCastKind() : clang::CK_Dependent;
      if (width <= kNarrow || (kind != clang::CK_IntegralCast && kind != clang::CK_NoOp)) return false;
      value = cast->getSubExpr();
    }
  }
  void require(Expression condition) {
    if (std::ranges::find(conditions_, condition) == conditions_.end()) conditions_.push_back(std::move(condition));
  }
  std::optional<Expression> limited(Expression bound) {
    const Expression simple = bound.simplified();
    if (auto constant = simple.as_constant()) return *constant <= kLargest ? std::optional(simple) : std::nullopt;
    require(Expression::binary(Op::LessEqual, bound, Expression::constant(kLargest)));
    return bound;
  }

  /// Of a number that is not negative; nullopt: none is known, or the number may be negative.
  std::optional<Expression> of(const clang::Expr* value) {
    value = before_conversions(value, source_.context());
    if (value->isTypeDependent() || value->isValueDependent() || !value->getType()->isIntegerType())
      return std::nullopt;
    clang::Expr::EvalResult known;
    if (value->EvaluateAsInt(known, source_.context())) {
      const llvm::APSInt& number = known.Val.getInt();
      const bool small = !number.isNegative() && number.ule(static_cast<uint64_t>(kLargest));
      return small ? std::optional(Expression::constant(static_cast<int64_t>(number.getZExtValue()))) : std::nullopt;
    }
    if (auto builtin = builtin_of(value)) return of_builtin(builtin->first, builtin->second);
    if (auto* name = llvm::dyn_cast<clang::DeclRefExpr>(value)) return of_variable(name);
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(value);
    return binary ? of_operation(binary) : std::nullopt;
  }

  std::optional<Expression> of_builtin(const std::string& name, char member) {
    if (member != 'x' && member != 'y' && member != 'z') return std::nullopt;
    const bool of_grid = name == "blockIdx" || name == "gridDim";
    return limited(Expression::variable((of_grid ? "gridDim." : "blockDim.") + std::string(1, member)));
  }

  std::optional<Expression> of_variable(const clang::DeclRefExpr* name) {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(name->getDecl());
    if (!variable || variable->getType()->isReferenceType() || variable->getType().isVolatileQualified() ||
        !variable->hasLocalStorage())
      return std::nullopt;
    if (changed_.contains(variable)) return of_counter(name, variable);
    auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(variable);
    if (!parameter) return variable->getInit() ? of(variable->getInit()) : std::nullopt;
    if (parameter->getDeclContext() != kernel_) return std::nullopt;
    const Expression number = Expression::variable(parameter->getNameAsString());
    if (parameter->getType()->isSignedIntegerType())
      require(Expression::binary(Op::GreaterEqual, number, Expression::constant(0)));
    const bool always =
        source_.context().getTypeSize(parameter->getType()) < kNarrow ||
        (parameter->getType()->isSignedIntegerType() && source_.context().getTypeSize(parameter->getType()) == kNarrow);
    return always ? number : limited(number);
  }

  /// In the body of `for (i = …; i < n; i += …)` its counter is below n.
  std::optional<Expression> of_counter(const clang::Expr* name, const clang::VarDecl* variable) {
    const clang::Stmt* inner = name;
    for (auto* outer = source_.parent(name); outer; inner = outer, outer = source_.parent(outer)) {
      auto* loop = llvm::dyn_cast<clang::ForStmt>(outer);
      if (!loop || loop->getBody() != inner) continue;
      auto counted = CountedLoop::of(loop, true);
      if (!counted || counted->counter != variable) continue;
      auto* condition = llvm::cast<clang::BinaryOperator>(loop->getCond());
      if (!of(counted->first) || (counted->step && !of(counted->step))) return std::nullopt;
      return of(condition->getRHS());
    }
    return std::nullopt;
  }

  /// blockIdx.x * blockDim.x, in either order, or blockIdx and threadIdx of it: the axis of the three.
  std::optional<char> axis_of_threads(const clang::Expr* left, const clang::Expr* right) const {
    auto builtin = [&](const clang::Expr* value) { return builtin_of(before_conversions(value, source_.context())); };
    for (auto [blocks, thread] : {std::pair(left, right), {right, left}}) {
      auto* product = llvm::dyn_cast<clang::BinaryOperator>(before_conversions(blocks, source_.context()));
      auto index = builtin(thread);
      if (!product || product->getOpcode() != clang::BO_Mul || !index || index->first != "threadIdx") continue;
      auto a = builtin(product->getLHS()), b = builtin(product->getRHS());
      if (!a || !b || a->second != index->second || b->second != index->second) continue;
      if ((a->first == "blockIdx" && b->first == "blockDim") || (a->first == "blockDim" && b->first == "blockIdx"))
        return index->second;
    }
    return std::nullopt;
  }

  std::optional<Expression> of_operation(const clang::BinaryOperator* binary) {
    auto *left = binary->getLHS(), *right = binary->getRHS();
    if (binary->getOpcode() == clang::BO_Add)
      if (auto axis = axis_of_threads(left, right)) {
        const std::string member = std::string(".") + *axis;
        return limited(Expression::variable("gridDim" + member) * Expression::variable("blockDim" + member));
      }
    auto a = of(left);
    if (!a) return std::nullopt;
    if (binary->getOpcode() == clang::BO_Shr) return of(right) ? a : std::nullopt;
    auto b = of(right);
    if (!b) return std::nullopt;
    switch (binary->getOpcode()) {
      case clang::BO_Add: return limited(*a + *b);
      case clang::BO_Mul: return limited(*a * *b);
      case clang::BO_Div: return a;
      case clang::BO_Rem: return b;
      default: return std::nullopt;
    }
  }

  const KernelSource& source_;
  const clang::FunctionDecl* kernel_;
  const std::set<const clang::VarDecl*> changed_;
  std::vector<Expression> conditions_;
};

class Narrowing {
 public:
  Narrowing(const KernelSource& source, const clang::FunctionDecl* kernel) : source_(source), bounds_(source, kernel) {}

  /// Adds the division's edit; false if it stays as it is.
  bool add(const clang::BinaryOperator* division, std::vector<TextEdit>& edits) {
    const clang::QualType type = division->getType();
    if (type->isDependentType() || !type->isIntegerType() || source_.context().getTypeSize(type) <= kNarrow ||
        division->getRHS()->isValueDependent() || division->getRHS()->isEvaluatable(source_.context()) ||
        !is_invariant(division, {}))
      return false;
    auto range = source_.span(division);
    const std::string text = narrowed(division);
    if (!range || text.empty()) return false;
    auto* converted = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(source_.parent(division));
    const bool at_once = converted && converted->getCastKind() == clang::CK_IntegralCast &&
                         source_.context().getTypeSize(converted->getType()) == kNarrow;
    edits.push_back(
        {range->begin, range->end, at_once ? text : "(" + type.getUnqualifiedType().getAsString() + ")(" + text + ")"});
    return true;
  }
  Expression premise() const {
    Expression all = bounds_.conditions().front();
    for (size_t i = 1; i < bounds_.conditions().size(); ++i)
      all = Expression::binary(Op::And, std::move(all), bounds_.conditions()[i]);
    return all;
  }
  bool has_premise() const { return !bounds_.conditions().empty(); }

 private:
  /// The value as an unsigned number; empty: it may not fit, or cannot be spelled.
  std::string narrowed(const clang::Expr* value) {
    const clang::Expr* inner = before_conversions(value, source_.context());
    if (is_division(inner)) {
      auto* division = llvm::cast<clang::BinaryOperator>(inner);
      const bool nested = is_division(before_conversions(division->getRHS(), source_.context()));
      const std::string left = narrowed(division->getLHS()), right = narrowed(division->getRHS());
      if (left.empty() || right.empty()) return "";
      return left + (division->getOpcode() == clang::BO_Div ? " / " : " % ") + (nested ? "(" + right + ")" : right);
    }
    const std::string text = source_.spelled(value->IgnoreParens());
    if (text.empty() || !bounds_.fit(value)) return "";
    if (llvm::isa<clang::IntegerLiteral>(inner)) return text;
    const bool word = std::ranges::all_of(text, [](char c) { return word_character(c) || c == '.'; });
    const bool is_unsigned = value->IgnoreParenImpCasts()->getType()->isUnsignedIntegerType() &&
                             source_.context().getTypeSize(value->IgnoreParenImpCasts()->getType()) == kNarrow;
    return (is_unsigned ? "" : "(unsigned)") + (word ? text : "(" + text + ")");
  }

  const KernelSource& source_;
  UpperBounds bounds_;
};

std::vector<Opportunity> find_narrow_division(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel) return {};
  Opportunity found;
  found.place = source.name(kernel);
  Narrowing narrowing(source, kernel);
  walk(kernel->getBody(), [&](const clang::Stmt* statement) {
    auto* division = llvm::dyn_cast<clang::BinaryOperator>(statement);
    return !division || !is_division(division) || !narrowing.add(division, found.edits);
  });
  if (found.edits.empty()) return {};
  if (narrowing.has_premise()) found.premises.push_back(facts.premise(narrowing.premise()));
  return {found};
}

}  // namespace

const Rule kNarrowDivision = {"narrow_division",
                              "divide 64-bit indices as 32-bit numbers, where the launch's sizes allow that",
                              "a quotient or remainder of 64-bit integers that are made of parameters, indices and "
                              "counters with bounds, by a divisor that is not constant",
                              {},
                              find_narrow_division,
                              {Bound::Compute, Bound::Latency},
                              0.1};

}  // namespace kernelift::tuner
