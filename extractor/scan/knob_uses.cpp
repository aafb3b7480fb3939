// Two passes: a top-down walk records comparisons (their constants are excluded before the walk reaches them), the
// texts that determine an amount (the roots), and the assignments to each variable; then the data flow is followed
// backwards from the roots.
#include "extractor/scan/knob_uses.h"

#include <algorithm>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace kernelift::extractor {
namespace {

using namespace clang;

/// The function's definition; for an instance of a template, the pattern's.
const FunctionDecl* written(const FunctionDecl* function) {
  if (auto* pattern = function->getTemplateInstantiationPattern()) function = pattern;
  const FunctionDecl* definition = nullptr;
  return function->hasBody(definition) ? definition : function;
}

SourceLocation place_of(const ValueDecl* declaration) {
  if (auto* function = llvm::dyn_cast<FunctionDecl>(declaration)) return written(function)->getLocation();
  return declaration->getCanonicalDecl()->getLocation();
}

/// The declarations that an assignment to `target` writes to: `s` and `x` of `s.x`, `a` of `a[i]`, `p` of `*p`.
void add_targets(const Expr* target, std::vector<const ValueDecl*>& found) {
  target = target->IgnoreParenCasts();
  if (auto* reference = llvm::dyn_cast<DeclRefExpr>(target)) found.push_back(reference->getDecl());
  else if (auto* member = llvm::dyn_cast<MemberExpr>(target))
    found.push_back(member->getMemberDecl()), add_targets(member->getBase(), found);
  else if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(target)) add_targets(element->getBase(), found);
  else if (auto* unary = llvm::dyn_cast<UnaryOperator>(target)) add_targets(unary->getSubExpr(), found);
}

/// True for functions whose arguments only enter a computed value (atomics, random numbers).
bool only_computes_values(const FunctionDecl* callee) {
  if (!callee || !callee->getIdentifier()) return false;
  llvm::StringRef name = callee->getName();
  return name.starts_with("atomic") || name.starts_with("curand") || name.starts_with("hiprand");
}

}  // namespace

bool is_constant(const Expr* e) {
  e = e->IgnoreParenCasts();
  if (auto* unary = llvm::dyn_cast<UnaryOperator>(e)) return is_constant(unary->getSubExpr());
  if (auto* binary = llvm::dyn_cast<BinaryOperator>(e))
    return is_constant(binary->getLHS()) && is_constant(binary->getRHS());
  auto* reference = llvm::dyn_cast<DeclRefExpr>(e);
  if (!reference) return llvm::isa<IntegerLiteral>(e);
  auto* variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
  if (llvm::isa<EnumConstantDecl>(reference->getDecl())) return true;
  // A local `const int tid = threadIdx.x` is no constant.
  const Expr* init = variable && variable->getType().isConstQualified() ? variable->getAnyInitializer() : nullptr;
  return init && (init->isValueDependent() ? is_constant(init) : init->isEvaluatable(variable->getASTContext()));
}

const ValueDecl* variable_in(const Expr* e) {
  auto* reference = e ? llvm::dyn_cast<DeclRefExpr>(e->IgnoreParenImpCasts()) : nullptr;
  return reference && llvm::isa<VarDecl>(reference->getDecl())
             ? llvm::cast<ValueDecl>(reference->getDecl()->getCanonicalDecl())
             : nullptr;
}

void add_all(const Stmt* text, std::set<const Stmt*>& into) {
  if (!text) return;
  into.insert(text);
  for (auto* child : text->children()) add_all(child, into);
}

bool mentions_thread(const Stmt* text) {
  if (auto* reference = llvm::dyn_cast_or_null<DeclRefExpr>(text))
    if (auto* name = reference->getDecl()->getIdentifier()) {
      llvm::StringRef word = name->getName();
      return word == "threadIdx" || word == "blockIdx" || word == "blockDim" || word == "gridDim" || word == "warpSize";
    }
  if (auto* hidden = llvm::dyn_cast_or_null<OpaqueValueExpr>(text))
    return mentions_thread(hidden->getSourceExpr());  // In `threadIdx.x`.
  return text && std::any_of(text->child_begin(), text->child_end(), mentions_thread);
}

