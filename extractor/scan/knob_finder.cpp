// One pass over the closures (what feeds the device text) and one over the launches (what feeds the geometry); the two
// meet in a map from the place where the value is spelled. What is only compared is told by walking the text from above:
// a compared constant is left out before the walk reaches it.
#include "extractor/scan/knob_finder.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/MacroInfo.h"
#include "extractor/scan/geometry_text.h"

namespace kernelift {
namespace {

using namespace clang;

/// Integer constants declared inside bodies.
class LocalConstants : public DynamicRecursiveASTVisitor {
 public:
  bool VisitVarDecl(VarDecl* variable) override {
    if (variable->isLocalVarDecl()) all.push_back(variable);
    return true;
  }
  std::vector<const VarDecl*> all;
};

/// A literal or a name of a constant, or arithmetic over those alone.
bool is_constant(const Expr* e) {
  e = e->IgnoreParenCasts();
  if (auto* unary = llvm::dyn_cast<UnaryOperator>(e)) return is_constant(unary->getSubExpr());
  if (auto* binary = llvm::dyn_cast<BinaryOperator>(e)) return is_constant(binary->getLHS()) && is_constant(binary->getRHS());
  auto* reference = llvm::dyn_cast<DeclRefExpr>(e);
  if (!reference) return llvm::isa<IntegerLiteral>(e);
  auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
  return llvm::isa<EnumConstantDecl>(reference->getDecl()) || (variable && variable->getType().isConstQualified());
}

/// The constants that device text does more with than to compare: literals by where they are spelled (in a macro's
/// definition, if one brought them), others by where they are declared, which a template's instances share.
class TurnableUses : public DynamicRecursiveASTVisitor {
 public:
  TurnableUses(const ParsedUnit& unit, const SourceItems& items) : unit_(unit), items_(items) {}

  void take(const Closure& closure) {
    for (int index : closure.items)
      if (taken_.insert(index).second)
        for (auto* declaration : items_[index].declarations) TraverseDecl(const_cast<Decl*>(declaration));
  }
  bool any_of(SourceLocation place) const { return places_.count(place) > 0; }
  bool any_of(const ValueDecl* constant) const { return any_of(constant->getCanonicalDecl()->getLocation()); }

  bool TraverseStmt(Stmt* statement) override { return left_out_.count(statement) || DynamicRecursiveASTVisitor::TraverseStmt(statement); }
  bool VisitFunctionDecl(FunctionDecl* function) override {
    if (is_host_only(function) && function->doesThisDeclarationHaveABody()) left_out_.insert(function->getBody());
    return true;
  }
  bool VisitForStmt(ForStmt* loop) override { return bound(loop->getCond()), true; }
  bool VisitWhileStmt(WhileStmt* loop) override { return bound(loop->getCond()), true; }
  bool VisitDoStmt(DoStmt* loop) override { return bound(loop->getCond()), true; }
  bool VisitBinaryOperator(BinaryOperator* op) override {
    if (op->isComparisonOp()) compare(op, op->getLHS(), op->getRHS());
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr* call) override {  // In a template's pattern any operator may be one.
    if (call->isComparisonOp()) compare(call, call->getArg(0), call->getArg(1));
    return true;
  }
  bool VisitCaseStmt(CaseStmt* label) override { return left_out_.insert({label->getLHS(), label->getRHS()}), true; }
  bool VisitAttributedStmt(AttributedStmt* statement) override {
    for (auto* attribute : statement->getAttrs()) TraverseAttr(const_cast<Attr*>(attribute));
    return true;
  }
  bool VisitIntegerLiteral(IntegerLiteral* literal) override { return places_.insert(unit_.sources.getSpellingLoc(literal->getLocation())), true; }
  bool VisitDeclRefExpr(DeclRefExpr* e) override { return places_.insert(e->getDecl()->getCanonicalDecl()->getLocation()), true; }

 private:
  void compare(const Expr* comparison, const Expr* left, const Expr* right) {
    if (bounds_.count(comparison)) return;
    for (auto* side : {left, right})
      if (is_constant(side)) left_out_.insert(side);
  }
  /// A loop that runs as long as a comparison holds runs as often as the constant says.
  void bound(const Expr* condition) {
    if (!condition) return;
    condition = condition->IgnoreParenImpCasts();
    if (auto* negation = llvm::dyn_cast<UnaryOperator>(condition)) return bound(negation->getSubExpr());
    bounds_.insert(condition);
    if (auto* op = llvm::dyn_cast<BinaryOperator>(condition); op && op->isLogicalOp()) bound(op->getLHS()), bound(op->getRHS());
  }

  const ParsedUnit& unit_;
  const SourceItems& items_;
  std::set<int> taken_;
  std::set<SourceLocation> places_;
  std::unordered_set<const Stmt*> left_out_, bounds_;
};

class KnobTable {
 public:
  KnobTable(const ParsedUnit& unit, const TurnableUses& uses) : unit_(unit), uses_(uses) {
    for (auto& definition : unit.record.definitions) names_[definition.macro] = definition.name;
  }

