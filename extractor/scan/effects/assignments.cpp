// Every statement gets a number in the order of the text. An assignment that is a statement of its own, in a block
// around the use and before it, is executed on every path to the use. It is the last one if no other assignment lies
// between, and none lies in a loop around the use alone, where an earlier iteration would have executed it. In a
// function with labels nothing is known.
#include "extractor/scan/effects/assignments.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "extractor/scan/effects/host_memory.h"

namespace kernelift::extractor {

using namespace clang;

namespace {

/// Whether a reference's initialiser makes what it refers to.
bool is_value(const Expr* initialiser) {
  for (const Expr* e = initialiser; e;) {
    if (llvm::isa<MaterializeTemporaryExpr>(e)) return true;
    auto* cast = llvm::dyn_cast<CastExpr>(e);
    auto* full = llvm::dyn_cast<FullExpr>(e);
    auto* parentheses = llvm::dyn_cast<ParenExpr>(e);
    e = cast ? cast->getSubExpr() : full ? full->getSubExpr() : parentheses ? parentheses->getSubExpr() : nullptr;
  }
  return false;
}

/// A statement that may run its parts again; the `do … while (0)` of a macro does not.
bool is_loop(const Stmt* statement) {
  auto* once = llvm::dyn_cast<DoStmt>(statement);
  auto* condition = once ? once->getCond()->IgnoreParenImpCasts() : nullptr;
  auto* number = llvm::dyn_cast_or_null<IntegerLiteral>(condition);
  auto* truth = llvm::dyn_cast_or_null<CXXBoolLiteralExpr>(condition);
  if ((number && number->getValue() == 0) || (truth && !truth->getValue())) return false;
  return llvm::isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(statement);
}

bool is_writable_reference(QualType type) {
  return type->isLValueReferenceType() && !type->getPointeeType().isConstQualified();
}

}  // namespace

int axis_of(llvm::StringRef member) { return member == "x" ? 0 : member == "y" ? 1 : member == "z" ? 2 : -1; }

bool is_dim3(QualType type) {
  if (type.isNull()) return false;
  auto* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getIdentifier() && (record->getName() == "dim3" || record->getName() == "uint3");
}

Assignments::Assignments(const FunctionDecl* function, Effects& effects) : effects_(effects) {
  if (!function || !function->getBody()) return;
  // A constructor's initialisers come first.
  if (auto* made = llvm::dyn_cast<CXXConstructorDecl>(function))
    for (auto* member : made->inits())
      if (member->isWritten()) number(member->getInit(), nullptr);
  number(function->getBody(), nullptr);
  for (auto* parameter : function->parameters()) declare(parameter, nullptr, 0);
  TraverseStmt(function->getBody());
  events_ = effects.events(function);
}

void Assignments::declare(const VarDecl* variable, const Stmt* scope, size_t order) {
  if (variable->getIdentifier())
    declared_.emplace(variable->getName(), Declared{variable->getCanonicalDecl(), scope, order});
}

void Assignments::number(const Stmt* statement, const Stmt* outer) {
  is_unclear_ |= llvm::isa<LabelStmt>(statement);
  positions_[statement] = {next_++, 0, outer};
  for (auto* inner : statement->children())
    if (inner) number(inner, statement);
  positions_[statement].end = next_;
}

bool Assignments::encloses(const Stmt* outer, const Position& inner) const {
  auto& around = positions_.at(outer);
  return around.order <= inner.order && inner.order < around.end;
}

bool Assignments::always_before(const Position& first, const Position& then) const {
  auto is_whole = [](const Stmt* part) {
    auto* list = llvm::dyn_cast<BinaryOperator>(part);
    return llvm::isa<ExprWithCleanups, DeclStmt>(part) || (list && list->getOpcode() == BO_Comma);
  };
  auto* block = first.outer;
  while (block && is_whole(block)) block = positions_.at(block).outer;
  if (!block || !llvm::isa<CompoundStmt>(block) || !encloses(block, then) || first.order >= then.order) return false;
  auto* around = positions_.at(block).outer;
  return !around || !llvm::isa<SwitchStmt>(around);  // A jump to a case may skip the assignment.
}

bool Assignments::may_come_between(const Position& other, const Position& first, const Position& then) const {
  for (auto* around = other.outer; around && !encloses(around, then); around = positions_.at(around).outer)
    if (llvm::isa<LambdaExpr>(around)) return true;  // The lambda may be called at any time.
  // `n` of `n = n / 2`, and of `f(n)`, is read before it is written.
  if (other.order <= first.order && first.order < other.end && then.order >= other.end) return true;
  if (other.order < then.order) return other.order > first.order;
  for (auto* around = then.outer; around && !encloses(around, first); around = positions_.at(around).outer) {
    bool loop = is_loop(around) && encloses(around, other);
    if (loop || llvm::isa<LambdaExpr>(around)) return true;
  }
  return false;
}

const VariableAssignment* Assignments::last(const VarDecl* variable, int axis, const Stmt* place) const {
  variable = variable->getCanonicalDecl();
  auto given = given_.find(variable);
  auto at = positions_.find(place);
  if (given == given_.end() || at == positions_.end() || escaped_.count(variable) || is_unclear_) return nullptr;
  auto concerns = [&](const VariableAssignment& one) { return one.axis < 0 || axis < 0 || one.axis == axis; };
  const VariableAssignment* found = nullptr;
  for (auto& one : given->second)
    if (concerns(one) && always_before(positions_.at(one.place), at->second)) found = &one;
  if (!found || (variable->getType()->isReferenceType() && !is_value(found->value))) return nullptr;
  const Position& first = positions_.at(found->place);
  for (auto& one : given->second)
    if (&one != found && concerns(one) && may_come_between(positions_.at(one.place), first, at->second)) return nullptr;
  const Place whole{variable, nullptr, variable->getType()};
  const bool is_local = !variable->hasGlobalStorage() && !variable->getType().isVolatileQualified();
  return found->value && (is_local || !may_be_written(whole, first, at->second, found->place)) ? found : nullptr;
}

bool Assignments::may_be_written(const Place& place, const Position& first, const Position& then,
                                 const Stmt* assignment) const {
  return std::ranges::any_of(events_.all, [&](auto& event) {
    auto at = positions_.find(event.place);
    const bool between = at == positions_.end() || (event.at_end ? may_end_between(at->second, first, then)
                                                                 : may_lie_between(at->second, first, then));
    return event.place != assignment && between && effects_.may_write(event, place, events_, [&](auto* one) {
      return at == positions_.end() || is_kept(one, at->second);
    });
  });
}

/// As may_come_between, and whatever `then` itself contains: a launch's arguments.
bool Assignments::may_lie_between(const Position& other, const Position& first, const Position& then) const {
  if (other.order > then.order && other.order < then.end) return true;
  const bool one = then.order <= first.order && first.order < then.end;
  return !one && (is_unclear_ || may_come_between(other, first, then));
}

/// That the block is left between them.
bool Assignments::may_end_between(const Position& block, const Position& first, const Position& then) const {
  if (is_unclear_) return true;
  for (auto* around = block.outer; around && !encloses(around, then); around = positions_.at(around).outer)
    if (llvm::isa<LambdaExpr>(around)) return true;
  if (then.order >= block.end) return first.order < block.end;
  // `then` is in the block or before it, and comes after it only in a loop that does not repeat `first`.
  for (auto* around = then.outer; around && !encloses(around, first); around = positions_.at(around).outer)
    if (llvm::isa<LambdaExpr>(around) || (is_loop(around) && encloses(around, block))) return true;
  return false;
}

bool Assignments::is_repeated_with(const Position& one, const Position& other) const {
  for (auto* around = one.outer; around; around = positions_.at(around).outer)
    if (llvm::isa<LambdaExpr>(around) || (is_loop(around) && encloses(around, other))) return true;
  return false;
}

bool Assignments::is_kept(const ValueDecl* declaration, const Position& then) const {
  auto kept = events_.kept.find(declaration);
  return kept != events_.kept.end() && std::ranges::any_of(kept->second, [&](auto* place) {
           auto at = positions_.find(place);
           return at == positions_.end() || at->second.order < then.end || is_unclear_ ||
                  is_repeated_with(at->second, then);
         });
}

bool Assignments::may_change(const Place& place, const Stmt* from, const Stmt* to) const {
  const QualType type = place.field ? place.field->getType() : place.variable->getType();
  const bool leads = place.field && place.variable && !place.variable->getType()->isRecordType();
  if (type.isVolatileQualified()) return true;
  const bool is_fixed = place.variable && place.variable->getType().isConstQualified();
  if (leads ? type.isConstQualified() && is_fixed : type.isConstQualified() || is_fixed) return false;
  auto first = positions_.find(from), then = positions_.find(to);
  if (first == positions_.end() || then == positions_.end()) return from != to;
  auto given = place.variable ? given_.find(place.variable) : given_.end();
  auto concerns = [&](const VariableAssignment& one) {
    if (one.axis >= 0) return !place.field || axis_of(place.field->getName()) == one.axis;
    return !one.field || !place.field || one.field == place.field;
  };
  if (given != given_.end() && std::ranges::any_of(given->second, [&](auto& one) {
        return concerns(one) && may_lie_between(positions_.at(one.place), first->second, then->second);
      }))
    return true;
  return may_be_written(place, first->second, then->second);
}

bool Assignments::changes_within(const Expr* expression, const CallExpr* launch) const {
  struct Calls : DynamicRecursiveASTVisitor {
    bool found = false;
    bool VisitCallExpr(CallExpr*) override { return found = true, true; }
  } calls;
  for (auto* argument : launch->arguments()) calls.TraverseStmt(const_cast<Expr*>(argument));
  struct Changed : DynamicRecursiveASTVisitor {
    const Assignments* assignments = nullptr;
    const CallExpr* launch = nullptr;
    bool calls = false, found = false;
    bool look(const Expr* e) {
      auto place = Place::of(e);
      found |= place && (assignments->may_change(*place, launch, launch) ||
                         (calls && place->variable && assignments->captured_.contains(place->variable)));
      return true;
    }
    bool VisitDeclRefExpr(DeclRefExpr* name) override { return look(name); }
    bool VisitMemberExpr(MemberExpr* member) override { return look(member); }
  } changed;
  changed.assignments = this, changed.launch = launch, changed.calls = calls.found;
  changed.TraverseStmt(const_cast<Expr*>(expression));
  return changed.found;
}

bool Assignments::is_lost(const Place& place, const Stmt* assignment, const Stmt* launch) const {
  auto first = positions_.find(assignment), then = positions_.find(launch);
  return first == positions_.end() || then == positions_.end() ||
         may_be_written(place, first->second, then->second, assignment);
}

bool Assignments::names(llvm::StringRef name, const VarDecl* variable, const Stmt* at) const {
  auto position = positions_.find(at);
  if (position == positions_.end()) return !variable || variable->hasGlobalStorage();
  const Declared* found = nullptr;
  auto [begin, end] = declared_.equal_range(name);
  for (auto one = begin; one != end; ++one) {
    auto& declared = one->second;
    const bool visible =
        !declared.scope || (encloses(declared.scope, position->second) && declared.order < position->second.order);
    if (visible && (!found || declared.order >= found->order)) found = &declared;
  }
  if (!variable || (variable->hasGlobalStorage() && !variable->isLocalVarDecl())) return !found;
  return found && found->variable == variable->getCanonicalDecl();
}

const std::vector<VariableAssignment>* Assignments::field(const VarDecl* record, const std::string& name) const {
  auto found = fields_.find({record->getCanonicalDecl(), name});
  return found == fields_.end() ? nullptr : &found->second;
}

/// Handles `config.gridDim = value`; for `config.gridDim.x = …` the recorded value is null.
void Assignments::give_field(const Expr* target, const Expr* value, const Stmt* place) {
  if (auto* choice = llvm::dyn_cast<ConditionalOperator>(target->IgnoreParenImpCasts()))
    give_field(choice->getTrueExpr(), nullptr, place), give_field(choice->getFalseExpr(), nullptr, place);
  auto* member = llvm::dyn_cast<MemberExpr>(target->IgnoreParenImpCasts());
  if (!member || !member->getMemberDecl()->getIdentifier()) return;
  if (auto* variable = variable_of(member->getBase()))
    fields_[{variable, member->getMemberDecl()->getName().str()}].push_back({-1, nullptr, value, place});
  else give_field(member->getBase()->IgnoreParenImpCasts(), nullptr, place);
}

void Assignments::note(const VarDecl* variable, const VariableAssignment& assignment) {
  if (positions_.count(assignment.place)) given_[variable].push_back(assignment);
  else escaped_.insert(variable);
}

/// Records an assignment to `target`, or to each variable that it may denote: (first ? n : steps) = 5.
void Assignments::give(const Expr* target, const Expr* value, const Stmt* place) {
  // What is behind casts is stored in part, or as something else.
  if (auto* whole = without_casts(target); whole != target->IgnoreParenImpCasts()) value = nullptr, target = whole;
  target = target->IgnoreParenImpCasts();
  if (auto* unary = llvm::dyn_cast<UnaryOperator>(target); unary && unary->getOpcode() == UO_Deref)
    if (auto* address = llvm::dyn_cast<UnaryOperator>(without_casts(unary->getSubExpr()));
        address && address->getOpcode() == UO_AddrOf)
      return give(address->getSubExpr(), nullptr, place);
  if (auto* member = llvm::dyn_cast<BinaryOperator>(target); member && member->getOpcode() == BO_PtrMemD)
    return give(member->getLHS(), nullptr, place);
  if (auto* choice = llvm::dyn_cast<ConditionalOperator>(target))
    give(choice->getTrueExpr(), nullptr, place), give(choice->getFalseExpr(), nullptr, place);
  if (auto* list = llvm::dyn_cast<BinaryOperator>(target); list && list->getOpcode() == BO_Comma)
    give(list->getRHS(), nullptr, place);
  if (auto* variable = variable_of(target)) note(variable, {-1, nullptr, value, place});
  if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(target)) give(element->getBase(), nullptr, place);
  auto* member = llvm::dyn_cast<MemberExpr>(target);
  if (!member) return;
  auto* variable = variable_of(member->getBase());
  int axis = variable && is_dim3(variable->getType()) && member->getMemberDecl()->getIdentifier()
                 ? axis_of(member->getMemberDecl()->getName())
                 : -1;
  auto* field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
  if (axis >= 0) note(variable, {axis, nullptr, value, place});
  else if (variable && field && !field->getParent()->isUnion()) note(variable, {-1, field, nullptr, place});
  else give(member->getBase(), nullptr, place);
}