void KnobUses::take(const Closure& closure) {
  for (int index : closure.items)
    if (taken_.insert(index).second)
      for (auto* declaration : items_[index].declarations) TraverseDecl(const_cast<Decl*>(declaration));
}

bool KnobUses::TraverseAttr(Attr* attribute) {
  if (auto* hint = llvm::dyn_cast_or_null<LoopHintAttr>(attribute)) root(hint->getValue());
  if (auto* bounds = llvm::dyn_cast_or_null<CUDALaunchBoundsAttr>(attribute))
    root(bounds->getMaxThreads()), root(bounds->getMinBlocks()), root(bounds->getMaxBlocks());
  if (auto* aligned = llvm::dyn_cast_or_null<AlignedAttr>(attribute); aligned && aligned->isAlignmentExpr())
    root(aligned->getAlignmentExpr());
  return DynamicRecursiveASTVisitor::TraverseAttr(attribute);
}

bool KnobUses::TraverseTemplateArgumentLoc(const TemplateArgumentLoc& argument) {
  if (argument.getArgument().getKind() == TemplateArgument::Expression) root(argument.getSourceExpression());
  return DynamicRecursiveASTVisitor::TraverseTemplateArgumentLoc(argument);
}

bool KnobUses::TraverseConstructorInitializer(CXXCtorInitializer* init) {
  shallow_root(init->getInit());
  return DynamicRecursiveASTVisitor::TraverseConstructorInitializer(init);
}

bool KnobUses::VisitFunctionDecl(FunctionDecl* function) {
  if (!function->doesThisDeclarationHaveABody()) return true;
  if (is_host_only(function)) return left_out_.insert(function->getBody()), true;
  auto* method = llvm::dyn_cast<CXXMethodDecl>(function);
  if (!method || !method->getParent()->isLambda()) function_ = function;
  return true;
}

bool KnobUses::VisitVarDecl(VarDecl* variable) {
  const Expr* init = variable->getInit();
  if (!init) return true;
  if (variable->isStaticDataMember() || mentions_thread(init)) root(init);
  sources_[place_of(variable)].texts.push_back(init);
  return true;
}

bool KnobUses::VisitEnumConstantDecl(EnumConstantDecl* constant) {
  if (auto* init = constant->getInitExpr()) sources_[place_of(constant)].texts.push_back(init);
  return true;
}

bool KnobUses::VisitForStmt(ForStmt* loop) {
  bound(loop->getCond());
  return root(loop->getInit()), root(loop->getCond()), root(loop->getInc());
}

bool KnobUses::VisitReturnStmt(ReturnStmt* leave) {
  if (function_ && leave->getRetValue()) sources_[place_of(function_)].texts.push_back(leave->getRetValue());
  return true;
}

bool KnobUses::VisitBinaryOperator(BinaryOperator* op) {
  if (op->isComparisonOp()) compare(op, op->getLHS(), op->getRHS());
  note_partitioning(op, op->getOpcode(), op->getLHS(), op->getRHS());
  if (op->isAssignmentOp()) assign(op->getLHS(), op->getRHS());
  bool moves = op->isAdditiveOp() || op->getOpcode() == BO_AddAssign || op->getOpcode() == BO_SubAssign;
  if (moves && op->getLHS()->getType()->isAnyPointerType()) root(op->getRHS());
  if (moves && op->getRHS()->getType()->isAnyPointerType()) root(op->getLHS());
  return true;
}

