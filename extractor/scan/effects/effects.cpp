// One visitor notes what each assignment and call of a function writes; what a function writes with all that it calls
// is the union over the functions that it reaches. Memory behind pointers is told apart by its type, as the language
// does.
#include "extractor/scan/effects/effects.h"

#include <algorithm>
#include <functional>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "extractor/scan/effects/host_memory.h"

namespace kernelift::extractor {

using namespace clang;

namespace {

constexpr unsigned kThis = ~0u;  ///< The number of the parameter that a method's object is.

}  // namespace

std::optional<Place> Place::of(const Expr* e) {
  e = e->IgnoreParenImpCasts();
  if (auto* variable = variable_of(e)) return Place{variable, nullptr, e->getType()};
  auto* member = llvm::dyn_cast<MemberExpr>(e);
  auto* field = member ? llvm::dyn_cast<FieldDecl>(member->getMemberDecl()) : nullptr;
  if (!field) return std::nullopt;
  auto* base = member->getBase()->IgnoreParenImpCasts();
  if (llvm::isa<CXXThisExpr>(base)) return Place{nullptr, field, e->getType()};
  auto* variable = variable_of(base);
  return variable ? std::optional(Place{variable, field, e->getType()}) : std::nullopt;
}

void Writes::add(const Writes& more) {
  places.insert(more.places.begin(), more.places.end());
  fields.insert(more.fields.begin(), more.fields.end());
  objects.insert(more.objects.begin(), more.objects.end());
  elements.insert(more.elements.begin(), more.elements.end());
  callees.insert(more.callees.begin(), more.callees.end());
  lent.insert(more.lent.begin(), more.lent.end());
  anything |= more.anything;
}

class EventVisitor : public DynamicRecursiveASTVisitor {
 public:
  explicit EventVisitor(Effects& effects) : effects_(effects), context_(effects.unit_.context) {
    ShouldVisitTemplateInstantiations = true;
  }
  Events events;

