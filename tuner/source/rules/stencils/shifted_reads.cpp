// See shifted_reads.h.
#include "tuner/source/rules/stencils/shifted_reads.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

namespace kernelift::tuner {
namespace {

/// As 64-bit addresses are computed.
int64_t product_of(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

IndexSum::IndexSum(int64_t constant) {
  if (constant != 0) products_[{}] = constant;
}

IndexSum IndexSum::variable(const std::string& name) {
  IndexSum sum;
  sum.products_[{name}] = 1;
  return sum;
}

void IndexSum::add(const Factors& factors, int64_t coefficient) {
  auto& sum = products_[factors];
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(coefficient));
  if (sum == 0) products_.erase(factors);
}

IndexSum IndexSum::plus(const IndexSum& other, int64_t times) const {
  IndexSum sum = *this;
  for (auto& [factors, coefficient] : other.products_) sum.add(factors, product_of(coefficient, times));
  return sum;
}

IndexSum IndexSum::times(const IndexSum& other) const {
  IndexSum product;
  for (auto& [factors, coefficient] : products_)
    for (auto& [more, by] : other.products_) {
      Factors all = factors;
      all.insert(all.end(), more.begin(), more.end());
      std::sort(all.begin(), all.end());
      product.add(all, product_of(coefficient, by));
    }
  return product;
}

std::optional<IndexSum> IndexSum::coefficient(const std::string& variable) const {
  IndexSum of;
  for (auto& [factors, coefficient] : products_) {
    const auto count = std::count(factors.begin(), factors.end(), variable);
    if (count > 1) return std::nullopt;
    if (count == 0) continue;
    Factors others = factors;
    std::erase(others, variable);
    of.add(others, coefficient);
  }
  return of;
}

size_t ReadRun::gap(size_t distance) const {
  for (size_t next = distance + 1; next < at.size(); ++next)
    if (!at[next].empty()) return next - distance;
  return 0;
}

IndexSums::IndexSums(const KernelSource& source, const clang::Stmt* kernel_body, const clang::VarDecl* index)
    : IndexSums(source, kernel_body, std::vector<const clang::VarDecl*>{index}) {}

IndexSums::IndexSums(const KernelSource& source, const clang::Stmt* kernel_body,
                     std::vector<const clang::VarDecl*> indices)
    : source_(source), indices_(std::move(indices)), index_name_(name(indices_.front())) {
  walk(kernel_body, [&](const clang::Stmt* statement) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    auto change = [&](const clang::Expr* lvalue) {
      if (auto* variable = lvalue ? variable_of(lvalue) : nullptr) changed_.insert(variable);
    };
    change(assigned_by(statement));
    auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
    if (unary && unary->getOpcode() == clang::UO_AddrOf) change(unary->getSubExpr());
    if (llvm::isa<clang::CallExpr>(statement)) changed_.merge(changed_within(statement));
    if (!declaration) return true;
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || !variable->getType()->isReferenceType()) continue;
      changed_.insert(variable);
      change(variable->getInit());
    }
    return true;
  });
}

std::string IndexSums::name(const clang::ValueDecl* variable) {
  return variable->getNameAsString() + "#" + std::to_string(variable->getID());
}

bool IndexSums::is_index(const clang::ValueDecl* variable) const {
  return std::ranges::find(indices_, variable) != indices_.end();
}

bool IndexSums::is_fixed(const clang::Expr* expression, int depth) const {
  if (depth == 0 || !is_invariant(expression, changed_)) return false;
  auto variables = variables_in(expression);
  return std::ranges::all_of(variables, [&](auto* variable) {
    return !is_index(variable) && (llvm::isa<clang::ParmVarDecl>(variable) || !variable->hasLocalStorage() ||
                                   (variable->getInit() && is_fixed(variable->getInit(), depth - 1)));
  });
}

std::optional<IndexSum> IndexSums::of_variable(const clang::ValueDecl* declared, int depth) const {
  if (is_index(declared) || llvm::isa<clang::NonTypeTemplateParmDecl>(declared))
    return IndexSum::variable(name(declared));
  auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
  if (!variable || changed_.contains(variable) || variable->getType().isVolatileQualified()) return std::nullopt;
  if (llvm::isa<clang::ParmVarDecl>(variable)) return IndexSum::variable(name(variable));
  if (!variable->getInit() || (!variable->hasLocalStorage() && !variable->getType().isConstQualified()))
    return std::nullopt;
  if (auto sum = of(variable->getInit(), depth - 1)) return sum;
  return is_fixed(variable->getInit(), depth) ? std::optional(IndexSum::variable(name(variable))) : std::nullopt;
}