/// Notes K in `i += K`, `i = i + K`, `n / K`, `n % K`, `block * K`, of integers, pointers and dependent types.
void KnobUses::note_partitioning(const Expr* operation, BinaryOperatorKind kind, const Expr* left, const Expr* right) {
  if (operation->getType()->isRealFloatingType() || right->getType()->isRealFloatingType() || periods_.count(operation))
    return;
  auto add = [&](const Stmt* size, bool divides) {
    add_partition_sizes(size, partition_texts_);
    if (divides) add_partition_sizes(size, dividing_texts_);
  };
  switch (kind) {
    case BO_AddAssign:
    case BO_SubAssign:
    case BO_Div:
    case BO_DivAssign:
    case BO_Rem:
    case BO_RemAssign:
    case BO_Shr:
    case BO_ShrAssign:
    case BO_Shl: return add(right, true);
    case BO_Mul:
      if (!is_constant(left)) add(right, false);
      if (!is_constant(right)) add(left, false);
      return;
    case BO_Assign: {
      auto* sum = llvm::dyn_cast<BinaryOperator>(right->IgnoreParenImpCasts());
      auto* target = llvm::dyn_cast<DeclRefExpr>(left->IgnoreParenImpCasts());
      if (!sum || !sum->isAdditiveOp() || !target) return;
      auto is_target = [&](const Expr* e) {
        auto* name = llvm::dyn_cast<DeclRefExpr>(e->IgnoreParenImpCasts());
        return name && name->getDecl() == target->getDecl();
      };
      if (is_target(sum->getLHS())) add(sum->getRHS(), true);
      if (is_target(sum->getRHS())) add(sum->getLHS(), true);
      return;
    }
    default: return;
  }
}

/// Adds the text without calls and their arguments: `sum += newton(x, STEPS)` does not partition anything by STEPS.
void KnobUses::add_partition_sizes(const Stmt* text, Texts& into) {
  if (!text || llvm::isa<CallExpr>(text)) return;
  if (llvm::isa<DeclRefExpr, IntegerLiteral>(text)) into.push_back({text, false});
  for (auto* child : text->children()) add_partition_sizes(child, into);
}

void KnobUses::note_periods(const Stmt* condition) {
  if (!condition) return;
  if (auto* op = llvm::dyn_cast<BinaryOperator>(condition);
      op && op->getOpcode() == BO_Rem && is_constant(op->getRHS()) && !mentions_thread(op))
    periods_.insert(op), left_out_.insert(op->getRHS());
  for (auto* child : condition->children()) note_periods(child);
}

/// A template's argument is a source of the template's parameter.
void KnobUses::name_template(const TemplateDecl* named, llvm::ArrayRef<TemplateArgumentLoc> arguments) {
  if (!named) return;
  auto& parameters = *named->getTemplateParameters();
  for (unsigned i = 0; i < std::min<size_t>(parameters.size(), arguments.size()); ++i)
    if (auto* value = llvm::dyn_cast<NonTypeTemplateParmDecl>(parameters.getParam(i));
        value && arguments[i].getArgument().getKind() == TemplateArgument::Expression)
      sources_[place_of(value)].texts.push_back(arguments[i].getSourceExpression());
}

bool KnobUses::VisitDeclRefExpr(DeclRefExpr* name) {
  auto* function = llvm::dyn_cast<FunctionDecl>(name->getDecl());
  if (function && name->hasExplicitTemplateArgs())
    name_template(function->getPrimaryTemplate(), name->template_arguments());
  return true;
}

bool KnobUses::VisitDependentScopeDeclRefExpr(DependentScopeDeclRefExpr* name) {
  return dependent_names_.insert(name->getDeclName().getAsString()), true;
}

bool KnobUses::VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc type) {
  std::vector<TemplateArgumentLoc> arguments;
  for (unsigned i = 0; i < type.getNumArgs(); ++i) arguments.push_back(type.getArgLoc(i));
  name_template(type.getTypePtr()->getTemplateName().getAsTemplateDecl(), arguments);
  return true;
}