  bool VisitBinaryOperator(BinaryOperator* op) override {
    if (op->isAssignmentOp()) assigns(op, op->getLHS());
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator* op) override {
    if (op->isIncrementDecrementOp()) assigns(op, op->getSubExpr());
    else if (op->getOpcode() == UO_AddrOf && !passed_.contains(op)) keep(op->getSubExpr());
    return true;
  }
  bool VisitGCCAsmStmt(GCCAsmStmt* assembly) override {
    Writes writes;
    for (auto* output : assembly->outputs()) write(output, writes, true);
    for (unsigned i = 0; i < assembly->getNumClobbers(); ++i) writes.anything |= assembly->getClobber(i) == "memory";
    return note(assembly, writes);
  }
  /// The calls of begin, end, the comparison and the step are not written.
  bool VisitCXXForRangeStmt(CXXForRangeStmt* loop) override {
    for (Stmt* part : {static_cast<Stmt*>(loop->getBeginStmt()), static_cast<Stmt*>(loop->getEndStmt()),
                       static_cast<Stmt*>(loop->getCond()), static_cast<Stmt*>(loop->getInc())})
      if (part) TraverseStmt(part);
    if (auto* variable = loop->getLoopVariable(); variable && variable->getInit()) TraverseStmt(variable->getInit());
    return true;
  }
  bool VisitCompoundStmt(CompoundStmt* block) override {
    std::set<const CXXDestructorDecl*> ended;
    for (auto* statement : block->body())
      if (auto* declared = llvm::dyn_cast<DeclStmt>(statement))
        for (auto* one : declared->decls())
          if (auto* variable = llvm::dyn_cast<VarDecl>(one); variable && variable->hasLocalStorage())
            destructors(variable->getType(), effects_.unit_, ended);
    if (!ended.empty()) end(block, ended, true);
    return true;
  }
  bool VisitCXXBindTemporaryExpr(CXXBindTemporaryExpr* temporary) override {
    std::set<const CXXDestructorDecl*> ended;
    destructors(temporary->getType(), effects_.unit_, ended);
    if (!ended.empty()) end(temporary, ended, false);
    return true;
  }
  bool VisitDeclStmt(DeclStmt* statement) override {
    for (auto* declaration : statement->decls())
      if (auto* variable = llvm::dyn_cast<VarDecl>(declaration);
          variable && variable->getInit() && variable->getType()->isReferenceType() && is_writable(variable->getType()))
        keep(variable->getInit());
    return true;
  }
  /// A member that is a reference keeps what it is given. What converts is in the list's meaning alone.
  bool VisitInitListExpr(InitListExpr* list) override {
    if (auto* meaning = list->isSemanticForm() ? nullptr : list->getSemanticForm())
      for (auto* init : meaning->inits())
        if (init) TraverseStmt(init);
    auto* record = list->getType().isNull() ? nullptr : list->getType()->getAsRecordDecl();
    if (!record || record->isUnion()) return true;
    unsigned i = 0;
    for (auto* field : record->fields()) {
      if (i >= list->getNumInits()) break;
      if (field->getType()->isReferenceType() && is_writable(field->getType())) keep(list->getInit(i));
      ++i;
    }
    return true;
  }
  bool VisitReturnStmt(ReturnStmt* answer) override {
    if (answer->getRetValue() && answer->getRetValue()->isGLValue()) keep(answer->getRetValue());
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    Writes writes;
    writes.is_call = true;
    if (llvm::isa<CUDAKernelCallExpr>(call)) {
      // It may write what the host reads: memory that both see.
      for (auto* argument : call->arguments())
        if (auto type = argument->getType();
            !type.isNull() && type->isPointerType() && type->getPointeeType()->isRecordType() && is_writable(type))
          pointee(type, writes);
      return note(call, writes);
    }
    llvm::ArrayRef<Expr*> arguments(call->getArgs(), call->getNumArgs());
    auto* callee = call->getDirectCallee();
    auto* method = llvm::dyn_cast_or_null<CXXMethodDecl>(callee);
    const Expr* object = nullptr;
    if (auto* member = llvm::dyn_cast<CXXMemberCallExpr>(call)) object = member->getImplicitObjectArgument();
    else if (method && llvm::isa<CXXOperatorCallExpr>(call) && method->isImplicitObjectMemberFunction())
      object = arguments.front(), arguments = arguments.drop_front();
    if (callee && callee->isReplaceableGlobalAllocationFunction()) return true;
    if (!callee) {
      QualType type = call->getCallee()->getType();
      if (auto* pointer = type->getAs<PointerType>()) type = pointer->getPointeeType();
      auto* function = type->getAs<FunctionProtoType>();
      writes.anything = true;
      if (object) lend(object, writes.lent), keep(object);
      for (size_t i = 0; i < arguments.size(); ++i)
        if (!function || i >= function->getNumParams() || is_writable(function->getParamType(i)))
          pass(arguments[i], nullptr, unsigned(i), writes);
      return note(call, writes);
    }
    const bool is_const = method && (method->isStatic() || method->isConst());
    auto* access = llvm::dyn_cast<MemberExpr>(call->getCallee()->IgnoreParens());
    const bool is_virtual = method && method->isVirtual() && !(access && access->hasQualifier()) &&
                            !method->hasAttr<FinalAttr>() && !method->getParent()->isEffectivelyFinal();
    calls(call, callee, arguments, object, is_const, is_virtual, writes);
    return note(call, writes);
  }
  bool VisitCXXConstructExpr(CXXConstructExpr* made) override {
    Writes writes;
    writes.is_call = true;
    calls(made, made->getConstructor(), {made->getArgs(), made->getNumArgs()}, nullptr, false, false, writes);
    return note(made, writes);
  }
  bool VisitCXXDeleteExpr(CXXDeleteExpr* deleted) override {
    auto* record = deleted->isTypeDependent() ? nullptr : deleted->getDestroyedType()->getAsCXXRecordDecl();
    auto* destructor = record && record->hasDefinition() ? record->getDestructor() : nullptr;
    Writes writes;
    writes.is_call = true;
    if (destructor && destructor->isUserProvided())
      calls(deleted, destructor, {}, nullptr, false, destructor->isVirtual(), writes);
    return note(deleted, writes);
  }