/// The address or a reference is taken, through which the variable may be written at any time.
void Assignments::note_escape(const Expr* target) {
  target = target->IgnoreParenImpCasts();
  if (auto* choice = llvm::dyn_cast<ConditionalOperator>(target))
    note_escape(choice->getTrueExpr()), note_escape(choice->getFalseExpr());
  if (auto* member = llvm::dyn_cast<MemberExpr>(target)) note_escape(member->getBase());
  if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(target)) note_escape(element->getBase());
  if (auto* variable = variable_of(target)) escaped_.insert(variable);
}

bool Assignments::VisitBinaryOperator(BinaryOperator* op) {
  if (!op->isAssignmentOp()) return true;
  auto* value = op->getOpcode() == BO_Assign ? op->getRHS() : nullptr;
  give_field(op->getLHS(), value, op);
  give(op->getLHS(), value, op);
  return true;
}

bool Assignments::VisitCXXNewExpr(CXXNewExpr* made) {
  for (auto* where : made->placement_arguments())
    if (auto* address = llvm::dyn_cast<UnaryOperator>(without_casts(where));
        address && address->getOpcode() == UO_AddrOf)
      give(address->getSubExpr(), nullptr, made);
  return true;
}

/// `const_cast<int&>(r) = …` of a reference to what is no constant.
bool Assignments::VisitCXXConstCastExpr(CXXConstCastExpr*) {
  is_unclear_ = true;
  return true;
}

