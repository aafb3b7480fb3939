// float_literals: `x * 0.5` with a float x is computed in double, at a fraction of the hardware's rate for float, and
// then converted back. If a double expression consists of float operands and literals only, and its value is converted
// to float (or compared), its literals and mathematical functions get the suffix `f`. If an operand's type is spelled
// `real`, which may be double in another build, a literal becomes `real(0.5)` and overloading selects the function.
// Literals outside of float's range are left alone, and so are values that become integers.
#include <clang/AST/Expr.h>

#include "tuner/source/rules/arithmetic/rounding.h"
#include "tuner/source/rules/rule.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

const std::set<std::string>& double_functions() {
  static const std::set<std::string> names = {"sqrt",  "exp",  "exp2",  "log",   "log2",  "log10", "pow",  "sin",
                                              "cos",   "tan",  "fabs",  "floor", "ceil",  "fmin",  "fmax", "fma",
                                              "tanh",  "sinh", "cosh",  "atan",  "atan2", "asin",  "acos", "erf",
                                              "rsqrt", "cbrt", "round", "trunc", "fmod"};
  return names;
}

/// Functions with whole results, which another rounding of a computed argument may change. A float argument that is not
/// computed is exact.
bool truncates(llvm::StringRef function) {
  return function == "floor" || function == "ceil" || function == "round" || function == "trunc" || function == "fmod";
}

/// Position of the use of a macro whose whole value is this literal (`#define EPSILON 0.01`); the macro itself must not
/// be changed.
std::optional<size_t> macro_use(const KernelSource& source, const clang::FloatingLiteral* literal) {
  auto& sources = source.context().getSourceManager();
  auto& language = source.context().getLangOpts();
  clang::SourceLocation at = literal->getBeginLoc(), begin;
  if (!at.isMacroID() || !clang::Lexer::isAtStartOfMacroExpansion(at, sources, language, &begin) ||
      !clang::Lexer::isAtEndOfMacroExpansion(at, sources, language))
    return std::nullopt;
  auto range = sources.getExpansionRange(at);
  return range.getBegin() == range.getEnd() ? source.offset(range.getBegin()) : std::nullopt;
}

/// The edits by which an expression is computed in float.
struct Conversion {
  std::string type;  ///< The float type as the program spells it.
  std::vector<TextEdit> edits;
  bool possible = true, has_float = false;
};

void examine(const KernelSource& source, const clang::Expr* expression, Conversion& into) {
  expression = expression->IgnoreParens();
  clang::QualType type = expression->getType();
  auto& context = source.context();
  if (type->isDependentType()) {
    into.possible = false;
  } else if (context.hasSameUnqualifiedType(type, context.FloatTy)) {
    into.has_float = true;
  } else if (type->isIntegerType()) {
  } else if (auto* literal = llvm::dyn_cast<clang::FloatingLiteral>(expression)) {
    auto range = source.span(literal);
    std::string text = source.spelled(literal);
    if (!fits_single(literal)) into.possible = false;
    else if (auto use = macro_use(source, literal)) into.edits.push_back({*use, *use, "(" + into.type + ")"});
    else if (!range || text.empty() || text.find_first_of("xXfFlL_(") != text.npos) into.possible = false;
    else if (into.type == "float") into.edits.push_back({range->end, range->end, "f"});
    else into.edits.push_back({range->begin, range->end, into.type + "(" + text + ")"});
  } else if (auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(expression)) {
    examine(source, cast->getSubExpr(), into);
  } else if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression);
             unary && (unary->getOpcode() == clang::UO_Minus || unary->getOpcode() == clang::UO_Plus)) {
    examine(source, unary->getSubExpr(), into);
  } else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(expression);
             binary && (binary->isAdditiveOp() || binary->isMultiplicativeOp())) {
    examine(source, binary->getLHS(), into);
    examine(source, binary->getRHS(), into);
  } else if (auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(expression)) {
    examine(source, choice->getTrueExpr(), into);
    examine(source, choice->getFalseExpr(), into);
  } else if (auto* call = llvm::dyn_cast<clang::CallExpr>(expression)) {
    auto* callee = call->getDirectCallee();
    auto name = source.offset(call->getCallee()->getEndLoc());
    if (!callee || !callee->getIdentifier() || !name || !double_functions().contains(callee->getName().str())) {
      into.possible = false;
      return;
    }
    for (auto* argument : call->arguments())
      if (truncates(callee->getName()) &&
          !context.hasSameUnqualifiedType(argument->IgnoreParenImpCasts()->getType(), context.FloatTy))
        return void(into.possible = false);
    if (into.type == "float") {
      // Not every library has std::sqrtf beside std::sqrt; the unqualified sqrtf always exists.
      if (source.offset(call->getCallee()->getBeginLoc()) != name) return void(into.possible = false);
      into.edits.push_back({*name + callee->getName().size(), *name + callee->getName().size(), "f"});
    }
    for (auto* argument : call->arguments()) examine(source, argument, into);
  } else {
    into.possible = false;
  }
}