 private:
  friend class Effects;
  bool note(const Stmt* place, const Writes& writes) {
    events.all.push_back({place, writes});
    return true;
  }
  void end(const Stmt* place, const std::set<const CXXDestructorDecl*>& destructors, bool at_end) {
    Writes writes;
    writes.is_call = true;
    for (auto* destructor : destructors) {
      const FunctionDecl* definition = nullptr;
      if (destructor->isDefined(definition) && definition->getBody()) writes.callees.insert(definition);
      else writes.anything = true;
    }
    events.all.push_back({place, writes, at_end});
  }
  void assigns(const Expr* op, const Expr* target) {
    Writes writes;
    write(target, writes, false);
    note(op, writes);
  }

  void pointee(QualType type, Writes& into) const {
    const QualType of = type->getPointeeType();
    if (of.isNull() || of->isDependentType() || of->isFunctionType()) return;
    (of->isRecordType() ? into.objects : into.elements).insert(memory_type(of, context_));
  }

  /// What an assignment to `target` changes. `own`: variables of the function, too.
  void write(const Expr* target, Writes& into, bool own) const {
    target = without_casts(target);
    if (auto* choice = llvm::dyn_cast<ConditionalOperator>(target))
      return write(choice->getTrueExpr(), into, own), write(choice->getFalseExpr(), into, own);
    if (auto* op = llvm::dyn_cast<BinaryOperator>(target))
      return write(op->getOpcode() == BO_Comma ? op->getRHS() : op->getLHS(), into, own);
    if (target->getType().isNull() || target->getType()->isDependentType()) {
      into.anything = true;
      return lend(target, into.lent);
    }
    auto type = memory_type(target->getType(), context_);
    if (auto* unary = llvm::dyn_cast<UnaryOperator>(target)) {
      auto* inner = without_casts(unary->getSubExpr());
      if (unary->isIncrementDecrementOp()) return write(inner, into, own);
      auto* address = llvm::dyn_cast<UnaryOperator>(inner);
      if (address && address->getOpcode() == UO_AddrOf) return write(address->getSubExpr(), into, own);
      into.objects.insert(type);
      return;
    }
    if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(target)) {
      auto* base = without_casts(element->getBase());
      if (base->getType()->isArrayType()) return write(base, into, own);
      const bool fixed = !element->getIdx()->isValueDependent() && element->getIdx()->isEvaluatable(context_);
      (fixed ? into.objects : into.elements).insert(type);
      return;
    }
    if (auto* name = llvm::dyn_cast<DeclRefExpr>(target)) {
      auto* variable = llvm::dyn_cast<VarDecl>(name->getDecl());
      if (!variable || variable->getType()->isReferenceType()) into.objects.insert(type);
      else if (own || variable->hasGlobalStorage()) into.places.insert({variable->getCanonicalDecl(), nullptr, {}});
      return;
    }
    if (auto* member = llvm::dyn_cast<MemberExpr>(target)) return write_member(member, into, own);
    // `values[i] = …` of a class.
    auto* call = llvm::dyn_cast<CXXOperatorCallExpr>(target);
    (call && call->getOperator() == OO_Subscript ? into.elements : into.objects).insert(type);
  }
  void write_member(const MemberExpr* member, Writes& into, bool own) const {
    if (auto* variable = llvm::dyn_cast<VarDecl>(member->getMemberDecl())) {
      into.places.insert({variable->getCanonicalDecl(), nullptr, {}});
      return;
    }
    auto* field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!field || field->getType()->isReferenceType()) {
      into.objects.insert(memory_type(member->getType(), context_));
      return;
    }
    // The outermost member of a variable of this function.
    const Expr* base = member;
    const MemberExpr* first = member;
    while (auto* outer = llvm::dyn_cast<MemberExpr>(base)) {
      if (outer->isArrow()) break;
      first = outer, base = without_casts(outer->getBase());
    }
    auto* name = llvm::dyn_cast<DeclRefExpr>(base);
    auto* variable = name ? llvm::dyn_cast<VarDecl>(name->getDecl()) : nullptr;
    if (variable && !variable->getType()->isReferenceType() && !variable->hasGlobalStorage()) {
      if (own)
        into.places.insert({variable->getCanonicalDecl(), llvm::dyn_cast<FieldDecl>(first->getMemberDecl()), {}});
      return;
    }
    into.fields.insert(field);
    if (field->getParent()->isUnion())
      for (auto* other : field->getParent()->fields()) into.fields.insert(other);
  }

  /// The variable or member whose address is taken.
  void lend(const Expr* target, std::set<const ValueDecl*>& into) const {
    target = without_casts(target);
    if (auto* choice = llvm::dyn_cast<ConditionalOperator>(target))
      return lend(choice->getTrueExpr(), into), lend(choice->getFalseExpr(), into);
    if (auto* address = llvm::dyn_cast<UnaryOperator>(target); address && address->getOpcode() == UO_AddrOf)
      return lend(address->getSubExpr(), into);
    if (auto* element = llvm::dyn_cast<ArraySubscriptExpr>(target)) return lend(element->getBase(), into);
    if (auto* name = llvm::dyn_cast<DeclRefExpr>(target)) {
      if (llvm::isa<VarDecl>(name->getDecl())) into.insert(llvm::cast<ValueDecl>(name->getDecl()->getCanonicalDecl()));
      return;
    }
    auto* member = llvm::dyn_cast<MemberExpr>(target);
    if (!member) return;
    into.insert(llvm::cast<ValueDecl>(member->getMemberDecl()->getCanonicalDecl()));
    if (!member->isArrow()) lend(member->getBase(), into);
  }
  void keep(const Expr* target) {
    std::set<const ValueDecl*> all;
    lend(target, all);
    for (auto* one : all) events.kept[one].push_back(target);
  }
  static const UnaryOperator* address_in(const Expr* argument) {
    auto* op = llvm::dyn_cast<UnaryOperator>(without_casts(argument));
    return op && op->getOpcode() == UO_AddrOf ? op : nullptr;
  }
  /// An argument for what may be written, of a function of the application.
  void pass(const Expr* argument, const FunctionDecl* definition, unsigned index, Writes& writes) {
    if (auto* address = address_in(argument)) passed_.insert(address);
    if (!argument->getType().isNull() && argument->getType()->isPointerType() && !address_in(argument))
      return;  // Its value is passed.
    lend(argument, writes.lent);
    if (!definition || effects_.keeps(definition, index)) keep(argument);
  }

  void calls(const Expr* call, const FunctionDecl* callee, llvm::ArrayRef<Expr*> arguments, const Expr* object,
             bool is_const, bool is_virtual, Writes& writes) {
    const FunctionDecl* definition = nullptr;
    callee->isDefined(definition);
    auto parameter = [&](size_t i) {
      return i < callee->getNumParams() ? callee->getParamDecl(i)->getType() : QualType();
    };
    for (auto* argument : arguments)
      if (auto* address = address_in(argument)) passed_.insert(address);
    if (callee->isImplicit() || callee->isDefaulted() || callee->isTrivial()) {
      if (object && !is_const) write(object, writes, true);
      return;
    }
    if (callee->getBuiltinID() || !effects_.unit_.is_user(callee->getLocation()))
      return calls_library(call, callee, arguments, object, is_const, writes);
    if (is_virtual || !definition || !definition->getBody()) writes.anything = true;
    else writes.callees.insert(definition);
    if (object && !is_const) {
      lend(object, writes.lent);
      if (writes.anything || effects_.keeps(definition, kThis)) keep(object);
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      if (auto type = parameter(i); type.isNull() ? is_writable(arguments[i]->getType()) : is_writable(type))
        pass(arguments[i], writes.anything ? nullptr : definition, unsigned(i), writes);
  }

  void calls_library(const Expr* call, const FunctionDecl* callee, llvm::ArrayRef<Expr*> arguments, const Expr* object,
                     bool is_const, Writes& writes) {
    const QualType result = callee->getReturnType();
    auto memory = [&](QualType type) { return memory_type(type, context_); };
    // A stream's >> answers the stream.
    const bool answers_first =
        (object && memory(result) == memory(object->getType())) ||
        (!object && !arguments.empty() && memory(result) == memory(arguments.front()->getType()));
    auto* method = llvm::dyn_cast<CXXMethodDecl>(callee);
    const bool keeps =
        !answers_first && (llvm::isa<CXXConstructorDecl>(callee) || (method && !method->isStatic()) ||
                           result->isPointerType() || result->isReferenceType() || result->isRecordType());
    const bool awaited = is_asynchronous(callee);
    if (method && method->getParent()->getIdentifier() && callee->getOverloadedOperator() == OO_Call)
      for (auto* holder : {"function", "move_only_function", "packaged_task", "reference_wrapper"})
        writes.anything |= method->getParent()->getName() == holder;
    if (object && !is_const) write(object, writes, true);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Expr* argument = arguments[i];
      const bool by_number = i < callee->getNumParams();
      const QualType type = by_number ? callee->getParamDecl(unsigned(i))->getType() : argument->getType();
      calls_back(argument, writes);
      if (argument->getType().isNull() || type.isNull() || (!is_writable(type) && !type->isArrayType())) continue;
      auto* address = address_in(argument);
      const Expr* target = address ? address->getSubExpr() : argument;
      const bool value = !address && !type->isReferenceType() && !without_casts(argument)->getType()->isArrayType();
      if (value) {
        pointee(without_casts(argument)->getType(), writes);
        continue;
      }
      write(target, writes, true);
      if (keeps) keep(target);
      if (awaited) keep(target), lend(target, events.awaited);
    }
  }

  /// A function, lambda or functor that a library is given to call.
  void calls_back(const Expr* argument, Writes& writes) const {
    argument = without_casts(argument);
    if (auto* address = address_in(argument)) argument = without_casts(address->getSubExpr());
    QualType type = argument->getType();
    if (type.isNull() || type->isDependentType()) return;
    if (auto* name = llvm::dyn_cast<DeclRefExpr>(argument))
      if (auto* function = llvm::dyn_cast<FunctionDecl>(name->getDecl())) {
        const FunctionDecl* definition = nullptr;
        if (!effects_.unit_.is_user(function->getLocation())) return;
        if (function->isDefined(definition) && definition->getBody()) writes.callees.insert(definition);
        else writes.anything |= !function->hasAttr<CUDAGlobalAttr>();
        return;
      }
    if (type->isFunctionPointerType()) writes.anything = true;
    auto* record = type.getNonReferenceType()->getAsCXXRecordDecl();
    if (!record || !record->hasDefinition()) return;
    if (record->getIdentifier() && record->getName() == "function") writes.anything = true;
    if (!effects_.unit_.is_user(record->getLocation())) return;
    for (auto* one : record->methods())
      if (one->getOverloadedOperator() == OO_Call) {
        const FunctionDecl* definition = nullptr;
        if (one->isDefined(definition) && definition->getBody()) writes.callees.insert(definition);
        else writes.anything = true;
      }
  }

  Effects& effects_;
  ASTContext& context_;
  std::set<const Expr*> passed_;  ///< Addresses that are arguments.
};