bool Assignments::VisitGCCAsmStmt(GCCAsmStmt* assembly) {
  for (auto* output : assembly->outputs()) give_field(output, nullptr, assembly), give(output, nullptr, assembly);
  return true;
}

bool Assignments::VisitCXXOperatorCallExpr(CXXOperatorCallExpr* call) {
  if (!call->isAssignmentOp() || call->getNumArgs() == 0) return true;
  auto* value = call->getOperator() == OO_Equal && call->getNumArgs() == 2 ? call->getArg(1) : nullptr;
  give_field(call->getArg(0), value, call);
  give(call->getArg(0), value, call);
  return true;
}

bool Assignments::VisitDeclStmt(DeclStmt* statement) {
  for (auto* declaration : statement->decls()) {
    auto* variable = llvm::dyn_cast<VarDecl>(declaration);
    auto at = positions_.find(statement);
    if (variable && at != positions_.end()) declare(variable, at->second.outer, at->second.order);
    if (!variable || !variable->getInit()) continue;
    if (is_writable_reference(variable->getType())) note_escape(variable->getInit());
    if (variable->isStaticLocal()) escaped_.insert(variable->getCanonicalDecl());
    // The position is the initialiser's: in `dim3 block(256), grid(n / block.x);` the second uses the first.
    else note(variable->getCanonicalDecl(), {-1, nullptr, variable->getInit(), variable->getInit()});
  }
  return true;
}