std::optional<IndexSum> IndexSums::of(const clang::Expr* expression, int depth) const {
  if (depth == 0) return std::nullopt;
  expression = expression->IgnoreParenCasts();
  if (!expression->getType()->isDependentType() && !expression->getType()->isIntegralOrEnumerationType())
    return std::nullopt;
  clang::Expr::EvalResult value;
  if (!expression->isValueDependent() && expression->EvaluateAsInt(value, source_.context()))
    return IndexSum(value.Val.getInt().getExtValue());
  if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression)) return of_variable(reference->getDecl(), depth);
  if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression);
      unary && (unary->getOpcode() == clang::UO_Minus || unary->getOpcode() == clang::UO_Plus)) {
    auto sum = of(unary->getSubExpr(), depth);
    return sum && unary->getOpcode() == clang::UO_Minus ? std::optional(IndexSum().plus(*sum, -1)) : sum;
  }
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(expression);
  if (binary && (binary->isAdditiveOp() || binary->getOpcode() == clang::BO_Mul)) {
    auto left = of(binary->getLHS(), depth), right = of(binary->getRHS(), depth);
    if (!left || !right) return std::nullopt;
    return binary->isAdditiveOp() ? left->plus(*right, binary->getOpcode() == clang::BO_Add ? 1 : -1)
                                  : left->times(*right);
  }
  const std::string text = squeezed(source_.spelled(expression));
  return !text.empty() && is_fixed(expression, depth) ? std::optional(IndexSum::variable(text)) : std::nullopt;
}

bool is_read(const KernelSource& source, const clang::Expr* element) {
  const clang::Stmt *below = element, *up = source.parent(element);
  // `n > 0 ? table[i] : table[j]`, too.
  auto passes_on = [&] {
    auto* choice = llvm::dyn_cast_or_null<clang::ConditionalOperator>(up);
    return llvm::isa_and_nonnull<clang::ParenExpr>(up) || (choice && choice->getCond() != below);
  };
  while (passes_on()) below = up, up = source.parent(up);
  if (auto* cast = llvm::dyn_cast_or_null<clang::ImplicitCastExpr>(up))
    return cast->getCastKind() == clang::CK_LValueToRValue;
  // In a template the conversion is not there yet.
  auto* binary = llvm::dyn_cast_or_null<clang::BinaryOperator>(up);
  return binary && element->isTypeDependent() && (!binary->isAssignmentOp() || binary->getRHS() == below);
}

bool is_only_read(const KernelSource& source, const clang::Stmt* kernel_body, const clang::VarDecl* array) {
  bool only = true, mentioned = false;
  walk(kernel_body, [&](const clang::Stmt* statement) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    if (!reference || reference->getDecl() != array) return only;
    mentioned = true;
    const clang::Stmt *below = reference, *up = source.parent(reference);
    while (llvm::isa_and_nonnull<clang::ImplicitCastExpr, clang::ParenExpr>(up)) below = up, up = source.parent(up);
    auto* element = llvm::dyn_cast_or_null<clang::ArraySubscriptExpr>(up);
    return only &= element && element->getBase() == below && is_read(source, element);
  });
  return only && mentioned;
}

namespace {

class ShiftFinder {
 public:
  ShiftFinder(const KernelSource& source, const IndexSums& sums, const clang::Stmt* kernel_body)
      : source_(source), sums_(sums), kernel_body_(kernel_body) {}
  ShiftedReads run(const std::vector<const clang::Stmt*>& statements);

 private:
  /// Reads whose subscripts differ by multiples of what the index is multiplied by.
  struct Family {
    const clang::VarDecl* array = nullptr;
    IndexSum step, first;
    std::map<int64_t, std::vector<const clang::ArraySubscriptExpr*>> at;
    std::set<int64_t> always;  ///< Distances of which one read happens in each execution.
  };