Events Effects::events(const FunctionDecl* function) {
  EventVisitor visitor(*this);
  if (auto* made = llvm::dyn_cast<CXXConstructorDecl>(function))
    for (auto* member : made->inits())
      if (member->isWritten()) visitor.TraverseStmt(member->getInit());
  if (function->getBody()) visitor.TraverseStmt(function->getBody());
  return std::move(visitor.events);
}

const Events& Effects::own(const FunctionDecl* definition) {
  if (auto known = own_.find(definition); known != own_.end()) return known->second;
  auto found = events(definition);
  return own_[definition] = std::move(found);
}

const Writes& Effects::of(const FunctionDecl* definition) {
  if (auto known = all_.find(definition); known != all_.end()) return known->second;
  Writes all;
  std::set<const FunctionDecl*> seen{definition};
  for (std::vector<const FunctionDecl*> open{definition}; !open.empty();) {
    auto* next = open.back();
    open.pop_back();
    for (auto& event : own(next).all) {
      all.add(event.writes);
      for (auto* callee : event.writes.callees)
        if (seen.insert(callee).second) open.push_back(callee);
    }
  }
  return all_[definition] = std::move(all);
}

namespace {

/// The uses of a function's parameter, or of `this`, that leave its address nowhere: what it points to is read or
/// written, or passed to another function that does no more.
class PassingUses : public DynamicRecursiveASTVisitor {
 public:
  /// `keeps`: whether a call may leave the address of an argument, or of its object (-1), somewhere.
  PassingUses(const ParmVarDecl* parameter, std::function<bool(const CallExpr*, int)> keeps)
      : parameter_(parameter), keeps_(std::move(keeps)) {}
  bool VisitDeclRefExpr(DeclRefExpr* name) override {
    if (name->getDecl() == parameter_) uses_.insert(name);
    return true;
  }
  bool VisitCXXThisExpr(CXXThisExpr* self) override {
    if (!parameter_) uses_.insert(self);
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator* op) override {
    if (op->isComparisonOp() || op->isLogicalOp()) allow(op->getLHS()), allow(op->getRHS());
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator* op) override {
    if (op->getOpcode() == UO_Deref || op->getOpcode() == UO_LNot) allow(op->getSubExpr());
    return true;
  }
  bool VisitIfStmt(IfStmt* choice) override {
    if (choice->getCond()) allow(choice->getCond());
    return true;
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr* element) override { return allow(element->getBase()), true; }
  bool VisitMemberExpr(MemberExpr* member) override {
    if (llvm::isa<FieldDecl, VarDecl>(member->getMemberDecl())) allow(member->getBase());
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    for (unsigned i = 0; i < call->getNumArgs(); ++i)
      if (!keeps_(call, int(i))) allow(call->getArg(i));
    if (auto* method = llvm::dyn_cast<CXXMemberCallExpr>(call))
      if (auto* object = method->getImplicitObjectArgument(); object && !keeps_(call, -1)) allow(object);
    return true;
  }
  bool VisitLambdaExpr(LambdaExpr* lambda) override {
    for (auto& capture : lambda->captures())
      captured_ |=
          capture.capturesThis() ? !parameter_ : capture.capturesVariable() && capture.getCapturedVar() == parameter_;
    return true;
  }
  bool leave_it() const {
    return !captured_ && std::ranges::all_of(uses_, [&](auto* use) { return allowed_.contains(use); });
  }