bool Assignments::VisitUnaryOperator(UnaryOperator* op) {
  if (op->isIncrementDecrementOp()) give(op->getSubExpr(), nullptr, op);
  else if (op->getOpcode() == UO_AddrOf) note_escape(op->getSubExpr());
  return true;
}

void Assignments::note_escapes(llvm::ArrayRef<Expr*> arguments, llvm::ArrayRef<QualType> parameters) {
  for (size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i)
    if (is_writable_reference(parameters[i])) note_escape(arguments[i]);
}

bool Assignments::VisitCallExpr(CallExpr* call) {
  llvm::ArrayRef<Expr*> arguments(call->getArgs(), call->getNumArgs());
  // Through a pointer, too.
  QualType type = call->getCallee()->getType();
  if (auto* pointer = type->getAs<PointerType>()) type = pointer->getPointeeType();
  if (auto* callee = call->getDirectCallee()) {
    type = callee->getType();
    // The first argument of a lambda, a functor or a stream's >> is the object itself.
    if (auto* method = llvm::dyn_cast<CXXMethodDecl>(callee);
        method && llvm::isa<CXXOperatorCallExpr>(call) && method->isImplicitObjectMemberFunction())
      arguments = arguments.drop_front();
  }
  if (auto* function = type->getAs<FunctionProtoType>()) note_escapes(arguments, function->getParamTypes());
  return true;
}