  void macro(const MacroInfo* macro, const std::string& kernel, bool geometry) {
    auto name = names_.find(macro);
    if (name == names_.end() || macro->isFunctionLike() || macro->tokens_empty()) return;
    const Token* literal = nullptr;
    for (auto& token : macro->tokens()) {
      if (token.isOneOf(tok::l_paren, tok::r_paren)) continue;
      if (literal || token.isNot(tok::numeric_constant)) return;
      literal = &token;
    }
    if (!literal) return;
    auto text = unit_.preprocessor.getSpelling(*literal);
    auto value = integer(text);
    if (!value) return;
    Knob knob;
    knob.name = name->second, knob.value = *value, knob.is_macro = true;
    if (unit_.is_user(literal->getLocation())) {
      auto at = unit_.place(literal->getLocation());
      knob.value_range = unit_.range(at.file, at.offset, at.offset + literal->getLength());
    } else if (!unit_.path(unit_.place(literal->getLocation()).file).empty()) {
      return;  // A system header's constant. What has no file was given on the command line, and is the user's.
    }
    add(std::move(knob), kernel, geometry, uses_.any_of(literal->getLocation()));
  }

  void constant(const VarDecl* variable, const std::string& kernel, bool geometry) {
    bool fixed = variable->isConstexpr() || variable->getType().isConstQualified();
    auto type = variable->getType();
    if (!fixed || belongs_to_type(variable) || !type->isIntegerType() || type->isBooleanType()) return;
    const Expr* init = variable->getAnyInitializer();
    if (!init || variable->hasAttr<CUDASharedAttr>()) return;
    literal(variable, constant_name(variable), init, kernel, geometry);
  }

  void enumerator(const EnumConstantDecl* constant, const std::string& kernel, bool geometry) {
    if (!belongs_to_type(constant))
      literal(constant, constant_name(constant), constant->getInitExpr(), kernel, geometry);
  }

  std::vector<Knob> take() {
    std::vector<Knob> all;
    for (auto& [place, found] : knobs_)
      if (found.turnable) all.push_back(std::move(found.knob));
    return all;
  }

 private:
  static std::optional<int64_t> integer(const std::string& spelling) {
    auto parsed = Expression::parse(spelling);
    if (!parsed.ok()) return std::nullopt;
    auto value = parsed->evaluate({});
    return value.ok() ? std::optional(*value) : std::nullopt;
  }
  void literal(const ValueDecl* constant, const std::string& name, const Expr* init, const std::string& kernel, bool geometry) {
    init = init->IgnoreParenImpCasts();
    if (auto* constant = llvm::dyn_cast<ConstantExpr>(init)) init = constant->getSubExpr()->IgnoreParenImpCasts();
    if (auto* list = llvm::dyn_cast<InitListExpr>(init); list && list->getNumInits() == 1)
      init = list->getInit(0)->IgnoreParenImpCasts();
    auto* number = llvm::dyn_cast<IntegerLiteral>(init);
    if (!number || number->getBeginLoc().isMacroID() || !unit_.is_user(number->getBeginLoc())) return;
    auto extent = unit_.extent(number->getSourceRange());
    if (!extent || !number->getValue().isIntN(63)) return;
    Knob knob;
    knob.name = name, knob.value = static_cast<int64_t>(number->getValue().getZExtValue());
    knob.value_range = unit_.range(extent->first.file, extent->first.offset, extent->second);
    add(std::move(knob), kernel, geometry, uses_.any_of(constant));
  }
  void add(Knob knob, const std::string& kernel, bool geometry, bool turnable) {
    auto key = std::tuple(knob.value_range.file, knob.value_range.begin, knob.name);
    auto& [entry, seen_turnable] = knobs_.try_emplace(key, Found{std::move(knob)}).first->second;
    (geometry ? entry.in_geometry : entry.in_kernel) = true;
    seen_turnable |= geometry || turnable;
    if (std::find(entry.kernels.begin(), entry.kernels.end(), kernel) == entry.kernels.end())
      entry.kernels.push_back(kernel);
  }

  struct Found {
    Knob knob;
    bool turnable = false;  ///< Something does more with it than to compare.
  };
  const ParsedUnit& unit_;
  const TurnableUses& uses_;
  std::map<const MacroInfo*, std::string> names_;
  std::map<std::tuple<std::string, uint64_t, std::string>, Found> knobs_;
};

}  // namespace

std::vector<Knob> find_knobs(const ParsedUnit& unit, const SourceItems& items, const std::vector<FoundKernel>& kernels,
                             const std::vector<KernelClosure>& closures, const std::vector<FoundLaunch>& launches,
                             const std::function<std::string(const FunctionDecl*)>& label) {
  TurnableUses uses(unit, items);
  for (auto& one : closures) uses.take(one.closure);
  KnobTable table(unit, uses);
  for (auto& [index, closure] : closures) {
    std::string kernel = label(kernels[index].function);
    for (auto* macro : closure.macros) table.macro(macro, kernel, false);
    for (auto* variable : closure.variables) table.constant(variable, kernel, false);
    for (auto* constant : closure.enumerators) table.enumerator(constant, kernel, false);
    LocalConstants local;
    for (auto* function : closure.functions)
      if (unit.is_user(function->getLocation()) && function->getBody()) local.TraverseStmt(function->getBody());
    for (auto* variable : local.all) table.constant(variable, kernel, false);
  }
  for (auto& launch : launches)
    for (auto* function : launch.kernels) {
      std::string kernel = label(function);
      for (auto* macro : launch.macros) table.macro(macro, kernel, true);
      for (auto* variable : launch.constants) table.constant(variable, kernel, true);
      for (auto* constant : launch.enumerators) table.enumerator(llvm::cast<EnumConstantDecl>(constant), kernel, true);
    }
  return table.take();
}

}  // namespace kernelift