 private:
  void allow(const Expr* e) { allowed_.insert(without_casts(e)); }
  const ParmVarDecl* parameter_;
  std::function<bool(const CallExpr*, int)> keeps_;
  std::set<const Expr*> uses_, allowed_;
  bool captured_ = false;
};

}  // namespace

bool Effects::keeps(const FunctionDecl* definition, unsigned parameter) {
  auto [known, fresh] = keeps_.try_emplace({definition, parameter}, true);
  if (!fresh) return known->second;
  const bool self = parameter == kThis;
  if (llvm::isa<CXXConstructorDecl>(definition) || (!self && parameter >= definition->getNumParams())) return true;
  auto* given = self ? nullptr : definition->getParamDecl(parameter);
  // What answers a reference or pointer may answer *this.
  const QualType answer = definition->getReturnType();
  if (self && is_writable(answer) && (answer->isReferenceType() || answer->isPointerType())) return true;
  auto& kept = own(definition).kept;
  // Of *this, a member's address is as good.
  const bool kept_by_address =
      self ? std::ranges::any_of(kept, [](auto& one) { return llvm::isa<FieldDecl>(one.first); })
           : kept.contains(given);
  auto call_keeps = [&](const CallExpr* call, int index) {
    auto* callee = call->getDirectCallee();
    const FunctionDecl* other = nullptr;
    if (!callee || llvm::isa<CXXOperatorCallExpr>(call)) return true;
    if (callee->getBuiltinID() || !unit_.is_user(callee->getLocation()))
      return index < 0 || callee->getReturnType()->isPointerType() || callee->getReturnType()->isReferenceType() ||
             callee->getReturnType()->isRecordType() || is_asynchronous(callee);
    auto* method = llvm::dyn_cast<CXXMethodDecl>(callee);
    return (method && method->isVirtual()) || !callee->isDefined(other) || !other->getBody() ||
           keeps(other, index < 0 ? kThis : unsigned(index));
  };
  bool passed_on = true;
  if (!given || given->getType()->isPointerType() || given->getType()->isRecordType()) {
    PassingUses uses(given, call_keeps);
    uses.TraverseStmt(definition->getBody());
    passed_on = !uses.leave_it();
  } else {
    // What a reference refers to is the variable itself, but for lambdas.
    struct Captures : DynamicRecursiveASTVisitor {
      const VarDecl* wanted = nullptr;
      bool found = false;
      bool VisitLambdaExpr(LambdaExpr* lambda) override {
        for (auto& capture : lambda->captures())
          found |=
              capture.capturesVariable() && capture.getCapturedVar() == wanted && capture.getCaptureKind() == LCK_ByRef;
        return true;
      }
    } captures;
    captures.wanted = given;
    captures.TraverseStmt(definition->getBody());
    passed_on = captures.found;
  }
  return keeps_[{definition, parameter}] = passed_on || kept_by_address;
}