bool KnobUses::VisitCallExpr(CallExpr* call) {
  auto* op = llvm::dyn_cast<CXXOperatorCallExpr>(call);
  if (op && op->isComparisonOp())
    compare(op, op->getArg(0), op->getArg(1));  // In a template's pattern any operator may be one.
  auto* callee = call->getDirectCallee();
  if (op && op->isAssignmentOp()) return assign(op->getArg(0), op->getArg(1)), true;
  if (op && (op->getOperator() == OO_Subscript || op->getOperator() == OO_Call)) {
    for (unsigned i = 1; i < op->getNumArgs(); ++i) root(op->getArg(i));
    return true;
  }
  if (op || only_computes_values(callee)) return true;
  if (callee && written(callee)->hasBody() && unit_.is_user(written(callee)->getLocation()))
    return pass(callee, call->getArgs(), call->getNumArgs()), true;
  for (auto* argument : call->arguments()) shallow_root(argument);
  return true;
}

bool KnobUses::VisitCXXConstructExpr(CXXConstructExpr* call) {
  auto* made = call->getConstructor();
  if (made->isCopyOrMoveConstructor()) return true;
  for (auto* argument : call->arguments()) shallow_root(argument);
  return true;
}

bool KnobUses::VisitAttributedStmt(AttributedStmt* statement) {
  for (auto* attribute : statement->getAttrs()) TraverseAttr(const_cast<Attr*>(attribute));
  return true;
}

void KnobUses::assign(const Expr* target, const Expr* value) {
  std::vector<const ValueDecl*> targets;
  add_targets(target, targets);
  if (mentions_thread(value) || targets.empty()) root(value);
  for (auto* one : targets) sources_[place_of(one)].texts.push_back(value);
}

/// Arguments are sources of parameters. Through a pointer or reference, writes to the parameter are sources of the
/// argument.
void KnobUses::pass(const FunctionDecl* callee, const Expr* const* arguments, unsigned count) {
  callee = written(callee);
  for (unsigned i = 0; i < count; ++i) {
    if (i >= callee->getNumParams()) {
      shallow_root(arguments[i]);
      continue;
    }
    auto* parameter = callee->getParamDecl(i);
    sources_[place_of(parameter)].texts.push_back(arguments[i]);
    if (!parameter->getType()->isAnyPointerType() && !parameter->getType()->isReferenceType()) continue;
    std::vector<const ValueDecl*> targets;
    add_targets(arguments[i], targets);
    for (auto* one : targets) sources_[place_of(one)].places.insert(place_of(parameter));
  }
}

void KnobUses::compare(const Expr* comparison, const Expr* left, const Expr* right) {
  for (auto* side : {left, right})
    if (!is_constant(side)) guarded_texts_.push_back({side, false});
  if (bounds_.count(comparison)) return;
  for (auto* side : {left, right})
    if (is_constant(side))
      left_out_.insert(side), compared_texts_.push_back({side, false}),
          comparisons_.push_back({side, side == left ? right : left});
}

/// The constant of a comparison in a loop's condition determines how often the loop runs.
void KnobUses::bound(const Expr* condition) {
  if (!condition) return;
  condition = condition->IgnoreParenImpCasts();
  bound_texts_.push_back({condition, false});
  if (auto* negation = llvm::dyn_cast<UnaryOperator>(condition)) return bound(negation->getSubExpr());
  bounds_.insert(condition);
  if (auto* op = llvm::dyn_cast<BinaryOperator>(condition); op && op->isLogicalOp())
    bound(op->getLHS()), bound(op->getRHS());
}

void KnobUses::follow() {
  places_ = reached_from(roots_);
  bounding_ = reached_from(bound_texts_), partitioning_ = reached_from(partition_texts_);
  dividing_ = reached_from(dividing_texts_), guarded_ = reached_from(guarded_texts_);
  compared_ = reached_from(compared_texts_, true);
  Texts data;
  for (auto& [constant, other] : comparisons_)
    if (std::set<const Stmt*> seen; depends_on_memory(other, seen)) data.push_back({constant, false});
  data_ = reached_from(std::move(data), true);
}

