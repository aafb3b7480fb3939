// hoist: address arithmetic that a loop repeats. Mode 0 computes what does not change (`row * width`) once before the
// loop. Mode 1 also turns `k * stride`, with k the loop's counter, into a sum that grows by `stride` a turn:
//   for (int k = 0; k < n; k++) s += a[k * n + j];  ->  int k_step = 0 * n;  for (…; k++, k_step += n) s += a[k_step + j];
// LLVM does this itself where it can prove that nothing wraps; nvcc and 32-bit indices often leave it.
#include <clang/AST/Expr.h>

#include <map>

#include "tuner/source/rules/rule.h"

namespace kernelift {
namespace {

/// Worth a variable: a product, quotient or remainder that is no constant.
bool is_costly(const clang::Expr* expression, const KernelSource& source) {
  bool costly = false;
  walk(expression, [&](const clang::Stmt* statement) {
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
    costly |= binary && binary->isMultiplicativeOp();
    return true;
  });
  return costly && !expression->isValueDependent() && !expression->isEvaluatable(source.context());
}

std::string declared_type(const clang::Expr* expression, const KernelSource& source) {
  clang::QualType type = expression->getType().getUnqualifiedType();
  return type->isDependentType() ? "auto" : type.getCanonicalType().getAsString(source.context().getPrintingPolicy());
}

/// The counter of `for (T k = first; …; k++ or k += step)`, and its step; nullptr if the loop is of another kind.
const clang::VarDecl* counter(const clang::ForStmt* loop, const KernelSource& source, std::string& first, std::string& step) {
  auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  auto* variable = init && init->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl()) : nullptr;
  if (!variable || !variable->getInit() || !loop->getInc() || changed_within(loop->getBody()).contains(variable)) return nullptr;
  first = source.spelled(variable->getInit());
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(loop->getInc()); unary && unary->isIncrementOp()) step = "1";
  else if (auto* compound = llvm::dyn_cast<clang::CompoundAssignOperator>(loop->getInc());
           compound && compound->getOpcode() == clang::BO_AddAssign && is_invariant(compound->getRHS(), changed_within(loop)))
    step = source.spelled(compound->getRHS());
  else return nullptr;
  auto changed = changed_within(loop->getInc());
  return changed.size() == 1 && changed.contains(variable) && !first.empty() && !step.empty() ? variable : nullptr;
}

std::optional<Opportunity> in_loop(const KernelSource& source, const clang::ForStmt* loop, bool strength) {
  auto* outer = source.parent(loop);
  auto begin = source.span(loop);
  if (!outer || !llvm::isa<clang::CompoundStmt>(outer) || !begin || !source.first_on_line(begin->begin)) return std::nullopt;
  auto changed = changed_within(loop);
  std::string first, step;
  const clang::VarDecl* index = strength ? counter(loop, source, first, step) : nullptr;
  if (strength && !index) return std::nullopt;
  std::string indent = source.indentation(begin->begin), before, growth;
  std::map<std::string, std::string> names;   // By squeezed text, so that one value is computed once.
  Opportunity found;
  size_t stepped = 0;
  auto replace = [&](const clang::Expr* expression, bool steps, const clang::Expr* factor) {
    auto range = source.span(expression);
    std::string text = source.spelled(expression), key = squeezed(text);
    if (!range || text.empty()) return;
    if (!names.contains(key)) {
      std::string stem = steps ? index->getNameAsString() + "_step" : "offset", name = source.fresh_name(stem);
      for (int number = 2; before.find(" " + name + " ") != before.npos; ++number) name = source.fresh_name(stem + std::to_string(number));
      names[key] = name;
      if (steps) {
        std::string factor_text = source.spelled(factor);
        before += declared_type(expression, source) + " " + name + " = (" + first + ") * (" + factor_text + ");\n" + indent;
        growth += ", " + name + " += " + (step == "1" ? "" : "(" + step + ") * ") + (llvm::isa<clang::BinaryOperator>(factor->IgnoreImpCasts()) ? "(" + factor_text + ")" : factor_text);
        ++stepped;
      } else {
        before += "const " + declared_type(expression, source) + " " + name + " = " + text + ";\n" + indent;
      }
    }
    found.edits.push_back({range->begin, range->end, names[key]});
  };
  std::function<void(const clang::Expr*)> inside = [&](const clang::Expr* expression) {
    expression = expression->IgnoreImpCasts();
    if (!expression->getType()->isIntegerType()) return;
    if (is_costly(expression, source) && is_invariant(expression, changed)) return replace(expression, false, nullptr);
    if (auto* paren = llvm::dyn_cast<clang::ParenExpr>(expression)) return inside(paren->getSubExpr());
    auto* binary = llvm::dyn_cast<clang::BinaryOperator>(expression);
    if (!binary) return;
    if (index && binary->getOpcode() == clang::BO_Mul) {
      bool left = named_variable(binary->getLHS()) == index, right = named_variable(binary->getRHS()) == index;
      auto* factor = left ? binary->getRHS() : binary->getLHS();
      if (left != right && is_invariant(factor, changed)) return replace(binary, true, factor);
    }
    inside(binary->getLHS());
    inside(binary->getRHS());
  };
  walk(loop->getBody(), [&](const clang::Stmt* statement) {
    if (auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) inside(subscript->getIdx());
    return !llvm::isa<clang::LambdaExpr>(statement);
  });
  if (found.edits.empty() || (strength && !stepped)) return std::nullopt;
  found.place = "loop at line " + std::to_string(source.line(begin->begin));
  found.edits.push_back({begin->begin, begin->begin, before});
  if (!growth.empty()) {
    auto increment = source.span(loop->getInc());
    if (!increment) return std::nullopt;
    found.edits.push_back({increment->end, increment->end, growth});
  }
  return found;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext&, const Bindings& values) {
  std::vector<Opportunity> found;
  for (auto* function : source.functions())
    for (auto* loop : loops_in(function))
      if (auto opportunity = in_loop(source, loop, values.at("strength") != 0)) found.push_back(std::move(*opportunity));
  return found;
}

}  // namespace

const Rule kHoist = {"hoist", "compute a loop's invariant address arithmetic once; turn counter products into running sums",
                     "integer arithmetic on variables that the loop does not change", {{"strength", {0, 1}}}, find, {Bound::Compute}};

}  // namespace kernelift