/// The comparison distinguishes a literal from its rounding to float: if x is 0.1f, `x < 0.1` is true in double and
/// false in float. Computed operands are rounded anyway.
bool distinguishes_rounding(const clang::BinaryOperator* comparison) {
  auto literal_of = [](const clang::Expr* side) {
    return llvm::dyn_cast<clang::FloatingLiteral>(side->IgnoreParenImpCasts());
  };
  auto* literal = literal_of(comparison->getRHS());
  auto* other = (literal ? comparison->getLHS() : comparison->getRHS())->IgnoreParenImpCasts();
  if (!literal) literal = literal_of(comparison->getLHS());
  if (!literal ||
      !llvm::isa<clang::DeclRefExpr, clang::ArraySubscriptExpr, clang::MemberExpr, clang::UnaryOperator>(other))
    return false;
  bool inexact = false;
  llvm::APFloat value = literal->getValue();
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return inexact;
}

std::vector<Opportunity> find_float_literals(const KernelSource& source, const RuleContext&, const Bindings&) {
  Opportunity found;
  found.place = "whole text",
  found.effects = {"lowers the precision of double constants, and of results computed with them, to float"};
  auto& context = source.context();
  bool compares = false;
  auto is = [&](clang::QualType type, clang::QualType wanted) {
    return !type->isDependentType() && context.hasSameUnqualifiedType(type, wanted);
  };
  for (auto* function : source.functions())
    walk(function->getBody(), [&](const clang::Stmt* statement) {
      std::vector<const clang::Expr*> roots;
      const clang::Expr* value = nullptr;  // The expression whose value becomes a float.
      if (auto* cast = llvm::dyn_cast<clang::CastExpr>(statement)) {
        if (is(cast->getType(), context.FloatTy) && is(cast->getSubExpr()->getType(), context.DoubleTy))
          roots = {cast->getSubExpr()}, value = cast;
      } else if (auto* compound = llvm::dyn_cast<clang::CompoundAssignOperator>(statement)) {
        if (is(compound->getLHS()->getType(), context.FloatTy) && is(compound->getRHS()->getType(), context.DoubleTy))
          roots = {compound->getRHS()}, value = compound->getRHS();
      } else if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement); binary && binary->isComparisonOp()) {
        if (is(binary->getLHS()->getType(), context.DoubleTy) && !distinguishes_rounding(binary))
          roots = {binary->getLHS(), binary->getRHS()};
      }
      if (roots.empty()) return true;
      auto name = float_name_around(source, statement);
      if (!name) return true;
      Conversion conversion;
      conversion.type = *name;
      for (auto* root : roots) examine(source, root, conversion);
      bool compound = llvm::isa<clang::CompoundAssignOperator>(statement);
      if (!conversion.possible || !(conversion.has_float || compound) || conversion.edits.empty()) return true;
      const RoundedUse then = value ? use_of(source, value) : RoundedUse::Compared;
      if (then == RoundedUse::Truncated) return true;
      compares |= then == RoundedUse::Compared;
      found.edits.insert(found.edits.end(), conversion.edits.begin(), conversion.edits.end());
      return false;
    });
  if (found.edits.empty()) return {};
  if (compares) found.effects.push_back(kComparesRounded);
  return {found};
}

}  // namespace

const Rule kFloatLiterals = {"float_literals",
                             "compute float expressions in float, not in double",
                             "a double expression of float operands and literals whose value becomes a float",
                             {},
                             find_float_literals,
                             {Bound::Compute}};

}  // namespace kernelift::tuner