  void add(const clang::ArraySubscriptExpr* element, bool always);
  void visit(const clang::Stmt* statement, bool always);

  const KernelSource& source_;
  const IndexSums& sums_;
  const clang::Stmt* kernel_body_;
  std::vector<Family> families_;
};

/// The multiple of `step` that `difference` is.
std::optional<int64_t> multiple(const IndexSum& difference, const IndexSum& step) {
  if (difference.is_zero()) return 0;
  auto& [factors, by] = *step.products().begin();
  auto found = difference.products().find(factors);
  if (found == difference.products().end() || found->second % by != 0) return std::nullopt;
  const int64_t count = found->second / by;
  return difference == IndexSum().plus(step, count) ? std::optional(count) : std::nullopt;
}

void ShiftFinder::add(const clang::ArraySubscriptExpr* element, bool always) {
  auto* array = named_variable(element->getBase());
  if (!array || !llvm::isa<clang::ParmVarDecl>(array) || !array->getType()->isPointerType() || sums_.changes(array) ||
      array->getType()->getPointeeType().isVolatileQualified())
    return;
  auto place = sums_.of(element->getIdx());
  auto step = place ? place->coefficient(sums_.index()) : std::nullopt;
  if (!step || step->is_zero()) return;
  for (auto& family : families_) {
    if (family.array != array || family.step != *step) continue;
    auto distance = multiple(place->plus(family.first, -1), *step);
    if (!distance) continue;
    auto& reads = family.at[*distance];
    reads.insert(always ? reads.begin() : reads.end(), element);
    if (always) family.always.insert(*distance);
    return;
  }
  families_.push_back({array, *step, *place, {{0, {element}}}, {}});
  if (always) families_.back().always.insert(0);
}

void ShiftFinder::visit(const clang::Stmt* statement, bool always) {
  if (!statement) return;
  auto children = [&](bool happen) {
    for (auto* child : statement->children()) visit(child, happen);
  };
  if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement)) {
    if (is_read(source_, element)) add(element, always);
    return children(always);
  }
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement)) {
    visit(branch->getCond(), always);
    visit(branch->getThen(), false);
    return visit(branch->getElse(), false);
  }
  if (auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(statement)) {
    visit(choice->getCond(), always);
    visit(choice->getTrueExpr(), false);
    return visit(choice->getFalseExpr(), false);
  }
  if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement); binary && binary->isLogicalOp()) {
    visit(binary->getLHS(), always);
    return visit(binary->getRHS(), false);
  }
  children(always && !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::SwitchStmt,
                                clang::CXXForRangeStmt, clang::LambdaExpr>(statement));
}

ShiftedReads ShiftFinder::run(const std::vector<const clang::Stmt*>& statements) {
  for (auto* statement : statements) visit(statement, true);
  ShiftedReads found;
  for (auto& family : families_) {
    if (family.at.size() < 2) continue;
    const std::string array = "`" + family.array->getNameAsString() + "` is ";
    if (!is_only_read(source_, kernel_body_, family.array)) {
      found.why_not = array + "not only read by its elements";
      continue;
    }
    const size_t before = found.runs.size();
    ReadRun run{family.array, {}};
    auto close = [&] {
      if (run.at.size() > 1) found.runs.push_back(run);
      run.at.clear();
    };
    int64_t last = 0;
    for (auto& [distance, reads] : family.at) {
      if (!family.always.contains(distance) || source_.spelled(reads.front()).empty()) continue;
      if (!run.at.empty() && distance - last > static_cast<int64_t>(ReadRun::kWidestGap)) close();
      if (!run.at.empty()) run.at.resize(run.at.size() + static_cast<size_t>(distance - last - 1));
      run.at.push_back(reads), last = distance;
    }
    close();
    if (found.runs.size() == before)
      found.why_not = array + (family.always.size() < family.at.size() ? "read under a condition or in a loop"
                                                                       : "read at distances that are too large");
  }
  return found;
}

}  // namespace

ShiftedReads shifted_reads(const KernelSource& source, const IndexSums& sums, const clang::Stmt* kernel_body,
                           const std::vector<const clang::Stmt*>& statements) {
  return ShiftFinder(source, sums, kernel_body).run(statements);
}

}  // namespace kernelift::tuner