bool Assignments::VisitCXXConstructExpr(CXXConstructExpr* made) {
  if (auto* function = made->getConstructor()->getType()->getAs<FunctionProtoType>())
    note_escapes({made->getArgs(), made->getNumArgs()}, function->getParamTypes());
  return true;
}

/// A member that is a reference keeps what it is given.
bool Assignments::VisitInitListExpr(InitListExpr* list) {
  auto* record = list->getType().isNull() ? nullptr : list->getType()->getAsRecordDecl();
  if (!record || record->isUnion()) return true;
  unsigned i = 0;
  for (auto* field : record->fields()) {
    if (i >= list->getNumInits()) break;
    if (is_writable_reference(field->getType())) note_escape(list->getInit(i));
    ++i;
  }
  return true;
}

bool Assignments::VisitLambdaExpr(LambdaExpr* lambda) {
  auto at = positions_.find(lambda);
  if (at == positions_.end()) return true;
  for (auto* parameter : lambda->getCallOperator()->parameters()) declare(parameter, lambda, at->second.order);
  for (auto& capture : lambda->captures())
    if (capture.capturesVariable() && capture.getCaptureKind() == LCK_ByRef) {
      if (auto* variable = llvm::dyn_cast<VarDecl>(capture.getCapturedVar()))
        captured_.insert(variable->getCanonicalDecl());
    }
  for (auto& capture : lambda->captures())
    if (lambda->isInitCapture(&capture))
      if (auto* variable = llvm::dyn_cast<VarDecl>(capture.getCapturedVar()))
        declare(variable, lambda, at->second.order);
  return true;
}

}  // namespace kernelift::extractor