bool KnobUses::depends_on_memory(const Stmt* text, std::set<const Stmt*>& seen) const {
  if (!text || !seen.insert(text).second) return false;
  auto* element = llvm::dyn_cast<ArraySubscriptExpr>(text);
  auto* unary = llvm::dyn_cast<UnaryOperator>(text);
  auto* member = llvm::dyn_cast<MemberExpr>(text);
  auto* call = llvm::dyn_cast<CallExpr>(text);
  if (element || (unary && unary->getOpcode() == UO_Deref) ||
      (member && member->isArrow() && !llvm::isa<CXXThisExpr>(member->getBase()->IgnoreParenImpCasts())))
    return true;
  if (call && only_computes_values(call->getDirectCallee())) return true;
  if (auto* hidden = llvm::dyn_cast<OpaqueValueExpr>(text)) return depends_on_memory(hidden->getSourceExpr(), seen);
  if (auto* reference = llvm::dyn_cast<DeclRefExpr>(text)) {
    if (reference->getDecl()->hasAttr<CUDASharedAttr>() && !reference->getType()->isArrayType()) return true;
    auto& given = given_to(reference->getDecl());
    return std::any_of(given.begin(), given.end(), [&](auto* value) { return depends_on_memory(value, seen); });
  }
  return std::any_of(text->child_begin(), text->child_end(),
                     [&](auto* child) { return depends_on_memory(child, seen); });
}

std::set<SourceLocation> KnobUses::reached_from(Texts texts, bool compared_too) const {
  Flow flow{std::move(texts), {}, {}, compared_too};
  for (size_t i = 0; i < flow.texts.size(); ++i) {  // collect() appends to the texts.
    auto [text, shallow] = flow.texts[i];
    collect(text, shallow, flow);
  }
  return std::move(flow.places);
}

const std::vector<const Stmt*>& KnobUses::given_to(const ValueDecl* declaration) const {
  static const std::vector<const Stmt*> kNothing;
  auto found = sources_.find(place_of(declaration));
  return found == sources_.end() ? kNothing : found->second.texts;
}

void KnobUses::reach(Place place, Flow& flow) const {
  if (!flow.reached.insert(place).second) return;
  auto found = sources_.find(place);
  if (found == sources_.end()) return;
  for (auto* text : found->second.texts) flow.texts.push_back({text, false});
  for (Place other : found->second.places) reach(other, flow);
}

void KnobUses::collect(const Stmt* text, bool shallow, Flow& flow) const {
  if (!text || (!flow.compared_too && left_out_.count(text))) return;
  if (auto* literal = llvm::dyn_cast<IntegerLiteral>(text))
    flow.places.insert(unit_.sources.getSpellingLoc(literal->getLocation()));
  if (auto* reference = llvm::dyn_cast<DeclRefExpr>(text)) {
    auto* declaration = reference->getDecl();
    flow.places.insert(declaration->getCanonicalDecl()->getLocation());
    bool constant = llvm::isa<EnumConstantDecl>(declaration) || declaration->getType().isConstQualified();
    // The flow is not followed through floating-point variables: they contain values, not amounts.
    if ((!shallow || constant) && !declaration->getType()->isRealFloatingType()) reach(place_of(declaration), flow);
  }
  if (auto* member = llvm::dyn_cast<MemberExpr>(text); member && !shallow)
    reach(place_of(member->getMemberDecl()), flow);
  if (auto* unresolved = llvm::dyn_cast<OverloadExpr>(text); unresolved && !shallow)
    for (auto* one : unresolved->decls())
      if (auto* function = llvm::dyn_cast_or_null<FunctionDecl>(one->getUnderlyingDecl()->getAsFunction()))
        reach(place_of(function), flow);
  for (auto* child : text->children()) collect(child, shallow, flow);
}

}  // namespace kernelift::extractor