bool Effects::is_addressed(const ValueDecl* declaration) {
  if (!addressed_) {
    addressed_.emplace();
    EventVisitor visitor(*this);
    for (auto* one : unit_.context.getTranslationUnitDecl()->decls())
      if (unit_.is_user(one->getLocation())) visitor.TraverseDecl(one);
    for (auto& [one, places] : visitor.events.kept) addressed_->insert(one);
    for (auto& event : visitor.events.all) addressed_->insert(event.writes.lent.begin(), event.writes.lent.end());
  }
  return addressed_->contains(llvm::cast<ValueDecl>(declaration->getCanonicalDecl()));
}

bool Effects::may_write(const Event& event, const Place& place, const Events& events,
                        const std::function<bool(const ValueDecl*)>& is_kept) {
  auto is_part = [&](const Place& written) {
    return written.variable == place.variable && (!written.field || !place.field || written.field == place.field);
  };
  auto among = [&](const std::set<const ValueDecl*>& all) {
    return (place.variable && all.contains(place.variable)) || (place.field && all.contains(place.field));
  };
  const auto* variable = place.variable;
  if (event.writes.is_call && among(events.awaited)) return true;
  // Managed: any launch that the call comes to may write it.
  if (event.writes.is_call && variable && variable->hasAttr<CUDADeviceAttr>()) return true;
  const bool leads = variable && (variable->getType()->isReferenceType() || variable->getType()->isPointerType());
  const bool kept = (place.variable && is_kept(place.variable)) || (place.field && is_kept(place.field));
  const bool open = kept || among(event.writes.lent);
  const bool shared = !variable || variable->hasGlobalStorage() || leads || open;
  const bool addressed = open || (variable && variable->getType()->isReferenceType() && !place.field) ||
                         (place.field && is_addressed(place.field)) ||
                         (variable && variable->hasGlobalStorage() && is_addressed(variable));
  auto of_type = [&](const std::set<const Type*>& types) {
    auto holds = [&](QualType type) { return types.contains(memory_type(type, unit_.context)); };
    if (holds(place.type)) return true;
    return place.field &&
           types.contains(memory_type(unit_.context.getCanonicalTagType(place.field->getParent()), unit_.context));
  };
  auto writes = [&](const Writes& one) {
    if (std::ranges::any_of(one.places, is_part)) return true;
    if (!shared) return false;
    // What is reached by a pointer or reference may be a part of a variable that is written.
    if ((!variable || leads) && std::ranges::any_of(one.places, [&](const Place& written) {
          return written.variable != variable && events.kept.contains(written.variable) &&
                 written.variable->getType()->isRecordType();
        }))
      return true;
    const auto characters = memory_type(unit_.context.UnsignedCharTy, unit_.context);
    if (addressed && (one.objects.contains(characters) || one.elements.contains(characters))) return true;
    return one.anything || (place.field && one.fields.contains(place.field)) || of_type(one.objects) ||
           (addressed && (of_type(one.elements) || one.elements.contains(unit_.context.VoidTy.getTypePtr())));
  };
  return writes(event.writes) ||
         std::ranges::any_of(event.writes.callees, [&](auto* callee) { return writes(of(callee)); });
}

}  // namespace kernelift::extractor
